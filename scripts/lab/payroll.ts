// The client pays a payroll at a service with a rate limit. The paying process is killed at random moments, and started
// again with the same journal.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { createClient } from "../../client/index.ts";
import { seededRandom, type SeededRandom } from "../../server/testing/random.ts";
import { entries, type Task } from "./payroll-process.ts";
import { startService, violationsOf, type RunOptions } from "./world.ts";

const program = fileURLToPath(new URL("payroll-process.ts", import.meta.url));
const CONCURRENCY = 16;

interface PayrollOptions extends Pick<RunOptions, "seed" | "print"> {
  payouts: number;
  kills: number;
  /** The service's limit, in requests per second. */
  rate: number;
}

/** Runs the payroll once, and kills it `delay` ms after it has paid `killAfter` further payouts. Counts what it prints. */
async function runOnce(task: Task, printed: Record<string, number>, killAfter: number, delay: number): Promise<void> {
  const child = spawn(process.execPath, [program, JSON.stringify(task)], { stdio: ["ignore", "pipe", "inherit"] });
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

const summaryOf = (amount: number, phoneNumber: string) => `${amount} ${phoneNumber}`;

/** Kills the payroll several times, then lets it end. Every entry must be paid exactly once. */
export async function runPayroll(options: PayrollOptions): Promise<string[]> {
  const { payouts, kills, rate, seed, print } = options;
  const { violations, violate } = violationsOf(print);
  const random = seededRandom(seed);
  const folder = mkdtempSync(join(tmpdir(), "payroll-"));
  const service = await startService({ RATE_LIMIT: String(rate) });
  try {
    const baseUrl = service.url;
    const journal = join(folder, "payroll.journal");
    const task: Task = { baseUrl, apiKey: service.key, journal, payouts, concurrency: CONCURRENCY };
    const printed: Record<string, number> = {};
    const begun = performance.now();
    for (const killAfter of drawKills(options, random)) await runOnce(task, printed, killAfter, random.below(10));
    await runOnce(task, printed, Infinity, 0);
    const seconds = (performance.now() - begun) / 1_000;

    const unpaid = new Map([...entries(payouts)].map((entry) => [entry.reference, entry]));
    for await (const record of createClient({ baseUrl, apiKey: service.key }).disbursements.list({ pageSize: 100 })) {
      const { merchantsReference, amount, customer } = record;
      const entry = unpaid.get(merchantsReference);
      unpaid.delete(merchantsReference);
      if (!entry || summaryOf(amount, customer.phoneNumber) !== summaryOf(entry.amount, entry.phoneNumber))
        violate(`${merchantsReference} was paid twice, or differs from its entry`);
    }
    for (const reference of unpaid.keys()) violate(`${reference} was not paid`);
    if (readFileSync(journal, "utf8").includes(service.key)) violate("the journal contains the API key");
    for (const line of Object.keys(printed)) if (line.startsWith("failed")) violate(line);
    // A killed process leaves at most the payouts in progress in doubt. Each of them needs two more requests.
    const requests = printed["request"]! / payouts;
    if (requests > 1 + (2 * kills * CONCURRENCY) / payouts) violate(`${requests} requests for each payout`);
    print(
      `${payouts} payouts, ${kills} kills, ${requests.toFixed(3)} requests for each payout, ${seconds.toFixed(0)} s`,
    );
  } finally {
    await service.close();
    rmSync(folder, { recursive: true });
  }
  return violations;
}
