// Compares `certify watch` with a plain forward by the same library, and with no forward, in turns. On Linux the forward
// has one core with its judge; load and service have the rest. Usage: node scripts/bench/watch.ts [ROUNDS] [SECONDS]
import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtempSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Pool } from "undici";
import { watch } from "../../conformance/watch/command.ts";
import { forwardTcp } from "../../conformance/watch/forward.ts";
import { middle, payout, quantile, sender, sorted } from "./load.ts";
import { startTarget } from "./target.ts";

const PER_SECOND = 2_000;
const CONNECTIONS = 64;
const file = fileURLToPath(import.meta.url);
const [role = "5", given = "10"] = process.argv.slice(2);

function onCores(cores: string): void {
  if (process.platform === "linux")
    execFileSync("taskset", ["-a", "-cp", cores, String(process.pid)], { stdio: "ignore" });
}

/** Accepts every payout, as the contract says. */
function serve(): void {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const { reference, amount } = JSON.parse(Buffer.concat(chunks).toString()) as Record<string, unknown>;
      const data = { status: "PENDING", reference: randomUUID(), clientReference: reference, amount, fee: 0 };
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ statusCode: 200, data }));
    });
  });
  server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
}

async function run(kind: string, target: string): Promise<void> {
  const listen = { host: "127.0.0.1", port: 0 };
  const nothing = () => undefined;
  const told = { sent: nothing, received: nothing, ended: nothing, closed: nothing };
  if (kind === "plain") console.log((await forwardTcp({ listen, target: new URL(target) }, () => told, nothing)).url);
  else await watch(["--target", target, "--listen", "127.0.0.1:0", "--report", mkdtempSync(join(tmpdir(), "watch-"))]);
}

/** Sends at a constant rate, in steps of a millisecond. Returns p50 and p99 in milliseconds. */
async function measure(url: string, seconds: number) {
  const pool = new Pool(url, { connections: CONNECTIONS });
  const send = sender(pool, payout());
  const sent: Promise<number>[] = [];
  for (const begun = performance.now(); sent.length < PER_SECOND * seconds; await sleep(1)) {
    const due = Math.min(PER_SECOND * seconds, ((performance.now() - begun) / 1_000) * PER_SECOND);
    while (sent.length < due) sent.push(send());
  }
  const times = sorted(await Promise.all(sent));
  await pool.close();
  return { p50: quantile(times, 0.5), p99: quantile(times, 0.99) };
}

async function compare(rounds: number, seconds: number): Promise<void> {
  onCores("1-1023");
  const service = await startTarget("no forward", [file, "service"]);
  const plain = await startTarget("plain forward", [file, "plain", service.url]);
  const watch = await startTarget("watch", [file, "watch", service.url]);
  const subjects = [service, plain, watch].map((target) => ({
    target,
    measured: [] as { p50: number; p99: number }[],
  }));
  for (let round = 0; round <= rounds; round += 1) {
    for (const { target, measured } of round % 2 === 0 ? subjects : subjects.toReversed()) {
      const figures = await measure(target.url, round === 0 ? 2 : seconds);
      if (round > 0) measured.push(figures);
    }
  }
  for (const { target } of subjects) await target.stop();
  const figure = (of: "p50" | "p99", which: number) => middle(subjects[which]!.measured.map((each) => each[of]));
  console.table(
    subjects.map(({ target: { name } }, which) => ({
      [`${PER_SECOND} exchanges a second`]: name,
      "p50 ms": figure("p50", which).toFixed(2),
      "p99 ms": figure("p99", which).toFixed(2),
      "p50 more than plain": (figure("p50", which) - figure("p50", 1)).toFixed(2),
      "p99 more than plain": (figure("p99", which) - figure("p99", 1)).toFixed(2),
    })),
  );
}

if (role === "service") serve();
else if (role === "plain" || role === "watch") {
  onCores("0");
  await run(role, given);
} else await compare(Number(role), Number(given));
