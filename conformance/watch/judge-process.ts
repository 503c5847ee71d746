// The judge of a forward, in a process of its own. Its argument is its settings as JSON. It reads what the forwarding
// process writes (judge-pipe.ts), and ends when that process says so or is gone. Signals are for that process.
import { complain } from "../report/visible.ts";
import { CannotRun } from "../results.ts";
import { readLines } from "./lines.ts";
import { judgeTraffic, type WatchSettings } from "./watch.ts";

for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, () => undefined);
const settings = JSON.parse(process.argv[2]!) as WatchSettings;
try {
  process.exitCode = await judgeTraffic(settings, (judge) => {
    process.send!(true);
    return readLines(process.stdin, judge, settings.target);
  });
} catch (error) {
  complain(error instanceof CannotRun ? error.message : error);
  process.exitCode = 2;
}
