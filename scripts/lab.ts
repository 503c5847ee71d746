// `npm run lab -- NAME`: does something to servers or programs under load, and checks that no payment is lost or paid
// twice. Without a name it lists the experiments.
import { parseArgs } from "node:util";
import { runAgents } from "./lab/agents.ts";
import { runCertify } from "./lab/certify.ts";
import { DATABASES, type Storage } from "./lab/database.ts";
import { runFailover } from "./lab/failover.ts";
import { runCluster, runKills, runRandom } from "./lab/faults.ts";
import { runFlushes } from "./lab/flushes.ts";
import { runFunds } from "./lab/funds.ts";
import { runNeighbours } from "./lab/neighbours.ts";
import { runPayouts } from "./lab/payouts.ts";
import { runPayroll } from "./lab/payroll.ts";
import { runCertifyRails, runRails } from "./lab/rails.ts";
import { runSoak } from "./lab/soak.ts";
import { Missing, type RunOptions } from "./lab/world.ts";

interface Experiment {
  /** What it does, and to whom. */
  does: string;
  /** Its numbers with their defaults: options of the command. */
  numbers: Record<string, number>;
  /** True if it takes `--storage`. */
  hasStorage?: boolean;
  /** Returns the violations that it found. */
  run(numbers: Record<string, number>, options: RunOptions & { storage: Storage }): Promise<string[]>;
}

/** Between a gateway and its rail. */
const FAULTY = { share: 0.35, delayMs: 30_000 };

const EXPERIMENTS: Record<string, Experiment> = {
  random: {
    does: "one server on SQLite: faults of the process, its files, its callers and receivers, in random order",
    numbers: { minutes: 2, "recovery-seconds": 5 },
    run: (of, options) =>
      runRandom({ ...options, milliseconds: of.minutes! * 60_000, recoveryMs: of["recovery-seconds"]! * 1_000 }),
  },
  kills: {
    does: "one server: killed at random moments",
    numbers: { kills: 100 },
    hasStorage: true,
    run: (of, options) => runKills({ ...options, kills: of.kills! }),
  },
  cluster: {
    does: "four processes on one PostgreSQL: killed, and the database is restarted, crashed, paused and cut off",
    numbers: { minutes: 10, "recovery-seconds": 10 },
    run: (of, options) =>
      runCluster({ ...options, milliseconds: of.minutes! * 60_000, recoveryMs: of["recovery-seconds"]! * 1_000 }),
  },
  failover: {
    does: "a PostgreSQL primary: killed, and its standby promoted (Debian's packages)",
    numbers: {},
    // A server waits for a statement for less than six seconds.
    run: (_, options) => runFailover({ ...options, loadMs: 10_000, frozenMs: 6_000, backMs: 10_000 }),
  },
  flushes: {
    does: "SQLite: strace proves that commits are flushed before responses",
    numbers: { creates: 2_000 },
    run: (of, options) => runFlushes({ ...options, creates: of.creates! }),
  },
  funds: {
    does: "a balance and a limit that permit half of the payouts of 64 callers, while processes are killed",
    numbers: { payouts: 10_000 },
    hasStorage: true,
    run: (of, options) => runFunds({ ...options, payouts: of.payouts! }),
  },
  rails: {
    does: "a gateway and its rail behind a faulty network: both killed",
    numbers: { payouts: 10_000 },
    hasStorage: true,
    run: (of, options) => runRails({ ...options, ...FAULTY, payouts: of.payouts!, loadMs: 60_000 }),
  },
  "rails-certify": {
    does: "the same gateway: judged by the conformance suite; --share is the share of requests with a fault",
    numbers: { share: 0 },
    hasStorage: true,
    run: (of, options) => runCertifyRails({ ...options, ...FAULTY, share: of.share! }),
  },
  certify: {
    does: "four processes behind a load balancer: judged by the conformance suite",
    numbers: { runs: 20 },
    run: (of, options) => runCertify({ ...options, runs: of.runs! }),
  },
  neighbours: {
    does: "one server: 20 merchants abuse one thing each, while another one pays",
    numbers: { rounds: 5 },
    run: (of, options) => runNeighbours({ ...options, rounds: of.rounds! }),
  },
  soak: {
    does: "one server: 80 % of what it carries, then 1,000 slow senders; memory, handles and latency stay flat",
    numbers: { minutes: 10 },
    run: (of, options) => runSoak({ ...options, minutes: of.minutes! }),
  },
  payouts: {
    does: "the client: pays over a faulty network, on a machine whose clock jumps",
    numbers: { payouts: 10_000 },
    run: (of, options) => runPayouts({ ...options, payouts: of.payouts! }),
  },
  payroll: {
    does: "the client's payroll: killed at random moments, at a service with a rate limit",
    numbers: { payouts: 10_000, kills: 20, rate: 200 },
    run: (of, options) => runPayroll({ ...options, payouts: of.payouts!, kills: of.kills!, rate: of.rate! }),
  },
  agents: {
    does: "the tools for agents: 50 sessions of processes that are killed, over a faulty network",
    numbers: { calls: 10_000, kills: 20 },
    run: (of, options) => runAgents({ ...options, calls: of.calls!, kills: of.kills! }),
  },
};

function usage(): string {
  const lines = Object.entries(EXPERIMENTS).map(([name, { does, numbers, hasStorage }]) => {
    const options = Object.entries(numbers).map(([option, value]) => `--${option} ${value}`);
    const all = [...options, ...(hasStorage ? ["--storage sqlite"] : [])].join(" ");
    return `  ${name.padEnd(14)} ${does}\n${all && `${" ".repeat(17)}${all}\n`}`;
  });
  return `Usage: npm run lab -- NAME [OPTIONS] [--seed N]\n\n${lines.join("")}
Options are shown with their defaults; the storage is sqlite or postgres. Experiments need Linux. --seed repeats what is
random. Exit code: 0 without a violation, also if this machine lacks what the experiment needs; 1 with violations; 2 for
wrong options.`;
}

/** Reads the arguments. @throws Error that says what is wrong with them */
function read(args: string[]) {
  const [name = "", ...rest] = args;
  const experiment = EXPERIMENTS[name];
  if (!experiment) throw new Error(name ? `No experiment is called ${name}.` : "Name an experiment.");
  const { numbers, hasStorage } = experiment;
  const names = ["seed", ...Object.keys(numbers), ...(hasStorage ? ["storage"] : [])];
  const options = Object.fromEntries(names.map((option) => [option, { type: "string" as const }]));
  const values = parseArgs({ args: rest, options }).values as Record<string, string | undefined>;
  const { storage = "sqlite", seed = String(Math.floor(Math.random() * 1_000_000)), ...given } = values;
  if (!(storage in DATABASES)) throw new Error("--storage must be sqlite or postgres.");
  const chosen: Record<string, number> = { ...numbers, seed: Number(seed) };
  for (const [option, value] of Object.entries(given)) chosen[option] = Number(value);
  for (const [option, value] of Object.entries(chosen))
    if (!(value >= 0)) throw new Error(`--${option} must be a number.`);
  return { name, experiment, numbers: chosen, storage: storage as Storage, seed: Number(seed) };
}

const print = (line: string) => console.log(line);

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
  const { name, experiment, numbers, storage, seed } = chosen;
  print(`${name}, seed ${seed}`);
  try {
    const violations = await experiment.run(numbers, { seed, storage, deadlineMs: 10_000, print });
    print(violations.length === 0 ? "No violation" : `${violations.length} violations. Repeat with --seed ${seed}`);
    return violations.length === 0 ? 0 : 1;
  } catch (error) {
    if (!(error instanceof Missing)) throw error;
    print(`Skipped: ${error.message}.`);
    return 0;
  }
}

// A client or a server may leave connections open that would keep the process.
process.exit(await main(process.argv.slice(2)));
