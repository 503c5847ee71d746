// Compares `certify watch` with a plain forward by the same library, and with no forward, in turns. On Linux the forward
// has one core with its judge; load and service have the rest. Usage: node scripts/bench/watch.ts [ROUNDS] [SECONDS]
import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtempSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Pool } from "undici";
import { watch } from "../../conformance/watch/command.ts";
import { forwardTcp } from "../../conformance/watch/forward.ts";
import { atRate, middle, payout, quantile, sender, sorted } from "./load.ts";
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

const nothing = () => undefined;

async function run(kind: string, target: string): Promise<void> {
  const listen = { host: "127.0.0.1", port: 0 };
  const told = { sent: nothing, received: nothing, ended: nothing, closed: nothing };
  if (kind === "plain") console.log((await forwardTcp({ listen, target: new URL(target) }, () => told, nothing)).url);
  else await watch(["--target", target, "--listen", "127.0.0.1:0", "--report", mkdtempSync(join(tmpdir(), "watch-"))]);
}

async function compare(rounds: number, seconds: number): Promise<void> {
  onCores("1-1023");
  const service = await startTarget("no forward", [file, "service"]);
  const plain = await startTarget("plain forward", [file, "plain", service.url]);
  const targets = [service, plain, await startTarget("watch", [file, "watch", service.url])];
  const subjects = targets.map((target) => ({ target, p50: [] as number[], p99: [] as number[] }));
  for (let round = 0; round <= rounds; round += 1) {
    for (const { target, p50, p99 } of round % 2 === 0 ? subjects : subjects.toReversed()) {
      const pool = new Pool(target.url, { connections: CONNECTIONS });
      const times = sorted(await atRate(PER_SECOND, seconds, sender(pool, payout())));
      await pool.close();
      if (round === 0) continue; // The warm-up.
      p50.push(quantile(times, 0.5));
      p99.push(quantile(times, 0.99));
    }
  }
  for (const target of targets) await target.stop();
  const rows = subjects.map(({ target: { name }, p50, p99 }) => {
    return { [`${PER_SECOND} a second`]: name, "p50 ms": middle(p50).toFixed(2), "p99 ms": middle(p99).toFixed(2) };
  });
  console.table(rows);
}

if (role === "service") serve();
else if (role === "plain" || role === "watch") {
  onCores("0");
  await run(role, given);
} else await compare(Number(role), Number(given));
