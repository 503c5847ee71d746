// `npm run payroll -w client [-- PAYOUTS KILLS RATE SEED]` pays a payroll against a reference server with a rate limit, kills
// the paying process at random moments, and counts at the server what was paid.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { createClient } from "../index.ts";
import { startServer } from "../testing/processes.ts";
import { entries } from "./payroll-process.ts";
import type { Task } from "./payroll-process.ts";
import { seeded } from "./proxy.ts";

export interface PayrollReport {
  payouts: number;
  /** How many times the process was killed. */
  kills: number;
  /** The number of payouts at the server. */
  recorded: number;
  /** The entries that do not have exactly one payout with their amount and recipient. The list must be empty. */
  wrong: string[];
  /** What the processes printed: requests, responses by status, results. */
  printed: Record<string, number>;
  requestsPerPayout: number;
  seconds: number;
  /** The part of `seconds` in which no process had sent its first request yet. */
  startSeconds: number;
  /** The shortest time that the rate limit allows. */
  shortestSeconds: number;
}

type Counts = Pick<PayrollReport, "kills" | "printed" | "startSeconds">;

/** Compiles the payroll's program, because Node takes three times as long to start the TypeScript. */
async function compile(outfile: string) {
  const entry = fileURLToPath(new URL("payroll-process.ts", import.meta.url));
  await build({ entryPoints: [entry], outfile, bundle: true, platform: "node", format: "esm" });
}

/** Runs the payroll once. Kills it `delay` ms after it has paid `killAfter` further payouts. */
async function runOnce(program: string, task: Task, counts: Counts, killAfter: number, delay: number) {
  const started = performance.now();
  const child = spawn(process.execPath, [program, JSON.stringify(task)], { stdio: ["ignore", "pipe", "inherit"] });
  const exit = once(child, "exit");
  const lines = createInterface({ input: child.stdout });
  const kill = () => setTimeout(() => child.kill("SIGKILL"), delay);
  if (killAfter === 0) kill();
  let read = 0;
  let paid = 0;
  lines.on("line", (line) => {
    if (read++ === 0) counts.startSeconds += (performance.now() - started) / 1000;
    counts.printed[line] = (counts.printed[line] ?? 0) + 1;
    if (line === "paid" && ++paid === killAfter) kill();
  });
  await Promise.all([exit, once(lines, "close")]);
  if (child.signalCode === "SIGKILL") counts.kills++;
  else if (child.exitCode !== 0) throw new Error(`The payroll ended with ${child.exitCode}.`);
}

/**
 * Draws, for each process, the number of reported payouts after which it is killed. A killed process may have paid
 * `concurrency` payouts without reporting them, so fewer reports arrive than there are payouts.
 */
function drawKills(kills: number, { payouts, concurrency }: Task, random: () => number): number[] {
  const last = payouts - kills * concurrency;
  const moments = Array.from({ length: kills }, () => Math.floor(random() * last)).toSorted((a, b) => a - b);
  return moments.map((moment, i) => moment - (moments[i - 1] ?? 0));
}

const summaryOf = (reference: string, amount: number, phoneNumber: string) => `${reference} ${amount} ${phoneNumber}`;

/** Compares the server's records with the payroll. */
async function check(baseUrl: string, apiKey: string, payouts: number) {
  const records = new Map<string, string[]>();
  let recorded = 0;
  for await (const record of createClient({ baseUrl, apiKey }).disbursements.list({ pageSize: 100 })) {
    const { merchantsReference, amount, customer } = record;
    const found = records.get(merchantsReference) ?? [];
    records.set(merchantsReference, [...found, summaryOf(merchantsReference, amount, customer.phoneNumber)]);
    recorded++;
  }
  const wrong = [...entries(payouts)].filter(({ reference, amount, phoneNumber }) => {
    const found = records.get(reference);
    return found?.length !== 1 || found[0] !== summaryOf(reference, amount, phoneNumber);
  });
  return { recorded, wrong: wrong.map(({ reference }) => reference) };
}

/**
 * Kills the payroll `kills` times, then runs it until it ends by itself.
 *
 * @param rate The server's limit, in requests per second.
 */
export async function runPayroll({ payouts = 10_000, kills = 20, rate = 200, seed = 1, concurrency = 16 } = {}) {
  const apiKey = "payroll_key_0123456789abcdef";
  const folder = mkdtempSync(join(tmpdir(), "client-payroll-"));
  const server = await startServer(apiKey, { RATE_LIMIT: `${rate}` });
  try {
    const journal = join(folder, "payroll.journal");
    const program = join(folder, "payroll.mjs");
    await compile(program);
    const task: Task = { baseUrl: server.baseUrl, apiKey, journal, payouts, concurrency };
    const random = seeded(seed);
    const counts: Counts = { kills: 0, printed: {}, startSeconds: 0 };
    const started = performance.now();
    for (const killAfter of drawKills(kills, task, random))
      await runOnce(program, task, counts, killAfter, random() * 10);
    await runOnce(program, task, counts, Infinity, 0);
    const seconds = (performance.now() - started) / 1000;
    if (readFileSync(journal, "utf8").includes(apiKey)) throw new Error("The journal contains the API key.");
    const report: PayrollReport = {
      payouts,
      ...(await check(server.baseUrl, apiKey, payouts)),
      ...counts,
      requestsPerPayout: counts.printed["request"]! / payouts,
      seconds,
      shortestSeconds: payouts / rate,
    };
    return report;
  } finally {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

if (import.meta.main) {
  const [payouts, kills, rate, seed] = process.argv.slice(2).map(Number);
  const report = await runPayroll({ payouts, kills, rate, seed });
  console.log(JSON.stringify(report, null, 2));
  const { recorded, wrong, requestsPerPayout } = report;
  process.exitCode = recorded === report.payouts && wrong.length === 0 && requestsPerPayout <= 1.05 ? 0 : 1;
}
