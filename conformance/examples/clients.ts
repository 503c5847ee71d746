// Judges the examples in clients/.
import type { Report } from "../results.ts";
import { judgeClient, readClientOptions } from "../programs/client/command.ts";
import { launcher } from "../programs/client/launch.ts";
import { withCommand, type Example } from "./examples.ts";

/** Returns the report on an example. `args` are further options of `certify client`. */
export const judgeClientExample = (example: Example, seed: number, args: readonly string[] = []): Promise<Report> =>
  withCommand(example, (command) => {
    const options = readClientOptions(["--command", command, "--seed", String(seed), ...args], () => seed);
    return judgeClient(options, launcher(command), { write: () => undefined }, new AbortController().signal);
  });
