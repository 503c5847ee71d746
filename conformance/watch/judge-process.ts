// The judge of a forward, in a process of its own. Its argument is its settings as JSON; what passes comes on standard
// input (frames.ts). It ends when that input does, and leaves signals to the forwarding process.
import { complain, print } from "../report/visible.ts";
import { CannotRun } from "../results.ts";
import { readForwarded } from "./forwarded.ts";
import { createJudge, type JudgeOptions } from "./judge.ts";

export type JudgeSettings = { judge: JudgeOptions };

const send = (message: object) => void (process.connected && process.send?.(message));

async function run({ judge: options }: JudgeSettings): Promise<number> {
  const judge = createJudge(options);
  try {
    send({ ready: true });
    await readForwarded(process.stdin, judge, send);
    print(JSON.stringify(judge.result()));
    return 0;
  } finally {
    judge.close();
    // The channel would keep the process alive.
    if (process.connected) process.disconnect();
  }
}

for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, () => undefined);
try {
  process.exitCode = await run(JSON.parse(process.argv[2]!) as JudgeSettings);
} catch (error) {
  complain(error instanceof CannotRun ? error.message : error);
  process.exitCode = 2;
}
