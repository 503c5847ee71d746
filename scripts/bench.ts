// `npm run bench`: compares the server with a handler that does nothing, a service without guarantees, node:http and Prism in one
// run. Compare the ratios; absolute figures depend on the machine.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { API_KEY, load, median, oneReference, payout, quantile, verify, type Measured } from "./bench/load.ts";
import { startServer, startTarget, type Target } from "./bench/target.ts";
import { besideSilentReceiver, deliveriesPerSecond, settlementToDelivery } from "./bench/webhooks.ts";

for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1));

// Many short rounds: the speed of a machine can change by a third within a minute.
const ROUNDS = 20;
const REQUESTS = { fast: 5_000, prism: 500 };

const root = fileURLToPath(new URL("..", import.meta.url));
const folder = await mkdtemp(join(tmpdir(), "bench-"));

const start = (file: string, settleDelayMs: number) =>
  startServer("server", {
    DATABASE_URL: `sqlite:${join(folder, file)}`,
    SANDBOX_API_KEY: API_KEY,
    SETTLE_DELAY_MS: String(settleDelayMs),
  });

// The long delay keeps settlements out of the request measurements. Webhooks are measured on a separate server.
const server = await start("requests.db", 86_400_000);
const baseline = await startTarget("handler that does nothing", [join(root, "scripts/bench/baseline.ts")]);
const unprotected = await startTarget("no validation, in memory", [join(root, "scripts/bench/unprotected.ts")]);
const node = await startTarget("node:http", [join(root, "scripts/bench/node-http.ts")]);
const mock = "mock generated/openapi.json --host 127.0.0.1 --port 4011".split(" ");
const prism = await startTarget("Prism", [join(root, "node_modules/@stoplight/prism-cli/dist/index.js"), ...mock]);

type Row = Record<"create" | "verify", Measured>;

async function round(target: Target, requests: number, reference: string): Promise<Row> {
  return { create: await load(target, requests, payout()), verify: await load(target, requests, verify(reference)) };
}

const medianOf = (rows: Row[], kind: keyof Row): Measured => median(rows.map((row) => row[kind]));

function print(kind: keyof Row, rows: Map<Target, Row[]>): void {
  const reference = rows.get(baseline)!;
  const slow = medianOf(rows.get(prism)!, kind);
  console.log(`\n${kind}`.padEnd(30), "per second".padStart(12), "CPU µs each".padStart(12), "CPU ratio".padStart(12));
  for (const [target, measured] of rows) {
    const { perSecond, cpuPerRequest } = medianOf(measured, kind);
    const ratios = measured.map((row, index) => row[kind].cpuPerRequest / reference[index]![kind].cpuPerRequest);
    const ratio = quantile(
      ratios.toSorted((a, b) => a - b),
      0.5,
    ).toFixed(2);
    console.log(
      `  ${target.name}`.padEnd(29),
      perSecond.toFixed(0).padStart(12),
      cpuPerRequest.toFixed(1).padStart(12),
      ratio.padStart(12),
      target === server ? `  ${(perSecond / slow.perSecond).toFixed(1)} × Prism's throughput` : "",
    );
  }
}

async function webhooks(): Promise<void> {
  const sender = await start("webhooks.db", 2_000);
  const receiver = await startTarget("receiver", [join(root, "scripts/bench/receiver.ts")]);
  const { p50, p99 } = await settlementToDelivery(sender, receiver, 200, 10);
  console.log(`\nsettlement to delivery at 200 payouts per second: p50 ${p50} ms, p99 ${p99} ms`);
  const perSecond = await deliveriesPerSecond(sender, receiver, 20_000);
  console.log(`webhook throughput: ${perSecond.toFixed(0)} per second`);
  const { p99: beside } = await besideSilentReceiver(sender, receiver);
  console.log(`settlement to delivery beside an unresponsive receiver: p99 ${beside} ms`);
  await Promise.all([sender.stop(), receiver.stop()]);
}

try {
  const rows = new Map<Target, Row[]>([server, baseline, unprotected, node, prism].map((target) => [target, []]));
  const references = new Map<Target, string>();
  for (const target of rows.keys()) references.set(target, await oneReference(target));
  // The first round is a warm-up and is discarded.
  for (let number = 0; number <= ROUNDS; number++) {
    const inTurns = number % 2 === 0 ? [...rows] : [...rows].toReversed();
    for (const [target, measured] of inTurns) {
      const requests = target === prism ? REQUESTS.prism : REQUESTS.fast;
      const row = await round(target, requests, references.get(target)!);
      if (number > 0) measured.push(row);
    }
  }
  await Promise.all([...rows.keys()].map((target) => target.stop()));
  console.log(
    `Median of ${ROUNDS} rounds of ${REQUESTS.fast} requests (Prism ${REQUESTS.prism}) over 64 connections; ratios within a round.`,
  );
  print("create", rows);
  print("verify", rows);
  await webhooks();
} finally {
  await rm(folder, { recursive: true });
}
