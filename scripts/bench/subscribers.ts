// Measures what the log, the metrics and the log of requests cost a create: one server, which is told to subscribe them and to unsubscribe
// them in turn. The throughput of both ways is measured in pairs, so that a slow moment of the machine affects both.
// Usage: node scripts/bench/subscribers.ts [PAIRS] [CREATES]
import { fork } from "node:child_process";
import { once } from "node:events";
import { openSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { API_KEY, load, payout } from "./load.ts";

const [PAIRS = 15, CREATES = 10_000] = process.argv.slice(2).map(Number);
/** The most of the throughput that they may cost together. */
const LIMIT = 0.02;

const folder = await mkdtemp(join(tmpdir(), "bench-"));
const child = fork(new URL("subscribers-server.ts", import.meta.url), [join(folder, "server.db"), API_KEY], {
  stdio: ["ignore", openSync(join(folder, "log"), "a"), "inherit", "ipc"],
});
process.once("exit", () => child.kill());
const [url] = (await once(child, "message")) as [string];

/** User and system CPU time of the server, which Linux reports in units of 10 ms. */
function cpuMs(): number {
  const fields = readFileSync(`/proc/${child.pid}/stat`, "utf8").split(") ")[1]!.split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 10;
}
const target = { name: "server", url, cpuMs };

async function stop(): Promise<void> {
  const ended = once(child, "exit");
  child.kill();
  await ended;
}

async function measure(subscribed: boolean) {
  child.send(subscribed ? "subscribe" : "unsubscribe");
  await once(child, "message");
  const measured = await load(target, CREATES, payout());
  if (subscribed) await (await fetch(`${url}/metrics`)).text();
  return measured;
}

const median = (values: number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;

try {
  await measure(true);
  await measure(false);
  const pairs = [];
  for (let pair = 0; pair < PAIRS; pair += 1) {
    const first = await measure(pair % 2 === 0);
    const second = await measure(pair % 2 !== 0);
    pairs.push(pair % 2 === 0 ? { on: first, off: second } : { on: second, off: first });
  }
  const throughput = median(pairs.map(({ on, off }) => on.perSecond / off.perSecond));
  const cpu = median(pairs.map(({ on, off }) => on.cpuPerRequest / off.cpuPerRequest));
  const verdict = throughput >= 1 - LIMIT ? "within the limit" : "above the limit";
  console.log(`creates with log, metrics and log of requests, median of ${PAIRS} pairs of ${CREATES}:`);
  console.log(`  ${throughput.toFixed(3)} × the throughput without (${verdict} of ${LIMIT * 100} %)`);
  console.log(`  ${cpu.toFixed(3)} × the CPU time without`);
} finally {
  await stop();
  await rm(folder, { recursive: true });
}
