// The forwarding process's end of the pipe to its judge (judge-process.ts). It copies what passes and never waits: beyond a
// bound, what passes is not told, and the judge notices that frames are missing.
import { fork } from "node:child_process";
import { once } from "node:events";
import { constants, setPriority } from "node:os";
import { extname, join } from "node:path";
import { CannotRun } from "../results.ts";
import type { Told } from "./http-stream.ts";
import type { JudgeOptions } from "./judge.ts";
import type { OutletSettings } from "./outlet.ts";

/** What judges, and where its findings go. Both are JSON. */
export type WatchSettings = { judge: JudgeOptions; outlet: OutletSettings };

/** Which connections a forward serves: callers to the service, or the service to a receiver of webhooks. */
export type Role = "service" | "webhooks";

/**
 * What happened on a connection, as a line of JSON: the `index`-th event of the connection, at a time in milliseconds since
 * 1970, with bytes in base64.
 */
export type Frame = { id: number; role: Role; index: number; at: number; kind: keyof Told; chunk: string };

/** The line after which the judge tells each connection on which nothing is open, with its number of frames. */
export const stopping = "stopping";
export type Idle = { id: number; count: number };

/** The largest number of bytes that wait for the judge. */
const mostWaiting = 64 * 1024 * 1024;
/** Lines are sent together, so that the judge wakes up rarely. */
const batchMs = 20;

const program = join(import.meta.dirname, `judge-process${extname(import.meta.filename)}`);

/**
 * Starts the judge in a process of its own.
 * @throws CannotRun if it ends before it is ready
 */
export async function startJudge(settings: WatchSettings, say: (text: string) => void) {
  const connections = new Map<number, { count: number; close(): void }>();
  let lastId = 0;
  let isBehind = false;

  const judge = fork(program, [JSON.stringify(settings)], {
    execArgv: [],
    stdio: ["pipe", "inherit", "inherit", "ipc"],
  });
  const pipe = judge.stdin!.on("error", () => undefined);
  // At once, so that its threads have it too: the forward goes first on a busy machine.
  try {
    setPriority(judge.pid!, constants.priority.PRIORITY_BELOW_NORMAL);
  } catch {}
  // Nothing that happens to the judge may end the forward.
  const ended = once(judge, "exit").catch(() => [null]) as Promise<[code: number | null]>;
  const [isReady] = (await Promise.race([once(judge, "message"), ended])) as unknown[];
  if (isReady !== true) throw new CannotRun("The judge did not start, so nothing is forwarded.");
  judge.on("message", ({ id, count }: Idle) => {
    const connection = connections.get(id);
    // What passed since then may be a request.
    if (connection?.count === count) connection.close();
  });
  judge.on("exit", (code, signal) => {
    if (signal ?? !pipe.writableEnded)
      say(`The judge ended (${signal ?? `exit code ${code}`}) without its report. Nothing is judged any more.`);
  });

  function write(line: string): void {
    if (!pipe.writable) return;
    if (pipe.writableCorked === 0) {
      pipe.cork();
      setTimeout(() => pipe.uncork(), batchMs);
    }
    pipe.write(`${line}\n`);
  }

  return {
    /** @param close closes the connection. It is called once nothing is open on it and the forward stops */
    open(role: Role, close: () => void): Told {
      const id = (lastId += 1);
      const connection = { count: 0, close };
      connections.set(id, connection);
      function tell(kind: keyof Told, chunk = ""): void {
        const index = connection.count;
        connection.count += 1;
        const waiting = pipe.writableLength;
        // Half of what waits must be gone before the judge is told more, so that gaps are few.
        isBehind = waiting > (isBehind ? mostWaiting / 2 : mostWaiting);
        // With its end, the judge forgets a connection.
        if (!isBehind || (kind === "closed" && waiting < 2 * mostWaiting))
          write(JSON.stringify({ id, role, index, at: Date.now(), kind, chunk } satisfies Frame));
      }
      return {
        sent: (chunk) => tell("sent", chunk.toString("base64")),
        received: (chunk) => tell("received", chunk.toString("base64")),
        ended: () => tell("ended"),
        closed() {
          tell("closed");
          connections.delete(id);
        },
      };
    },
    /** Closes connections as soon as nothing is open on them. */
    stop: () => write(stopping),
    /** Lets the judge finish. Returns its exit code, 2 if it failed. */
    async end(): Promise<number> {
      if (pipe.destroyed) return 2;
      pipe.end();
      return (await ended)[0] ?? 2;
    },
    kill: () => void judge.removeAllListeners("exit").kill("SIGKILL"),
  };
}
