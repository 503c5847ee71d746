// `npm run lab -- NAME`: does something to servers or programs under load, and checks that no payment is lost or paid
// twice. Without a name it lists the experiments.
import { parseArgs } from "node:util";
import { runAgents } from "./lab/agents.ts";
import { DATABASES, type Storage } from "./lab/database.ts";
import { runFailover } from "./lab/failover.ts";
import { runCluster, runKills, runRandom } from "./lab/faults.ts";
import { runFlushes } from "./lab/flushes.ts";
import { runFunds } from "./lab/funds.ts";
import { runNeighbours } from "./lab/neighbours.ts";
import { runPayouts } from "./lab/payouts.ts";
import { runPayroll } from "./lab/payroll.ts";
import { runRails } from "./lab/rails.ts";
import { runSoak } from "./lab/soak.ts";
import { Missing, type RunOptions } from "./lab/world.ts";

/** Numbers, and a storage. */
type Defaults = Record<string, number | Storage>;

interface Experiment {
  /** What it does, and to whom. */
  does: string;
  /** Its options with their defaults. */
  defaults: Defaults;
  /** Returns the violations that it found. */
  run(options: RunOptions): Promise<string[]>;
}

const experiment = <D extends Defaults>(
  does: string,
  defaults: D,
  run: (options: RunOptions & D) => Promise<string[]>,
): Experiment => ({ does, defaults, run: run as Experiment["run"] });

const SQLITE: Storage = "sqlite";

const EXPERIMENTS: Record<string, Experiment> = {
  random: experiment(
    "one server on SQLite: faults of the process, its files, its callers and receivers, in random order",
    { minutes: 2, recovery: 5 },
    runRandom,
  ),
  kills: experiment("one server: killed at random moments", { kills: 100, storage: SQLITE }, runKills),
  cluster: experiment(
    "four processes on one PostgreSQL: killed, and the database is restarted, crashed, paused and cut off",
    { minutes: 10, recovery: 10 },
    runCluster,
  ),
  // The freeze outlasts every statement: a server waits for one for less than six seconds.
  failover: experiment("a PostgreSQL primary: killed, and its standby promoted", {}, (options) =>
    runFailover({ ...options, loadMs: 10_000, frozenMs: 6_000, backMs: 10_000 }),
  ),
  flushes: experiment(
    "SQLite: strace proves that commits are flushed before responses",
    { creates: 2_000 },
    runFlushes,
  ),
  funds: experiment(
    "a balance and a limit that permit half of the payouts of 64 callers, while processes are killed",
    { payouts: 10_000, storage: SQLITE },
    runFunds,
  ),
  rails: experiment(
    "a gateway and its rail behind a faulty network: both killed",
    { payouts: 10_000, storage: SQLITE },
    (options) => runRails({ ...options, share: 0.35, delayMs: 30_000, loadMs: 60_000 }),
  ),
  neighbours: experiment(
    "one server: 20 merchants abuse one thing each, while another one pays",
    { rounds: 5 },
    runNeighbours,
  ),
  soak: experiment(
    "one server: 80 % of what it carries, then 1,000 slow senders; memory, handles and latency stay flat",
    { minutes: 10 },
    runSoak,
  ),
  payouts: experiment(
    "the client: pays over a faulty network, on a machine whose clock jumps",
    { payouts: 10_000 },
    runPayouts,
  ),
  payroll: experiment(
    "the client's payroll: killed at random moments, at a service with a rate limit",
    { payouts: 10_000, kills: 20, rate: 200 },
    runPayroll,
  ),
  agents: experiment(
    "the tools for agents: 50 sessions of processes that are killed, over a faulty network",
    { calls: 10_000, kills: 20 },
    runAgents,
  ),
};

function usage(): string {
  const lines = Object.entries(EXPERIMENTS).map(([name, { does, defaults }]) => {
    const options = Object.entries(defaults).map(([option, value]) => `--${option} ${value}`);
    return `  ${name.padEnd(14)} ${does}\n${options.length > 0 ? `${" ".repeat(17)}${options.join(" ")}\n` : ""}`;
  });
  return `Usage: npm run lab -- NAME [OPTIONS] [--seed N]\n\n${lines.join("")}
Options are shown with their defaults; the storage is sqlite or postgres, recovery is in seconds. Experiments need Linux.
--seed repeats what is random. Exit code: 0 without a violation, also if this machine lacks what the experiment needs;
1 with violations; 2 for wrong options.`;
}

/** Reads the arguments. @throws Error that says what is wrong with them */
function read([name = "", ...args]: string[]) {
  const chosen = EXPERIMENTS[name];
  if (!chosen) throw new Error(`No experiment is called ${name}.`);
  const defaults = { ...chosen.defaults, seed: Math.floor(Math.random() * 1_000_000) };
  const options = Object.fromEntries(Object.keys(defaults).map((option) => [option, { type: "string" as const }]));
  const given = Object.entries(parseArgs({ args, options }).values).map(([option, value]) => {
    if (option === "storage" && !((value ?? "") in DATABASES)) throw new Error("--storage must be sqlite or postgres.");
    if (option !== "storage" && !(Number(value) >= 0)) throw new Error(`--${option} must be a number.`);
    return [option, option === "storage" ? value : Number(value)];
  });
  return { run: chosen.run, options: { ...defaults, ...(Object.fromEntries(given) as object) } };
}

async function main(args: string[]): Promise<number> {
  if (args.length === 0 || args.includes("--help")) {
    console.log(usage());
    return 0;
  }
  let chosen;
  try {
    chosen = read(args);
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${usage()}`);
    return 2;
  }
  const { run, options } = chosen;
  console.log(`${args[0]}, seed ${options.seed}`);
  try {
    const violations = await run({ ...options, deadlineMs: 10_000, print: console.log });
    const repeat = `Repeat with --seed ${options.seed}`;
    console.log(violations.length === 0 ? "No violation" : `${violations.length} violations. ${repeat}`);
    return violations.length === 0 ? 0 : 1;
  } catch (error) {
    if (!(error instanceof Missing)) throw error;
    console.log(`Skipped: ${error.message}.`);
    return 0;
  }
}

// A client or a server may leave connections open that would keep the process.
process.exit(await main(process.argv.slice(2)));
