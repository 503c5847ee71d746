// Measures what the metrics, the log of requests and the lines of the log cost a create. One server switches these
// parts on and off. The cost of a part is smaller than the noise of a measurement, so each part subscribes several
// times and the difference is divided. A round measures every combination of parts, and compares it with a measurement
// without them in the same round. The metrics of the process itself, such as its memory, are left out, because they
// cannot be switched off and do not depend on creates.
// Usage: node scripts/bench/subscribers.ts [ROUNDS] [CREATES] [COPIES]
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { API_KEY, load, payout, quantile } from "./load.ts";
import type { Part } from "./subscribers-server.ts";

const [ROUNDS = 30, CREATES = 2_000, COPIES = 10] = process.argv.slice(2).map(Number);
/** The largest cost of the metrics and the log of requests together, as a share of the create's. */
const LIMIT = 0.02;

const WAYS: Readonly<Record<string, Part[]>> = {
  none: [],
  "none, again": [],
  metrics: ["metrics"],
  "log of requests": ["requests"],
  "metrics and log of requests": ["metrics", "requests"],
  "lines of the log": ["log"],
  all: ["metrics", "requests", "log"],
};
const LIMITED = "metrics and log of requests";

const folder = await mkdtemp(join(tmpdir(), "bench-"));
const child = fork(new URL("subscribers-server.ts", import.meta.url), [
  join(folder, "server.db"),
  API_KEY,
  String(COPIES),
  folder,
]);
process.once("exit", () => child.kill());
const [url] = (await once(child, "message")) as [string];

async function stop(): Promise<void> {
  const ended = once(child, "exit");
  child.kill();
  await ended;
}

/** Lets these parts subscribe. Returns the server's CPU time until then, in microseconds. */
async function subscribe(parts: Part[]): Promise<number> {
  child.send(parts);
  const [cpu] = (await once(child, "message")) as [number];
  return cpu;
}

/** Cost of a create, in microseconds. */
interface Measured {
  time: number;
  cpu: number;
}

async function measure(parts: Part[]): Promise<Measured> {
  const before = await subscribe(parts);
  const { perSecond } = await load({ name: "server", url, cpuMs: () => NaN }, CREATES, payout());
  // Scrapes one of the copies, so that each copy is scraped once per 20,000 creates.
  if (parts.includes("metrics")) await (await fetch(`${url}/metrics`)).text();
  return { time: 1e6 / perSecond, cpu: ((await subscribe([])) - before) / CREATES };
}

const median = (values: number[]): number =>
  quantile(
    values.toSorted((a, b) => a - b),
    0.5,
  );

try {
  const names = Object.keys(WAYS);
  const rounds: Record<string, Measured>[] = [];
  for (let round = -1; round < ROUNDS; round += 1) {
    const order = names.map((_, index) => names[(index + round + 1) % names.length]!);
    if (round % 2 === 0) order.reverse();
    const measured: Record<string, Measured> = {};
    for (const name of order) measured[name] = await measure(WAYS[name]!);
    // The first round is the warm-up.
    if (round >= 0) rounds.push(measured);
  }
  const none = (figure: keyof Measured) => median(rounds.map((round) => round.none![figure]));
  console.log(`creates, medians of ${ROUNDS} rounds of ${CREATES}, with ${COPIES} copies of each part:`);
  console.log(`  none: ${(1e6 / none("time")).toFixed(0)} per second, ${none("cpu").toFixed(1)} µs CPU time`);
  for (const name of names.slice(1)) {
    const more = (figure: keyof Measured) =>
      (median(rounds.map((round) => round[name]![figure] / round.none![figure])) - 1) / COPIES;
    const [throughput, cpu] = [1 / (1 + more("time")), 1 + more("cpu")];
    const verdict = cpu <= 1 + LIMIT && throughput >= 1 - LIMIT ? "within" : "above";
    const limit = name === LIMITED ? ` (${verdict} the limit of ${LIMIT * 100} %)` : "";
    console.log(`  ${name}: ${throughput.toFixed(3)} × the throughput, ${cpu.toFixed(3)} × the CPU time${limit}`);
  }
} finally {
  await stop();
  await rm(folder, { recursive: true });
}
