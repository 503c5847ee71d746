// `npm run faults`: applies faults to servers under load, and checks that no payment is lost or doubled.
import { parseArgs } from "node:util";
import { ABUSES } from "./faults/abuses.ts";
import { runCertify } from "./faults/certified.ts";
import { DATABASES, type Storage } from "./faults/database.ts";
import { runCluster } from "./faults/cluster.ts";
import { runFailover } from "./faults/failover.ts";
import { runFunds } from "./faults/funds.ts";
import { runKills } from "./faults/kills.ts";
import { runFlushes } from "./faults/flushes.ts";
import { runNeighbours } from "./faults/neighbours.ts";
import { runCertifyRails, runRails } from "./faults/rails.ts";
import { FAULTS, runFaults } from "./faults/run.ts";
import { Missing, type WorldOptions } from "./faults/world.ts";

const USAGE = `Usage: npm run faults -- [RUN] [OPTIONS] [--seed N]

  random   [--minutes 2] [--recovery-seconds 5]   random faults of all kinds, on SQLite (the default)
  kills    [--storage sqlite] [--kills 100]       kills the server at random moments; storage sqlite or postgres
  cluster  [--minutes 10]                         kills four processes on one PostgreSQL, which is disturbed too
  failover                                        kills a PostgreSQL primary and promotes its standby (Debian's packages)
  flushes                                         proves with strace that SQLite's commits are flushed before responses
  neighbours [--runs 5] [--abuse lists]           20 merchants abuse one thing each, while another one pays
  rails    [--storage postgres] [--payouts 10000] pays over a rail behind a hostile network, and kills both sides
  rails-certify [--share 0.2]                     runs the conformance suite on a gateway; the share of requests with a fault
  funds    [--storage postgres] [--payouts 10000] a balance, then a limit, permits half of the payouts of 64 callers; kills
  certify  [--runs 20]                            runs the conformance suite on four processes behind a load balancer

Needs Linux. Recovery includes the start of a server that was stopped; allow more for it on a busy machine.`;

const OPTIONS = {
  seed: { type: "string", default: String(Math.floor(Math.random() * 1_000_000)) },
  minutes: { type: "string" },
  "recovery-seconds": { type: "string", default: "5" },
  storage: { type: "string", default: "sqlite" },
  payouts: { type: "string", default: "10000" },
  share: { type: "string", default: "0" },
  kills: { type: "string", default: "100" },
  runs: { type: "string", default: "20" },
  events: { type: "string", default: "2000" },
  disconnects: { type: "string", default: "20" },
  abuse: { type: "string" },
} as const;
/** The run makes the outages in this order: as many as fit into the time, with the measurement after each outage. */
const OUTAGES = ["restart", "pause", "crash", "pause", "restart"] as const;
const OUTAGE_MS = 25_000;
/** The lease of a claim (4 s), a second until the lease has ended and is noticed, and a second for a busy machine. */
const TAKEOVER_MS = 6_000;
/** Longer than the server waits for any statement. */
const FROZEN_MS = 6_000;

type Values = ReturnType<typeof read>;

/** The runs. Each run returns the violations that it found. */
const RUNS: Record<string, (values: Values, shared: WorldOptions) => Promise<string[]>> = {
  random: ({ minutes = 2, recoverySeconds }, shared) =>
    runFaults({ ...shared, faults: FAULTS, milliseconds: minutes * 60_000, recoveryMs: recoverySeconds * 1_000 }),
  kills: ({ storage, kills }, shared) => runKills({ ...shared, storage, kills }),
  cluster: ({ minutes = 10 }, shared) => {
    const milliseconds = minutes * 60_000;
    const outages = OUTAGES.slice(0, Math.floor(milliseconds / OUTAGE_MS));
    return runCluster({ ...shared, milliseconds, outages, takeoverMs: TAKEOVER_MS });
  },
  failover: (_, shared) => runFailover({ ...shared, loadMs: 10_000, frozenMs: FROZEN_MS, backMs: 10_000 }),
  flushes: (_, { print }) => runFlushes({ creates: 2_000, print }),
  neighbours: ({ runs, abuse }, shared) =>
    runNeighbours({ ...shared, merchants: 20, rounds: runs, roundMs: 3_000, abuse }),
  rails: ({ storage, payouts }, shared) => runRails({ ...shared, deadlineMs: 30_000, storage, payouts }),
  "rails-certify": ({ storage, share }, shared) => runCertifyRails({ ...shared, deadlineMs: 30_000, storage, share }),
  funds: ({ storage, payouts }, { seed, print }) => runFunds({ storage, payouts, seed, print }),
  certify: ({ runs }, shared) => runCertify({ ...shared, runs }),
};

type Counted = "minutes" | "recovery-seconds" | "kills" | "runs" | "seed" | "events" | "disconnects" | "payouts";

function read() {
  const { values, positionals } = parseArgs({ options: OPTIONS, allowPositionals: true });
  const positive = (name: Counted) => {
    if (Number(values[name]) > 0) return Number(values[name]);
    throw new Error(`--${name} must be a positive number.`);
  };
  const [run = "random", ...others] = positionals;
  if (!(run in RUNS) || others.length > 0) throw new Error(`Unknown run: ${positionals.join(" ")}`);
  if (!(values.storage in DATABASES)) throw new Error("--storage must be sqlite or postgres.");
  if (values.abuse !== undefined && !(values.abuse in ABUSES))
    throw new Error(`--abuse must be one of: ${Object.keys(ABUSES).join(", ")}.`);
  return {
    run,
    abuse: values.abuse,
    seed: positive("seed"),
    ...(values.minutes !== undefined && { minutes: positive("minutes") }),
    recoverySeconds: positive("recovery-seconds"),
    storage: values.storage as Storage,
    kills: positive("kills"),
    runs: positive("runs"),
    events: positive("events"),
    payouts: positive("payouts"),
    share: Number(values.share),
    disconnects: positive("disconnects"),
  };
}

function readOptions(): Values {
  try {
    return read();
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${USAGE}`);
    process.exit(2);
  }
}

const values = readOptions();
const { run, seed } = values;
console.log(`Faults: ${run}, seed ${seed}`);
const shared = { seed, deadlineMs: 10_000, print: (line: string) => console.log(line) };
try {
  const violations = await RUNS[run]!(values, shared);
  console.log(violations.length === 0 ? "No violation" : `${violations.length} violations. Repeat with --seed ${seed}`);
  process.exit(violations.length === 0 ? 0 : 1);
} catch (error) {
  if (!(error instanceof Missing)) throw error;
  console.log(`Skipped: ${error.message}.`);
  process.exit(0);
}
