// Measures what a payout and a webhook cost on PostgreSQL: the inputs of scripts/capacity.ts. The receiver is on the same
// machine, so it takes processor time from the server. Usage: node scripts/bench/costs.ts [PAYOUTS]
import { setTimeout as sleep } from "node:timers/promises";
import { Client } from "pg";
import { postgres, postgresServer, type Database } from "./databases.ts";
import { API_KEY, load, oneReference, payout, verify } from "./load.ts";
import { startServer, startTarget, type Target } from "./target.ts";

for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1));

const PAYOUTS = Number(process.argv[2] ?? 20_000);
const server = await postgresServer();
const receiver = await startTarget("receiver", [new URL("receiver.ts", import.meta.url).pathname]);

const USED = `SELECT (pg_current_wal_lsn() - '0/0')::bigint AS wal, xact_commit AS commits,
  pg_total_relation_size('disbursements') AS payouts, pg_total_relation_size('events') AS events
  FROM pg_stat_database WHERE datname = current_database()`;

interface Used {
  serverMs: number;
  databaseMs: number;
  wal: number;
  commits: number;
  payouts: number;
  events: number;
}

/** Returns the resources that `work` uses, per payout. */
async function perPayout(database: Database, target: Target, work: () => Promise<unknown>): Promise<Used> {
  const client = new Client(database.url);
  await client.connect();
  const used = async (): Promise<Used> => {
    // Statistics of other connections appear a moment later.
    await sleep(1_500);
    const [row] = (await client.query<Record<string, string>>(USED)).rows;
    const numbers = Object.fromEntries(Object.entries(row!).map(([name, value]) => [name, Number(value)]));
    return { ...numbers, serverMs: target.cpuMs(), databaseMs: server.cpuMs() } as Used;
  };
  const before = await used();
  await work();
  const after = await used();
  await client.end();
  const names = Object.keys(after) as (keyof Used)[];
  return Object.fromEntries(names.map((name) => [name, (after[name] - before[name]) / PAYOUTS])) as unknown as Used;
}

async function measure(settleDelayMs: number, work: (target: Target) => Promise<unknown>): Promise<Used> {
  const database = await postgres(server.url);
  const env = { DATABASE_URL: database.url, SANDBOX_API_KEY: API_KEY, SETTLE_DELAY_MS: String(settleDelayMs) };
  const target = await startServer("server", env);
  await load(target, 5_000, payout());
  const used = await perPayout(database, target, () => work(target));
  await target.stop();
  await database.drop();
  return used;
}

/** Waits until all webhooks have arrived. */
async function delivered() {
  for (let arrived = 0; arrived < PAYOUTS; await sleep(100))
    arrived += ((await (await fetch(receiver.url)).json()) as unknown[]).length;
}

const DAY_MS = 86_400_000;
const create = await measure(DAY_MS, (target) => load(target, PAYOUTS, payout()));
const look = await measure(DAY_MS, async (target) => load(target, PAYOUTS, verify(await oneReference(target))));
const all = await measure(1_000, async (target) => {
  await load(target, PAYOUTS, payout(receiver.url));
  await delivered();
});

const micro = (ms: number) => Math.round(ms * 1_000);
console.table({
  "create a payout": {
    "server CPU µs": micro(create.serverMs),
    "database CPU µs": micro(create.databaseMs),
    "WAL bytes": Math.round(create.wal),
    "stored bytes": Math.round(create.payouts),
    commits: create.commits,
  },
  "verify a payout": {
    "server CPU µs": micro(look.serverMs),
    "database CPU µs": micro(look.databaseMs),
    "WAL bytes": 0,
    "stored bytes": 0,
    commits: look.commits,
  },
  "settle it and send its webhook": {
    "server CPU µs": micro(all.serverMs - create.serverMs),
    "database CPU µs": micro(all.databaseMs - create.databaseMs),
    "WAL bytes": Math.round(all.wal - create.wal),
    "stored bytes": Math.round(all.events + all.payouts - create.payouts),
    commits: all.commits - create.commits,
  },
});
await Promise.all([receiver.stop(), server.stop()]);
