// Measures how much 1,000 hostile receivers at once slow the API down. All conditions are measured in turns on one
// server, because other work on the machine changes the figures of a single turn.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Pool } from "undici";
import { API_KEY, oneReference, payout, verify, type Request } from "./load.ts";
import { startTarget, type Target } from "./target.ts";

for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1));

const ROUNDS = 5;
const SECONDS = 6;
/**
 * Per second: the measured requests, half of them creates, and the further creates whose webhooks go to the receivers.
 */
const PER_SECOND = 200;
const WEBHOOKS_PER_SECOND = 100;
const RECEIVERS = 1_000;

const root = fileURLToPath(new URL("../..", import.meta.url));
const folder = await mkdtemp(join(tmpdir(), "receivers-"));
const server = await startTarget("server", ["--max-semi-space-size=16", join(root, "server/main.ts")], {
  PORT: "0",
  DATABASE_URL: `sqlite:${join(folder, "server.db")}`,
  SANDBOX_API_KEY: API_KEY,
  SETTLE_DELAY_MS: "0",
});
const receivers = await startTarget("receivers", [join(root, "scripts/bench/hostile.ts")]);
const pool = new Pool(server.url, { connections: 64 });

/** Sends a request and returns its latency in milliseconds. */
async function timed({ method, path, body }: Request): Promise<number> {
  const headers = { "x-api-key": API_KEY, ...(body && { "content-type": "application/json" }) };
  const begun = performance.now();
  const response = await pool.request({ method, path, headers, body: body?.() ?? null });
  await response.body.dump();
  if (response.statusCode !== 200) throw new Error(`${method} ${path} returned ${response.statusCode}`);
  return performance.now() - begun;
}

/** Starts `send` at a constant rate for some seconds, and resolves with all results. */
async function atRate<T>(perSecond: number, seconds: number, send: (index: number) => Promise<T>): Promise<T[]> {
  const sent: Promise<T>[] = [];
  const begun = performance.now();
  for (let due = 0; sent.length < perSecond * seconds; await sleep(5)) {
    due = Math.min(perSecond * seconds, ((performance.now() - begun) / 1_000) * perSecond);
    while (sent.length < due) sent.push(send(sent.length));
  }
  return Promise.all(sent);
}

/**
 * Measures the API while webhooks go to these receivers; a URL that is undefined stands for payouts without webhook.
 * @returns the latencies in ascending order
 */
async function measure(urls: readonly (string | undefined)[]): Promise<number[]> {
  const toReceiver = (index: number) => timed(payout(urls[index % urls.length]));
  await Promise.all(Array.from({ length: RECEIVERS }, (_, index) => toReceiver(index)));
  const reference = await oneReference(server);
  const [latencies] = await Promise.all([
    atRate(PER_SECOND, SECONDS, (index) => timed(index % 2 === 0 ? payout() : verify(reference))),
    atRate(WEBHOOKS_PER_SECOND, SECONDS, toReceiver),
  ]);
  await clear();
  return latencies.toSorted((a, b) => a - b);
}

/** Deletes the webhooks and ends their attempts, so that they do not affect the next measurement. */
async function clear() {
  await timed({ method: "POST", path: "/sandbox/reset" });
  for (let open = 1; open > 0; open = (await (await fetch(receivers.url)).json()) as number) {
    await fetch(receivers.url, { method: "DELETE" });
    await sleep(200);
  }
}

const urlsOf = async ({ url }: Target, kind: string) => (await (await fetch(`${url}/${kind}`)).json()) as string[];
const quantile = (sorted: number[], share: number) => sorted[Math.ceil(sorted.length * share) - 1]!;
const median = (values: number[]) =>
  quantile(
    values.toSorted((a, b) => a - b),
    0.5,
  );

try {
  const conditions = new Map<string, (string | undefined)[]>([
    ["no webhooks", [undefined]],
    ["1,000 healthy receivers", await urlsOf(receivers, "healthy")],
    ["1,000 hostile receivers", await urlsOf(receivers, "hostile")],
  ]);
  const measured = new Map([...conditions.keys()].map((name) => [name, [] as number[][]]));
  const used = new Map([...conditions.keys()].map((name) => [name, [] as number[]]));
  for (let round = 0; round <= ROUNDS; round += 1) {
    for (const [name, urls] of conditions) {
      const before = server.cpuMs();
      const latencies = await measure(urls);
      // The first round is a warm-up and is discarded.
      if (round === 0) continue;
      measured.get(name)!.push(latencies);
      used.get(name)!.push((server.cpuMs() - before) / 1_000);
    }
  }
  console.log(
    `\nAPI at ${PER_SECOND} requests per second, median of ${ROUNDS} rounds, ms`.padEnd(60),
    "   p50     p99   ratio   CPU s",
  );
  const p99 = (rounds: number[][]) => median(rounds.map((sorted) => quantile(sorted, 0.99)));
  const without = p99(measured.get("no webhooks")!);
  for (const [name, rounds] of measured) {
    const p50 = median(rounds.map((sorted) => quantile(sorted, 0.5)));
    const ratio = p99(rounds) / without;
    const columns = [p50.toFixed(1), p99(rounds).toFixed(1), ratio.toFixed(2), median(used.get(name)!).toFixed(1)];
    console.log(`  ${name}`.padEnd(59), ...columns.map((column) => column.padStart(7)));
  }
} finally {
  await pool.close();
  await Promise.all([server.stop(), receivers.stop()]);
  await rm(folder, { recursive: true });
}
