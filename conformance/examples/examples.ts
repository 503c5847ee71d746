// The example programs, and the tables of the requirements that each fails.
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, parse, resolve } from "node:path";
import { requirementsOf } from "../contract/requirements.ts";
import type { Report, Side, Verdict } from "../results.ts";

type Toolchain = {
  /** What to install. */
  name: string;
  /** A command that succeeds if the toolchain is installed. */
  probe: readonly [program: string, ...args: string[]];
  /** Returns the shell command that starts a program, or what `build` made of it. */
  start(path: string, output: string): string;
  /** Returns the arguments with which `probe`'s program builds an example, for compiled languages. */
  build?(path: string, output: string): string[];
};

export const toolchains = {
  node: { name: "Node", probe: [process.execPath, "--version"], start: (path) => `${process.execPath} ${path}` },
  python: { name: "Python (Debian: python3)", probe: ["python3", "--version"], start: (path) => `python3 ${path}` },
  django: {
    name: "Django (Debian: python3-django)",
    probe: ["/usr/bin/python3", "-c", "import django"],
    start: (path) => `/usr/bin/python3 ${path}`,
  },
  java: {
    name: "Java 17 or later (Debian: openjdk-17-jdk-headless)",
    probe: ["javac", "--version"],
    build: (path, output) => ["-d", output, path],
    start: (path, output) => `java -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -cp ${output} ${parse(path).name}`,
  },
  "php-program": {
    name: "PHP (Debian: php-cli)",
    probe: ["php", "--version"],
    start: (path) => `php ${path}`,
  },
  go: {
    name: "Go (Debian: golang-go)",
    probe: ["go", "version"],
    build: (path, output) => ["build", "-o", output, path],
    start: (_path, output) => output,
  },
  php: {
    name: "PHP with SQLite (Debian: php-cli and php-sqlite3)",
    probe: ["php", "-r", "exit(extension_loaded('pdo_sqlite') ? 0 : 1);"],
    start: (path) => `php -S 127.0.0.1:$PORT ${path}`,
  },
} satisfies Record<string, Toolchain>;

export type Example = {
  side: Side;
  /** The path of the program, seen from this folder. */
  file: string;
  toolchain: Toolchain;
  about: string;
};

const of =
  (side: Side) =>
  (file: string, language: keyof typeof toolchains, about: string): Example => ({
    side,
    file: `${side}s/${file}`,
    toolchain: toolchains[language],
    about,
  });
const client = of("client");
const receiver = of("receiver");

export const examples: readonly Example[] = [
  client("our-client.ts", "node", "this repository's client, with its journal"),
  client("careful.py", "python", "Python's standard library, with the care that payments need"),
  client("careful.go", "go", "the same in Go, with its standard library"),
  client("Careful.java", "java", "the same in Java, with its standard library"),
  client("backoff.php", "php-program", "PHP's standard library, with delays of 1, 2, 4 and 8 seconds"),
  client("ordinary.py", "python", "Python's standard library, as it is often used"),
  client("naive.mjs", "node", "`fetch`, with a new reference for each attempt"),
  receiver("express.ts", "node", "Express with this repository's client"),
  receiver("hono.ts", "node", "Hono with this repository's client"),
  receiver("standard.py", "python", "Python's standard library"),
  receiver("with_django.py", "django", "Django, with a model and its ORM"),
  receiver("standard.go", "go", "Go's standard library, with a file for each event instead of a database"),
  receiver("standard.php", "php", "PHP's own server and standard library"),
  receiver("laravel-style.php", "php", "the structure of a Laravel application, with PHP's standard library"),
  receiver(
    "naive.mjs",
    "node",
    "Express, with a body that was parsed before it is verified, and a memory in a variable",
  ),
];

/** Returns true if an example cannot run on this machine. */
export function isMissing({ toolchain: { probe } }: Pick<Example, "toolchain">): boolean {
  const [program, ...args] = probe;
  return spawnSync(program, args).status !== 0;
}

/** Calls `use` with the shell command that starts an example. Builds the program before, if its language needs that. */
export async function withCommand<T>(
  { file, toolchain }: Pick<Example, "file" | "toolchain">,
  use: (command: string) => Promise<T>,
): Promise<T> {
  const path = resolve(import.meta.dirname, file);
  const { probe, build, start } = toolchain;
  if (!build) return use(start(path, ""));
  const folder = await mkdtemp(join(tmpdir(), "example-"));
  try {
    const output = join(folder, "program");
    execFileSync(probe[0], build(path, output));
    return await use(start(path, output));
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** An example's column in a table: a cell for each requirement, and a cell for the verdict. */
export type Column = ReadonlyMap<string, string>;

const cells: Partial<Record<Verdict, string>> = { pass: "✓", fail: "✗", warn: "(✗)" };
const notJudged = "?";
const verdictRow = "**verdict**";

/** Returns the column of an example that was judged. */
export const columnOf = ({ requirements, verdict }: Report): Column =>
  new Map([...requirements.map((each) => [each.id, cells[each.verdict] ?? notJudged] as const), [verdictRow, verdict]]);

/** Reads the columns of the tables in a page, by the file of their example. */
export function readColumns(page: string): Map<string, Column> {
  const columns = new Map<string, Map<string, string>>();
  let files: string[] = [];
  const tables = page.split("\n\n").filter((part) => part.startsWith("| requirement"));
  for (const line of tables.flatMap((table) => table.trim().split("\n"))) {
    const [name = "", , ...values] = line.split("|").slice(1, -1);
    if (name.trim() === "requirement") {
      files = values.map((value) => /\((.+)\)/.exec(value)?.[1] ?? "");
      for (const file of files) columns.set(file, new Map());
    }
    const row = name.trim().replaceAll("`", "");
    for (const [index, file] of files.entries()) columns.get(file)!.set(row, values[index]!.trim());
  }
  return columns;
}

/** Renders the table of the example programs of one kind, as Markdown. */
export function tableOf(side: Side, columns: ReadonlyMap<string, Column>): string {
  const files = examples.filter((example) => example.side === side).map(({ file }) => file);
  const cellsOf = (row: string) => files.map((file) => columns.get(file)?.get(row) ?? notJudged);
  const rows = requirementsOf(side).map(({ id, level }) => [`\`${id}\``, level, ...cellsOf(id)]);
  const head = ["requirement", "level", ...files.map((file) => `[${file.split("/").at(-1)}](${file})`)];
  const last = [verdictRow, "", ...cellsOf(verdictRow)];
  return [head, head.map(() => "---"), ...rows, last].map((row) => `| ${row.join(" | ")} |`).join("\n");
}

/** Returns the requirements that an example fails; requirements that are not a must are in brackets. */
export const failuresOf = ({ requirements }: Report): string[] =>
  requirements.flatMap(({ id, verdict }) =>
    verdict === "fail" ? `\`${id}\`` : verdict === "warn" ? `(\`${id}\`)` : [],
  );

/** Says in how many scenarios an example violated a requirement. */
export function violations({ requirements }: Report, id: string): number {
  const { checks } = requirements.find((requirement) => requirement.id === id)!;
  return checks.filter(({ verdict }) => verdict === "fail").length;
}
