// The client pays a payroll at a service with a rate limit. The paying process is killed at random moments, and started
// again with the same journal. This file is that process too: it prints a line for each request and each result.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { createClient, type DisbursementRequest } from "../../client/index.ts";
import { fileJournal } from "../../client/payroll/journal.ts";
import { createAll } from "../../client/payroll/payroll.ts";
import { seededRandom, type SeededRandom } from "../../server/testing/random.ts";
import { inWorld, type RunOptions, type World } from "./world.ts";

const CONCURRENCY = 16;

/** The input of the paying process: JSON in its first argument. */
interface Task {
  baseUrl: string;
  apiKey: string;
  journal: string;
  payouts: number;
}

/** The payroll: always the same entries. */
function* entries(count: number): Generator<DisbursementRequest> {
  for (let index = 0; index < count; index++) {
    yield {
      reference: `payroll-${index}`,
      amount: 1000 + ((index * 7919) % 1_000_000),
      phoneNumber: `22570${String((index * 31) % 100_000).padStart(5, "0")}473`,
      country: "CI",
      currency: "XOF",
    };
  }
}

async function pay({ baseUrl, apiKey, journal, payouts }: Task) {
  const hooks = { onRequest: () => console.log("request") };
  const client = createClient({ baseUrl, apiKey, hooks });
  const options = { concurrency: CONCURRENCY, journal: fileJournal(journal) };
  for await (const result of createAll(client, entries(payouts), options)) {
    if (result.error) console.log(`failed ${result.error.name}`);
    else if (!result.fromJournal) console.log("paid");
  }
}

interface PayrollOptions extends RunOptions {
  payouts: number;
  kills: number;
  /** The service's limit, in requests per second. */
  rate: number;
}

/** Runs the payroll once, and kills it `delay` ms after it has paid `killAfter` further payouts. Counts what it prints. */
async function runOnce(task: Task, printed: Record<string, number>, killAfter: number, delay: number): Promise<void> {
  const args = [import.meta.filename, JSON.stringify(task)];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  const exit = once(child, "exit");
  const lines = createInterface({ input: child.stdout });
  const kill = () => setTimeout(() => child.kill("SIGKILL"), delay);
  if (killAfter === 0) kill();
  let paid = 0;
  lines.on("line", (line) => {
    printed[line] = (printed[line] ?? 0) + 1;
    if (line === "paid" && ++paid === killAfter) kill();
  });
  await Promise.all([exit, once(lines, "close")]);
  const wasKilled = child.signalCode === "SIGKILL";
  if (wasKilled !== Number.isFinite(killAfter)) throw new Error(`The payroll ended with ${child.exitCode}.`);
}

/**
 * Draws, for each process, the number of reported payouts after which it is killed. A killed process may have paid
 * `CONCURRENCY` payouts without reporting them, so fewer reports arrive than there are payouts.
 */
function drawKills({ payouts, kills }: PayrollOptions, random: SeededRandom): number[] {
  const last = payouts - kills * CONCURRENCY;
  const moments = Array.from({ length: kills }, () => random.below(last)).toSorted((a, b) => a - b);
  return moments.map((moment, index) => moment - (moments[index - 1] ?? 0));
}

/** Kills the payroll several times, then lets it end. Every entry must be paid exactly once. */
export function runPayroll(options: PayrollOptions): Promise<string[]> {
  const env = { RATE_LIMIT: String(options.rate) };
  return inWorld({ ...options, database: "sqlite", env }, (world) => payAgain(world, options));
}

async function payAgain({ server, key: apiKey, folder, violate }: World, options: PayrollOptions) {
  const { payouts, kills, seed, print } = options;
  const random = seededRandom(seed);
  const task: Task = { baseUrl: server.url, apiKey, journal: join(folder, "payroll.journal"), payouts };
  const printed: Record<string, number> = {};
  const begun = performance.now();
  for (const killAfter of drawKills(options, random)) await runOnce(task, printed, killAfter, random.below(10));
  await runOnce(task, printed, Infinity, 0);
  const seconds = (performance.now() - begun) / 1_000;

  const unpaid = new Map([...entries(payouts)].map((entry) => [entry.reference, entry]));
  for await (const record of createClient({ baseUrl: server.url, apiKey }).disbursements.list({ pageSize: 100 })) {
    const { merchantsReference, amount, customer } = record;
    const entry = unpaid.get(merchantsReference);
    unpaid.delete(merchantsReference);
    if (entry?.amount !== amount || entry.phoneNumber !== customer.phoneNumber)
      violate(`${merchantsReference} was paid twice, or differs from its entry`);
  }
  for (const reference of unpaid.keys()) violate(`${reference} was not paid`);
  if (readFileSync(task.journal, "utf8").includes(apiKey)) violate("the journal contains the API key");
  for (const line of Object.keys(printed)) if (line.startsWith("failed")) violate(line);
  // A killed process leaves at most the payouts in progress in doubt. Each of them needs two more requests.
  const requests = printed["request"]! / payouts;
  if (requests > 1 + (2 * kills * CONCURRENCY) / payouts) violate(`${requests} requests for each payout`);
  print(`${payouts} payouts, ${kills} kills, ${requests.toFixed(3)} requests for each payout, ${seconds.toFixed(0)} s`);
}

if (import.meta.main) await pay(JSON.parse(process.argv[2]!) as Task);
