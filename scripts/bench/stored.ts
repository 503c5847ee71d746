// Measures creates and verifies on both storages, with many stored payouts: throughput, latency, the server's CPU time,
// how long it takes to be ready, and its memory. The servers with different numbers of payouts take turns in each round.
// Usage: node scripts/bench/stored.ts [--rounds N] [--storage sqlite|postgres] [--postgres SETTING=VALUE]… [PAYOUTS…]
import { parseArgs } from "node:util";
import { setTimeout as sleep } from "node:timers/promises";
import { postgres, sqlite, type StoredDatabase } from "./databases.ts";
import { load, median, medianRatio, oneReference, payout, verify, type Measured } from "./load.ts";
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

/** Starts a server with this many stored payouts. */
async function start(database: StoredDatabase, stored: number) {
  await (await startServer(database)).stop();
  await database.fill(stored);
  const server = await startServer(database);
  await sleep(2_000);
  const { now: rest } = server.memory();
  const [creates, verifies]: Measured[][] = [[], []];
  return { stored, database, server, rest, reference: await oneReference(server), creates, verifies, written: 0 };
}

const columns = ({ perSecond, cpuPerRequest, p50, p99 }: Measured) => ({
  "per s": Math.round(perSecond),
  "CPU µs": Math.round(cpuPerRequest),
  "p50 ms": Number(p50.toFixed(1)),
  "p99 ms": Number(p99.toFixed(1)),
});

async function measure(storage: string, create: () => Promise<StoredDatabase>) {
  const subjects: Awaited<ReturnType<typeof start>>[] = [];
  for (const stored of STORED) subjects.push(await start(await create(), stored));
  for (let round = 0; round <= ROUNDS; round += 1) {
    for (const subject of subjects) {
      const { database, server, reference } = subject;
      const before = await database.written(server.pid);
      const creates = await load(server, REQUESTS, payout());
      const written = (await database.written(server.pid)) - before;
      const verifies = await load(server, REQUESTS, verify(reference));
      if (round === 0) continue; // The warm-up.
      subject.creates!.push(creates);
      subject.verifies!.push(verifies);
      subject.written += written;
    }
  }
  const rows = subjects.map(({ stored, ...subject }) => ({ label: `${storage}, ${stored}`, ...subject }));
  console.table(
    rows.map(({ label, creates: measured, written }) => ({
      creates: label,
      ...columns(median(measured!)),
      "KiB written": Number((written / 1_024 / (ROUNDS * REQUESTS)).toFixed(1)),
      "ratio per s": Number(medianRatio(measured!, rows[0]!.creates!, "perSecond").toFixed(2)),
      "ratio p99": Number(medianRatio(measured!, rows[0]!.creates!, "p99").toFixed(2)),
      "per s in each round": measured!.map(({ perSecond }) => perSecond.toFixed(0)).join(" "),
    })),
  );
  console.table(
    rows.map(({ label, verifies: measured, server, rest }) => ({
      verifies: label,
      ...columns(median(measured!)),
      "ready ms": Math.round(server.readyMs),
      "MB at rest": Math.round(rest),
      "MB at most": Math.round(server.memory().most),
    })),
  );
  for (const { server, database } of subjects) {
    await server.stop();
    await database.close();
  }
}

console.log(`Median of ${ROUNDS} rounds of ${REQUESTS} requests over 64 connections, by the number of stored payouts. Ratios are to
the first row. References are random, and each payout is to one of 100,000 phone numbers.`);
if (values.storage !== "postgres") await measure("SQLite", sqlite);
if (values.storage !== "sqlite") await measure("PostgreSQL", () => postgres(values.postgres));
