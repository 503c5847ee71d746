// The forwarding process's end of the pipe to its judge (judge-process.ts), which reads a log in JSON Lines there. The
// forward never waits for the judge: beyond a bound, what passes is counted and not told.
import { fork } from "node:child_process";
import { once } from "node:events";
import { constants, setPriority } from "node:os";
import { extname, join } from "node:path";
import { CannotRun } from "../results.ts";
import type { Missed, Recorded } from "./recorded.ts";
import type { WatchSettings } from "./watch.ts";

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
  judge.on("exit", (code, signal) => {
    if (signal ?? !pipe.writableEnded)
      say(`The judge ended (${signal ?? `exit code ${code}`}) without its report. Nothing is judged any more.`);
  });
  let untold = 0;

  function write(line: Recorded | Missed): void {
    if (pipe.writableCorked === 0) {
      pipe.cork();
      setTimeout(() => pipe.uncork(), batchMs);
    }
    pipe.write(`${JSON.stringify(line)}\n`);
  }
  function tellUntold(): void {
    if (untold > 0) write({ kind: "missed", reason: "exchanges for which the judge was too slow", count: untold });
    untold = 0;
  }

  return {
    /** Tells the judge what a line of JSON Lines may say. */
    tell(line: Recorded | Missed): void {
      if (!pipe.writable) return;
      if (pipe.writableLength > mostWaiting) untold += 1;
      else {
        tellUntold();
        write(line);
      }
    },
    /** Lets the judge finish. Returns its exit code, 2 if it failed. */
    async end(): Promise<number> {
      if (pipe.destroyed) return 2;
      tellUntold();
      pipe.end();
      return (await ended)[0] ?? 2;
    },
    kill: () => void judge.removeAllListeners("exit").kill("SIGKILL"),
  };
}
