// Runs clients within this process, so that the self-test can try many of them. A client gets everything from its host,
// so a client that was killed can have no effect any more.
import type { Ended, Launch } from "../../programs/client/launch.ts";
import type { Entry } from "../../programs/client/entries.ts";
import type { Environment } from "../../programs/client/protocol.ts";

/** What a program has: environment, input, output, network, timers, and files that outlive it. */
export type Host = {
  environment: Environment;
  entries: Entry[];
  print(line: string): void;
  log(line: string): void;
  fetch: typeof fetch;
  sleep(ms: number): Promise<void>;
  files: Map<string, string>;
};

export type Program = (host: Host) => Promise<void>;

/** What outlives the programs of one directory. Without a directory, nothing outlives a program. */
export function createDisks() {
  const disks = new Map<string, Map<string, string>>();
  return ({ STATE_DIR }: Environment) => {
    const files = disks.get(STATE_DIR) ?? new Map<string, string>();
    if (STATE_DIR !== "") disks.set(STATE_DIR, files);
    return files;
  };
}

/**
 * Returns what a program has besides input and output, and a function that kills the program: promises for which the
 * program waits then never settle.
 */
export function mortal(environment: Environment, files: Map<string, string>) {
  const death = new AbortController();
  const alive = <T>(promise: Promise<T>): Promise<T> =>
    new Promise<T>((pass, fail) => {
      promise.then(
        (value) => death.signal.aborted || pass(value),
        (error: unknown) => death.signal.aborted || fail(error),
      );
    });
  const life: Pick<Host, "environment" | "files" | "fetch" | "sleep"> = {
    environment,
    files,
    fetch: (url, init = {}) => {
      const signals = [death.signal, ...(init.signal ? [init.signal] : [])];
      return alive(fetch(url, { ...init, signal: AbortSignal.any(signals) }));
    },
    sleep: (ms) =>
      alive(
        new Promise((pass) => {
          const timer = setTimeout(pass, ms);
          death.signal.addEventListener("abort", () => clearTimeout(timer), { once: true });
        }),
      ),
  };
  return { life, signal: death.signal, die: () => death.abort() };
}

/** Returns a function that starts a program within this process. */
export function inProcess(program: Program): Launch {
  const diskOf = createDisks();
  return (environment, input) => {
    const { life, signal, die } = mortal(environment, diskOf(environment));
    const output = { stdout: "", stderr: "" };
    const { promise: ended, resolve } = Promise.withResolvers<Ended>();
    const end = (code: number | null) => {
      resolve({ code, ...output });
      die();
    };
    const write = (name: keyof typeof output) => (line: string) => {
      if (!signal.aborted) output[name] += `${line}\n`;
    };
    const host: Host = {
      ...life,
      entries: input
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => JSON.parse(line) as Entry),
      print: write("stdout"),
      log: write("stderr"),
    };
    program(host).then(
      () => end(0),
      (error: unknown) => {
        write("stderr")(String(error));
        end(1);
      },
    );
    return { ended, kill: () => end(null) };
  };
}
