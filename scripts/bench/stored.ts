// Measures creates and verifies on both storages, with many stored payouts: throughput, latency, the server's CPU time,
// how long it takes to be ready, and its memory. The servers with different numbers of payouts take turns in each round.
// Usage: node scripts/bench/stored.ts [--rounds N] [--storage sqlite|postgres] [--postgres SETTING=VALUE]… [PAYOUTS…]
import { parseArgs } from "node:util";
import { setTimeout as sleep } from "node:timers/promises";
import { postgres, postgresServer, sqlite, type Database } from "./databases.ts";
import { API_KEY, load, median, medianRatio, oneReference, payout, verify, type Measured } from "./load.ts";
import { startServer } from "./target.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: "string", default: "5" },
    storage: { type: "string" },
    postgres: { type: "string", multiple: true, default: [] },
  },
});
if (![undefined, "sqlite", "postgres"].includes(values.storage)) throw new Error("--storage is sqlite or postgres");
const ROUNDS = Number(values.rounds);
const STORED = positionals.length > 0 ? positionals.map(Number) : [1_000, 1_000_000];
const REQUESTS = 20_000;

const columns = ({ perSecond, cpuPerRequest, p50, p99 }: Measured) =>
  [perSecond.toFixed(0), cpuPerRequest.toFixed(0), p50.toFixed(1), p99.toFixed(1)]
    .map((text) => text.padStart(8))
    .join("");

/** Starts a server with this many stored payouts. */
async function start(name: string, database: Database, stored: number) {
  // A long delay keeps settlements out of the measurement.
  const env = { DATABASE_URL: database.url, SANDBOX_API_KEY: API_KEY, SETTLE_DELAY_MS: "86400000" };
  await (await startServer(name, env)).stop();
  await database.fill(stored);
  const server = await startServer(name, env);
  await sleep(2_000);
  const { now: rest } = server.memory();
  const reference = await oneReference(server);
  return {
    stored,
    database,
    server,
    rest,
    reference,
    creates: [] as Measured[],
    verifies: [] as Measured[],
    written: 0,
  };
}

type Subject = Awaited<ReturnType<typeof start>>;

/** Creates and verifies, and the bytes that the database wrote for the creates. */
async function measureRound({ database, server, reference }: Subject) {
  const before = await database.written(server.pid);
  const create = await load(server, REQUESTS, payout());
  const written = (await database.written(server.pid)) - before;
  return { create, written, look: await load(server, REQUESTS, verify(reference)) };
}

async function measure(name: string, databases: () => Promise<Database>) {
  const subjects: Subject[] = [];
  for (const stored of STORED) subjects.push(await start(name, await databases(), stored));
  for (let done = 0; done <= ROUNDS; done += 1) {
    for (const subject of subjects) {
      const { create, written, look } = await measureRound(subject);
      if (done === 0) continue; // The warm-up.
      subject.creates.push(create);
      subject.verifies.push(look);
      subject.written += written;
    }
  }
  const [first] = subjects;
  for (const { stored, server, rest, creates, verifies, written } of subjects) {
    const kibibytes = written / 1_024 / (ROUNDS * REQUESTS);
    const ratio = (figure: keyof Measured) => medianRatio(creates, first!.creates, figure).toFixed(2).padStart(8);
    console.log(
      `${name.padEnd(11)}${String(stored).padStart(9)}${columns(median(creates))}${kibibytes.toFixed(1).padStart(8)}`,
      `${ratio("perSecond")}${ratio("p99")}${columns(median(verifies))}`,
      [server.readyMs!, rest, server.memory().most].map((number) => number.toFixed(0).padStart(7)).join(""),
    );
    const each = creates.map(({ perSecond }) => perSecond.toFixed(0)).join(" ");
    console.log(`  creates per second in each round: ${each}`);
  }
  for (const { server, database } of subjects) {
    await server.stop();
    await database.drop();
  }
}

console.log(`Median of ${ROUNDS} rounds of ${REQUESTS} requests over 64 connections. CPU in µs of the server's process, times in
ms, memory in MB at rest and at most, KiB that the database writes for each create, throughput and p99 of creates against
the first row of the storage. References are random, and each payout is to one of 100,000 phone numbers.`);
const each = "per s     CPU     p50     p99".padStart(32);
console.log(`${"create".padStart(52)}${"verify".padStart(57)}`);
console.log(`storage       stored${each}     KiB    per s     p99${each}  ready   rest   most`);
if (values.storage !== "postgres") await measure("SQLite", sqlite);
if (values.storage !== "sqlite") {
  const server = await postgresServer(values.postgres);
  await measure("PostgreSQL", () => postgres(server.url));
  await server.stop();
}
