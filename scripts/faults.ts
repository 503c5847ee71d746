// `npm run faults`: applies random faults to a server under load, and checks that no payment is lost or doubled.
import { parseArgs } from "node:util";
import { FAULTS, runFaults } from "./faults/run.ts";

const DEADLINE_MS = 10_000;
const USAGE = `Usage: npm run faults -- [--minutes 2] [--seed N] [--recovery-seconds 5]

Needs Linux. Recovery includes the start of a server that was stopped; allow more for it on a busy machine.`;

function readOptions() {
  try {
    const { values } = parseArgs({
      options: {
        minutes: { type: "string", default: "2" },
        seed: { type: "string" },
        "recovery-seconds": { type: "string", default: "5" },
      },
    });
    const minutes = Number(values.minutes);
    const seed = Number(values.seed ?? Math.floor(Math.random() * 1_000_000));
    const recoverySeconds = Number(values["recovery-seconds"]);
    if (!(minutes > 0) || !(recoverySeconds > 0) || !Number.isInteger(seed))
      throw new Error("--minutes and --recovery-seconds must be positive, and --seed an integer.");
    return { minutes, seed, recoverySeconds };
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${USAGE}`);
    process.exit(2);
  }
}

const { minutes, seed, recoverySeconds } = readOptions();
console.log(`Faults for ${minutes} minutes, seed ${seed}`);
const violations = await runFaults({
  seed,
  faults: FAULTS,
  milliseconds: minutes * 60_000,
  recoveryMs: recoverySeconds * 1_000,
  deadlineMs: DEADLINE_MS,
  print: (line) => console.log(line),
});
console.log(violations.length === 0 ? "No violation" : `${violations.length} violations. Repeat with --seed ${seed}`);
process.exit(violations.length === 0 ? 0 : 1);
