// `npm run chaos -w client/mcp [-- CALLS SEED]`: many sessions call the tools of processes that are killed, over a network
// that loses and replaces messages. Counts at the service what was paid, and compares every final result with it.
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { createClient } from "../index.ts";
import type { Disbursement } from "../index.ts";
import { seeded, startProxy } from "../chaos/proxy.ts";
import { startServer } from "../testing/processes.ts";
import type { Outcome } from "./outcome.ts";

const key = "key-of-the-chaos-test";
const token = "token-of-the-host";
const main = fileURLToPath(new URL("main.ts", import.meta.url));

interface Options {
  calls: number;
  seed?: number;
  sessions?: number;
  processes?: number;
  recipients?: number;
  kills?: number;
}

async function stop(child: ChildProcess) {
  const exit = once(child, "exit");
  child.kill("SIGKILL");
  await exit;
}

/** Runs the tools. The day's limit is a tenth below what the agents want to pay. */
export async function runChaos(options: Options) {
  const { calls, seed = 1, sessions = 50, processes = 5, recipients = 300, kills = 20 } = options;
  const random = seeded(seed);
  const upTo = (n: number) => Math.floor(random() * n);
  const folder = mkdtempSync(join(tmpdir(), "mcp-chaos-"));
  const write = (name: string, content: string) => {
    writeFileSync(join(folder, name), content, { mode: 0o600 });
    return join(folder, name);
  };
  const service = await startServer(key, { SETTLE_DELAY_MS: "200" });
  const proxy = await startProxy(service.baseUrl, { seed, delay: 300 });
  const wanted = Array.from({ length: recipients }, (_, n) => ({
    phoneNumber: `22507${String(n).padStart(5, "0")}473`,
    amount: 100_000 + upTo(400_000),
    country: "CI",
    currency: "XOF",
  }));
  const limit = Math.floor(wanted.reduce((sum, { amount }) => sum + amount, 0) * 0.9);
  const policy = write("policy.json", JSON.stringify({ limits: { XOF: { day: limit } } }));
  const files = { API_KEY_FILE: write("key", key), JOURNAL: join(folder, "journal") };
  const args = [main, "--http", "0", "--token-file", write("token", token), "--policy", policy];

  /** Starts a process of the tools, and returns its URL when it listens. */
  const start = async (baseUrl: string): Promise<{ child: ChildProcess; url: string }> => {
    const env = { ...process.env, ...files, BASE_URL: baseUrl };
    const child = spawn(process.execPath, args, { env, stdio: ["ignore", "ignore", "pipe"] });
    for await (const line of createInterface({ input: child.stderr })) {
      const [url] = /http:\S+/.exec(line) ?? [];
      if (url) return { child, url };
    }
    throw new Error("The tools did not start.");
  };
  const connect = async (url: string) => {
    const client = new Client({ name: "a host", version: "1" });
    const requestInit = { headers: { authorization: `Bearer ${token}` } };
    await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
    return async (name: string, given: object) =>
      (await client.callTool({ name, arguments: { ...given } })).structuredContent as Outcome;
  };

  const running = await Promise.all(Array.from({ length: processes }, () => start(proxy.baseUrl)));
  const results: Record<string, number> = {};
  const plans = new Set<string>();
  let [made, killed, lost] = [0, 0, 0];
  const use = async (place: number) => {
    while (made < calls) {
      try {
        const call = await connect(running[place]!.url);
        while (made < calls) {
          const n = upTo(recipients);
          // Some agents describe the same payment with another wording after a while.
          const purpose = random() < 0.2 ? `the invoice with number ${n}` : `invoice ${n}`;
          made++;
          const { plan } = await call("prepare_payout", { ...wanted[n], purpose });
          plans.add(plan!.id);
          for (let i = 0; i < 2; i++) {
            made++;
            const { result } = await call("pay", { plan: plan!.id });
            results[result] = (results[result] ?? 0) + 1;
          }
        }
      } catch {
        // The process was killed. Its sessions connect again.
        lost++;
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }
  };
  const kill = async () => {
    while (killed < kills && made < calls) {
      const next = (calls / kills) * (killed + 0.5);
      if (made < next) await new Promise((resolve) => setTimeout(resolve, 20));
      else {
        const place = killed++ % processes;
        await stop(running[place]!.child);
        running[place] = await start(proxy.baseUrl);
      }
    }
  };
  try {
    await Promise.all([...Array.from({ length: sessions }, (_, n) => use(n % processes)), kill()]);
    await Promise.all(running.map(({ child }) => stop(child)));
    await proxy.stop();
    // Without faults, the same plans end every doubt. The plans belong to the URL of the proxy.
    const quiet = await startProxy(service.baseUrl, { rate: 0, port: Number(new URL(proxy.baseUrl).port) });
    const last = await start(quiet.baseUrl);
    running.splice(0, processes, last);
    const call = await connect(last.url);
    const final = new Map<string, Outcome>();
    for (const plan of plans) final.set(plan, await call("pay", { plan }));
    const payouts: Disbursement[] = [];
    for await (const payout of createClient({ baseUrl: service.baseUrl, apiKey: key }).disbursements.list())
      payouts.push(payout);
    await stop(last.child);
    await quiet.stop();
    const paid = new Set(payouts.map(({ merchantsReference }) => merchantsReference));
    return {
      calls: made,
      kills: killed,
      lostCalls: lost,
      results,
      payouts: payouts.length,
      /** Recipients with more than one payout. Must be 0. */
      paidTwice: payouts.length - new Set(payouts.map(({ customer }) => customer.phoneNumber)).size,
      sum: payouts.reduce((sum, { amount }) => sum + amount, 0),
      limit,
      unknown: [...final.values()].filter(({ result }) => result === "unknown").length,
      /** Final results that contradict the service. Must be empty. */
      wrong: [...final].filter(([plan, { payout }]) => paid.has(plan) !== (payout !== undefined)).map(([plan]) => plan),
      faults: proxy.counts,
    };
  } finally {
    for (const { child } of running) child.kill("SIGKILL");
    await service.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

if (import.meta.main) {
  const [calls = 10_000, seed = 1] = process.argv.slice(2).map(Number);
  const started = performance.now();
  const report = await runChaos({ calls, seed });
  console.log(JSON.stringify({ ...report, seconds: (performance.now() - started) / 1000 }, null, 2));
  const isSound = report.paidTwice + report.unknown + report.wrong.length === 0 && report.sum <= report.limit;
  process.exitCode = isSound ? 0 : 1;
}
