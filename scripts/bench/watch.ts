// Compares `certify watch` with a plain forward by the same library, and with no forward, in turns. On Linux, each forward
// has one core, with its judge; load and service have the rest. Usage: node scripts/bench/watch.ts [ROUNDS] [SECONDS]
import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtempSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Pool } from "undici";
import { forwardTcp } from "../../conformance/watch/forward.ts";
import document from "../../generated/openapi.json" with { type: "json" };
import { atRate, middle, payout, quantile, sender, sorted } from "./load.ts";
import { startTarget } from "./target.ts";

const PER_SECOND = 2_000;
const CONNECTIONS = 64;
const listen = { host: "127.0.0.1", port: 0 };
const file = fileURLToPath(import.meta.url);
const certify = fileURLToPath(new URL("../../conformance/bin.js", import.meta.url));

/** Moves processes, with all their threads, to cores. */
function pin(cores: string, ...pids: (number | string)[]): void {
  if (process.platform !== "linux") return;
  for (const pid of pids) execFileSync("taskset", ["-a", "-cp", cores, String(pid)], { stdio: "ignore" });
}

const childrenOf = (pid: number) =>
  process.platform === "linux" ? (readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").match(/\d+/g) ?? []) : [];

/** Accepts every payout, as the contract says. */
function serve(): void {
  const example = document.components.examples.DisbursementCreated.value;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const { reference, amount } = JSON.parse(Buffer.concat(chunks).toString()) as Record<string, unknown>;
      const data = { ...example.data, reference: randomUUID(), merchantsReference: reference, amount };
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ ...example, data }));
    });
  });
  server.listen(listen, () => console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
}

const nothing = () => undefined;
const told = { sent: nothing, received: nothing, ended: nothing, closed: nothing };

async function forwardPlainly(target: string): Promise<void> {
  console.log((await forwardTcp({ listen, target: new URL(target) }, () => told, nothing)).url);
}

async function compare(rounds: number, seconds: number): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "watch-"));
  pin("1-1023", process.pid);
  const service = await startTarget("no forward", [file, "service"]);
  const plain = await startTarget("plain forward", [file, "plain", service.url]);
  const options = ["--target", service.url, "--listen", "127.0.0.1:0", "--report", folder];
  const watched = await startTarget("watch", [certify, "watch", ...options]);
  pin("0", plain.pid, watched.pid, ...childrenOf(watched.pid));
  const targets = [service, plain, watched];
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
  for (const target of targets.toReversed()) await target.stop();
  const rows = subjects.map(({ target: { name }, p50, p99 }) => {
    return { [`${PER_SECOND} a second`]: name, "p50 ms": middle(p50).toFixed(2), "p99 ms": middle(p99).toFixed(2) };
  });
  console.table(rows);
  console.log(
    `${PER_SECOND * seconds * (rounds + 1)} exchanges were sent through the watch. ${folder} has its report.`,
  );
}

const [role = "5", given = "10"] = process.argv.slice(2);
if (role === "service") serve();
else if (role === "plain") await forwardPlainly(given);
else await compare(Number(role), Number(given));
