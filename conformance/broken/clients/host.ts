// Runs clients within this process, so that the self-test can try many of them. A client gets everything from its host,
// so a client that was killed can have no effect any more.
import type { Ended, Launch } from "../../programs/process-group.ts";
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

/** Returns a function that starts a program within this process. */
export function inProcess(program: Program): Launch {
  /** The files of each directory. Without a directory, nothing outlives a program. */
  const disks = new Map<string, Host["files"]>();
  return (environment, input) => {
    const { STATE_DIR } = environment;
    const files = disks.get(STATE_DIR) ?? new Map<string, string>();
    if (STATE_DIR !== "") disks.set(STATE_DIR, files);
    const output = { stdout: "", stderr: "" };
    const { promise: ended, resolve } = Promise.withResolvers<Ended>();
    const death = new AbortController();
    const end = (code: number | null) => {
      resolve({ code, ...output });
      death.abort();
    };
    const write = (name: keyof typeof output) => (line: string) => {
      if (!death.signal.aborted) output[name] += `${line}\n`;
    };
    /** Never settles once the program is killed. */
    const alive = <T>(promise: Promise<T>): Promise<T> =>
      new Promise<T>((pass, fail) => {
        promise.then(
          (value) => death.signal.aborted || pass(value),
          (error: unknown) => death.signal.aborted || fail(error),
        );
      });
    const host: Host = {
      environment,
      files,
      entries: input
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => JSON.parse(line) as Entry),
      print: write("stdout"),
      log: write("stderr"),
      fetch: (url, init = {}) => {
        const signal = AbortSignal.any([death.signal, ...(init.signal ? [init.signal] : [])]);
        return alive(fetch(url, { ...init, signal }));
      },
      sleep: (ms) => alive(new Promise((pass) => void setTimeout(pass, ms).unref())),
    };
    program(host).then(
      () => end(0),
      (error: unknown) => {
        host.log(String(error));
        end(1);
      },
    );
    return { ended, kill: () => end(null) };
  };
}
