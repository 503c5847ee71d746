// Makes the file tree that a Dockerfile describes, without Docker.
import { cpSync, existsSync, mkdirSync, readFileSync, statSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";

export interface Image {
  /** The folder that stands for the image's root. */
  root: string;
  env: Record<string, string>;
  user: string | undefined;
  workdir: string;
  cmd: string[];
  healthcheck: string[];
}

interface Instruction {
  name: string;
  rest: string;
}

/** Reads the instructions of a Dockerfile, without comments. */
export function instructionsOf(text: string): Instruction[] {
  const lines = text.replace(/^#.*\n/gm, "").replace(/\\\n\s*/g, "");
  return lines
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line) => {
      const [name, ...words] = line.split(" ");
      return { name: name!, rest: words.join(" ") };
    });
}

/**
 * Follows a Dockerfile. `npm ci` of a workspace is replaced by a copy of the installed production packages.
 * @param context the folder from which it copies
 * @param target an empty folder for its stages
 * @throws Error for an unknown instruction, or a source that does not exist or is ignored
 */
export function followDockerfile(dockerfile: string, context: string, target: string): Image {
  const isIgnored = ignoredBy(readFileSync(`${dockerfile}.dockerignore`, "utf8"));
  const stages = new Map<string, string>();
  let image!: Image;

  function copy(rest: string) {
    const words = rest.split(" ");
    const from = words[0]!.startsWith("--from=") ? words.shift()!.slice("--from=".length) : undefined;
    const destination = join(image.root, image.workdir, words.at(-1)!);
    const to = words.at(-1)!.startsWith("/") ? join(image.root, words.at(-1)!) : destination;
    for (const source of words.slice(0, -1)) {
      const base = from === undefined ? context : stages.get(from)!;
      const path = join(base, source);
      const isLeftOut = (file: string) => from === undefined && file !== base && isIgnored(relative(base, file));
      if (!existsSync(path) || (statSync(path).isFile() && isLeftOut(path))) throw new Error(`COPY ${source}: no file`);
      const place = statSync(path).isDirectory() ? to : join(to, basename(path));
      cpSync(path, place, { recursive: true, verbatimSymlinks: true, filter: (file) => !isLeftOut(file) });
    }
  }

  function run(rest: string) {
    const [, workspace] = /^npm ci --workspace (\w+) --omit=dev --ignore-scripts$/.exec(rest) ?? [];
    const [, folder] = /^install --directory .* (\S+)$/.exec(rest) ?? [];
    if (folder) mkdirSync(join(image.root, folder), { recursive: true });
    else if (workspace) {
      for (const path of productionPackages(context, workspace)) {
        const nested = join(context, path, "node_modules");
        const filter = (file: string) => !file.startsWith(nested);
        cpSync(join(context, path), join(image.root, image.workdir, path), { recursive: true, filter });
      }
    } else throw new Error(`RUN ${rest}: unknown command`);
  }

  const actions: Record<string, (rest: string) => void> = {
    FROM(rest) {
      const [, stage = "final"] = /^\S+(?: AS (\S+))?$/.exec(rest)!;
      const root = join(target, stage);
      mkdirSync(root);
      stages.set(stage, root);
      image = { root, env: {}, user: undefined, workdir: "/", cmd: [], healthcheck: [] };
    },
    ARG: () => undefined,
    ENV: (rest) => Object.assign(image.env, Object.fromEntries(rest.split(" ").map((each) => each.split("=")))),
    WORKDIR(rest) {
      image.workdir = rest;
      mkdirSync(join(image.root, rest), { recursive: true });
    },
    COPY: copy,
    RUN: run,
    USER: (rest) => void (image.user = rest),
    EXPOSE: () => undefined,
    // Only the form without a shell is valid JSON.
    HEALTHCHECK: (rest) => void (image.healthcheck = JSON.parse(rest.slice(rest.indexOf("CMD ") + 4)) as string[]),
    CMD: (rest) => void (image.cmd = JSON.parse(rest) as string[]),
  };
  for (const { name, rest } of instructionsOf(readFileSync(dockerfile, "utf8"))) {
    const action = actions[name];
    if (!action) throw new Error(`${name}: unknown instruction`);
    action(rest);
  }
  return image;
}

/** Returns a function that tells whether a `.dockerignore` leaves a path out; the last matching line decides. */
function ignoredBy(text: string): (path: string) => boolean {
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  const rules = lines.map((line) => {
    const pattern = line.replace(/^!/, "").replace(/[.+^${}()|[\]\\]/g, "\\$&");
    const regexp = pattern.replace(/\*\*\/|\*/g, (wildcard) => (wildcard === "*" ? "[^/]*" : "(?:.*/)?"));
    return { leavesOut: !line.startsWith("!"), regexp: new RegExp(`^${regexp}(?:/.*)?$`) };
  });
  return (path) => rules.findLast(({ regexp }) => regexp.test(path))?.leavesOut ?? false;
}

interface Package {
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
  peerDependenciesMeta?: Record<string, { optional?: boolean }>;
}

/** Returns the folders of the packages that a workspace needs in production, by the lock file. */
function productionPackages(context: string, workspace: string): string[] {
  const { packages } = JSON.parse(readFileSync(join(context, "package-lock.json"), "utf8")) as {
    packages: Record<string, Package>;
  };
  /** Finds a package as Node does: in the folder itself, then in each folder above it. */
  function resolve(name: string, from: string): string | undefined {
    const path = join(from, "node_modules", name);
    if (path in packages) return path;
    return from === "." ? undefined : resolve(name, dirname(from));
  }
  const found = new Set<string>();
  function visit(path: string) {
    const { dependencies, optionalDependencies, peerDependencies, peerDependenciesMeta } = packages[path]!;
    const peers = Object.keys(peerDependencies ?? {}).filter((name) => !peerDependenciesMeta?.[name]?.optional);
    for (const name of [...Object.keys({ ...dependencies, ...optionalDependencies }), ...peers]) {
      const next = resolve(name, path);
      if (next === undefined || found.has(next) || !existsSync(join(context, next))) continue;
      found.add(next);
      visit(next);
    }
  }
  visit(workspace);
  return [...found];
}
