// Measures creates and verifies on both storages, with many stored payouts: throughput, latency, the server's CPU time,
// how long it takes to be ready, and its memory. Usage: node scripts/bench/stored.ts [--rounds N] [PAYOUTS…]
import { parseArgs } from "node:util";
import { setTimeout as sleep } from "node:timers/promises";
import { postgres, postgresServer, sqlite, type Database } from "./databases.ts";
import { API_KEY, load, median, oneReference, payout, verify, type Measured } from "./load.ts";
import { startServer } from "./target.ts";

for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1));

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { rounds: { type: "string", default: "5" } },
});
const ROUNDS = Number(values.rounds);
const STORED = positionals.length > 0 ? positionals.map(Number) : [1_000, 1_000_000];
const REQUESTS = 20_000;

const columns = ({ perSecond, cpuPerRequest, p50, p99 }: Measured) =>
  [perSecond.toFixed(0), cpuPerRequest.toFixed(0), p50.toFixed(1), p99.toFixed(1)]
    .map((text) => text.padStart(8))
    .join("");

async function measure(name: string, database: Database, stored: number) {
  // A long delay keeps settlements out of the measurement.
  const env = { DATABASE_URL: database.url, SANDBOX_API_KEY: API_KEY, SETTLE_DELAY_MS: "86400000" };
  await (await startServer(name, env)).stop();
  await database.fill(stored);
  const server = await startServer(name, env);
  await sleep(2_000);
  const { now: rest } = server.memory();
  const reference = await oneReference(server);
  const rounds = { create: [] as Measured[], verify: [] as Measured[] };
  let before = 0;
  // The first round is a warm-up and is discarded.
  for (let round = 0; round <= ROUNDS; round += 1) {
    if (round === 1) before = await database.written(server.pid);
    const [create, look] = [await load(server, REQUESTS, payout()), await load(server, REQUESTS, verify(reference))];
    if (round === 0) continue;
    rounds.create.push(create);
    rounds.verify.push(look);
  }
  const kibibytes = ((await database.written(server.pid)) - before) / 1_024 / (ROUNDS * REQUESTS);
  const [create, look] = [median(rounds.create), median(rounds.verify)];
  console.log(
    `${name.padEnd(11)}${String(stored).padStart(9)}${columns(create)}${kibibytes.toFixed(1).padStart(8)}${columns(look)}`,
    [server.readyMs!, rest, server.memory().most].map((number) => number.toFixed(0).padStart(7)).join(""),
  );
  await server.stop();
  await database.drop();
}

console.log(`Median of ${ROUNDS} rounds of ${REQUESTS} requests over 64 connections. CPU in µs of the server's process, times in
ms, memory in MB at rest and at most, KiB that the database writes for each create. References are random, and each payout is to one
of 100,000 phone numbers.`);
const each = "per s     CPU     p50     p99".padStart(32);
console.log(`${"create".padStart(52)}${"verify".padStart(40)}`);
console.log(`storage       stored${each}     KiB${each}  ready   rest   most`);
const server = await postgresServer();
for (const stored of STORED) {
  await measure("SQLite", await sqlite(), stored);
  await measure("PostgreSQL", await postgres(server.url), stored);
}
await server.stop();
