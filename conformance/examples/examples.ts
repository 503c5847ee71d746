// The example programs, the requirements that each fails, and how to start them.
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, parse, resolve } from "node:path";

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
  /** The path of the program, relative to this folder. */
  file: string;
  toolchain: Toolchain;
  /** The requirements that it fails; none if it is certified. */
  fails: readonly string[];
};

const example = (file: string, language: keyof typeof toolchains, fails = ""): Example => ({
  file,
  toolchain: toolchains[language],
  fails: fails.split(" ").flatMap((id) => (id === "" ? [] : `${file.split("s/")[0]}.${id}`)),
});

export const examples: readonly Example[] = [
  example("clients/our-client.ts", "node"),
  example("clients/careful.py", "python"),
  example("clients/careful.go", "go"),
  example("clients/Careful.java", "java"),
  example("clients/backoff.php", "php-program"),
  example(
    "clients/ordinary.py",
    "python",
    "loses-nothing paid-is-true failed-is-true refused-is-true no-redirect key-stays bounded-time waits-as-told",
  ),
  example(
    "clients/naive.mjs",
    "node",
    "pays-once loses-nothing same-reference paid-is-true refused-is-true contract no-redirect key-stays bounded-time",
  ),
  example("receivers/express.ts", "node"),
  example("receivers/hono.ts", "node"),
  example("receivers/standard.py", "python"),
  example("receivers/with_django.py", "django"),
  example("receivers/standard.go", "go"),
  example("receivers/standard.php", "php"),
  example("receivers/laravel-style.php", "php"),
  example(
    "receivers/naive.mjs",
    "node",
    "unknown-event told-apart bytes-covered stale-refused future-refused any-signature rotation leaks-nothing " +
      "headers-required survives-strangers once-at-once lost-response failure-retried remembers-after-restart " +
      "keeps-acknowledged survives-crash",
  ),
];

/** Returns true if an example cannot run on this machine. */
export function isMissing({ toolchain: { probe } }: Pick<Example, "toolchain">): boolean {
  const [program, ...args] = probe;
  return spawnSync(program, args).status !== 0;
}

/** Calls `use` with the shell command that starts an example. Builds the program first if its language is compiled. */
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
