// Compares `certify watch` with a plain forward of Node's streams, and with no forward, in turns. On Linux, both forwards
// have one core, with the judge; load and service have the rest. Usage: node scripts/bench/watch.ts [ROUNDS] [SECONDS]
import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtempSync } from "node:fs";
import { connect, createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { Pool } from "undici";
import document from "../../generated/openapi.json" with { type: "json" };
import { serve } from "../../server/testing/http.ts";
import { atRate, middle, payout, quantile, sender } from "./load.ts";
import { startTarget } from "./target.ts";

const PER_SECOND = 2_000;
const certify = fileURLToPath(new URL("../../conformance/bin.js", import.meta.url));

/** Accepts every payout, as the contract says. */
async function acceptAll() {
  const example = document.components.examples.DisbursementCreated.value;
  const { url } = await serve(async (request, response) => {
    const { reference, amount } = (await json(request)) as Record<string, unknown>;
    const data = { ...example.data, reference: randomUUID(), merchantsReference: reference, amount };
    response.setHeader("content-type", "application/json").end(JSON.stringify({ ...example, data }));
  });
  console.log(url);
}

function forwardPlainly(target: string): void {
  const service = { host: "127.0.0.1", port: Number(new URL(target).port), noDelay: true };
  const server = createServer({ noDelay: true }, (caller) => caller.pipe(connect(service)).pipe(caller));
  server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
}

/** Moves a process and its children, with all their threads, to cores. */
function pin(cores: string, pid: number): void {
  if (process.platform !== "linux") return;
  const children = execFileSync("sh", ["-c", `pgrep -P ${pid} || true`], { encoding: "utf8" }).match(/\d+/g) ?? [];
  for (const each of [pid, ...children])
    execFileSync("taskset", ["-a", "-cp", cores, String(each)], { stdio: "ignore" });
}

async function compare(rounds: number, seconds: number): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "watch-"));
  pin("1-1023", process.pid);
  const service = await startTarget("no forward", [import.meta.filename, "service"]);
  const plain = await startTarget("plain forward", [import.meta.filename, "plain", service.url]);
  const options = ["--target", service.url, "--listen", "127.0.0.1:0", "--report", folder];
  const watched = await startTarget("watch", [certify, "watch", ...options]);
  for (const { pid } of [plain, watched]) pin("0", pid);
  const subjects = [service, plain, watched].map((target) => ({ target, p50: [] as number[], p99: [] as number[] }));
  for (let round = 0; round <= rounds; round += 1) {
    for (const { target, p50, p99 } of round % 2 === 0 ? subjects : subjects.toReversed()) {
      const pool = new Pool(target.url, { connections: 64 });
      const times = await atRate(PER_SECOND, seconds, sender(pool, payout()));
      await pool.close();
      if (round === 0) continue; // The warm-up.
      p50.push(quantile(times, 0.5));
      p99.push(quantile(times, 0.99));
    }
  }
  for (const { target } of subjects.toReversed()) await target.stop();
  console.table(
    subjects.map(({ target: { name }, p50, p99 }) => {
      return { [`${PER_SECOND} a second`]: name, "p50 ms": middle(p50).toFixed(2), "p99 ms": middle(p99).toFixed(2) };
    }),
  );
  console.log(`${PER_SECOND * seconds * (rounds + 1)} exchanges passed the watch. ${folder} has its report.`);
}

const [role = "5", given = "10"] = process.argv.slice(2);
if (role === "service") await acceptAll();
else if (role === "plain") forwardPlainly(given);
else await compare(Number(role), Number(given));
