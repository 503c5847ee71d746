// The command `disbursement-pay`: shows what a CSV file would pay, pays it, and reports.
import { existsSync, readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { createClient } from "../client.ts";
import { AuthenticationError, ClientError, UsageError } from "../errors.ts";
import { fileJournal } from "./journal.ts";
import { format } from "../money.ts";
import { createAll } from "./payroll.ts";
import type { PayoutResult, Progress } from "./payroll.ts";
import { readPayroll, summarise, textOf } from "./payroll-file.ts";
import type { Amounts, Problem, Row } from "./payroll-file.ts";
import { inWords } from "../words.ts";

const usage = `Usage: disbursement-pay FILE.csv --journal FILE [--yes]

Pays the lines of a CSV file, each at most once. Without --yes it only shows what it would pay.
After a stop or a crash, run the same command again: it continues where it stopped.

  --journal FILE       remembers what was paid. Keep it until the payroll is done; use a new file for each payroll
  --yes                pays
  --amounts units      the file has amounts in units of the currency, such as 15000 or 4500.50; default: lowest
  --base-url URL       the service's URL, without /v1; default: the environment variable BASE_URL
  --api-key-file FILE  the file with the API key; default: the environment variable API_KEY
  --help               shows this text

The first row of the CSV file names its columns: reference, amount, phoneNumber, country, currency, and if you like
webhookURL. Amounts are whole numbers of the lowest denomination: 1500000 is 15 000 FCFA; with --amounts units this is
15000. Phone numbers are numbers of the row's country, with its calling code or without.

Exit codes
  0  every payout exists, and none is known to have failed
  1  some payouts were refused or have failed; the report names their lines
  2  something must be fixed first: the arguments, the file, the journal
  3  some outcomes are unknown, or the run was stopped: run the same command again
`;

/** What the command prints on, and how it is stopped. */
export interface Terminal {
  out(line: string): void;
  error(line: string): void;
  /** Calls `stop` when a person or the system asks the command to end. */
  onStop(stop: () => void): void;
}

interface Task {
  path: string;
  journal: string;
  amounts: Amounts;
  pays: boolean;
  baseUrl: string;
  apiKey: string;
}

function readFile(path: string): string {
  try {
    return textOf(readFileSync(path));
  } catch (error) {
    throw new UsageError(`Cannot read ${path}: ${(error as NodeJS.ErrnoException).code}.`);
  }
}

const options = {
  journal: { type: "string" },
  yes: { type: "boolean", default: false },
  amounts: { type: "string", default: "lowest" },
  "base-url": { type: "string" },
  "api-key-file": { type: "string" },
  help: { type: "boolean", short: "h", default: false },
} as const;

function readArguments(args: string[]) {
  try {
    return parseArgs({ args, options, allowPositionals: true });
  } catch (error) {
    // The message names the argument, which could be a key.
    const [, named] = /'(--?[\w-]*)|$/.exec((error as Error).message)!;
    throw new UsageError(`The argument ${named} is not valid. The API key is never an argument. See --help.`);
  }
}

/** Reads the arguments and the environment. Returns undefined if the help was asked for. */
function readTask(args: string[], env: NodeJS.ProcessEnv): Task | undefined {
  const { values, positionals } = readArguments(args);
  if (values.help) return undefined;
  const [path, ...others] = positionals;
  if (!path || others.length > 0) throw new UsageError("Name one CSV file. See --help.");
  if (!values.journal)
    throw new UsageError("Name the journal: --journal FILE. It keeps the payroll from being paid twice.");
  const { amounts } = values;
  if (amounts !== "units" && amounts !== "lowest")
    throw new UsageError("--amounts is units, such as 15000 for 15 000 FCFA, or lowest, such as 1500000.");
  const keyFile = values["api-key-file"];
  const baseUrl = values["base-url"] ?? env["BASE_URL"];
  const apiKey = keyFile ? readFile(keyFile).trim() : env["API_KEY"];
  if (!baseUrl) throw new UsageError("Name the service's URL: --base-url URL, or the environment variable BASE_URL.");
  if (!apiKey) throw new UsageError("Give the API key in the environment variable API_KEY, or in --api-key-file FILE.");
  return { path, journal: values.journal, amounts, pays: values.yes, baseUrl, apiKey };
}

/** The sums of payments by currency. */
class Sums {
  private readonly amounts: Partial<Record<string, number[]>> = {};

  add(amount: number, currency: string) {
    (this.amounts[currency] ??= []).push(amount);
  }

  /** A line for each currency. @throws UsageError if a sum is too large for a number */
  lines(): string[] {
    return Object.entries(this.amounts).map(([currency, amounts = []]) => {
      const sum = amounts.reduce((all, amount) => all + amount);
      return `${amounts.length} × ${currency}: ${format(sum, currency)} (${inWords(sum)})`;
    });
  }
}

function preview({ path, journal, amounts, baseUrl }: Task, rows: Row[], { out }: Terminal) {
  const sums = new Sums();
  for (const { request } of rows) sums.add(request.amount, request.currency);
  const read = amounts === "units" ? "units of the currency" : "the lowest denomination";
  out(`${path}: ${rows.length} payments, amounts in ${read}, to be sent to ${baseUrl}`);
  for (const line of sums.lines()) out(`  ${line}`);
  const has = existsSync(journal) ? "exists: what it has is not sent again" : "is new";
  out(`The journal ${journal} ${has}.`);
}

// A failure that says nothing about the payment: a later run may pay it.
const temporary = new Set(["AbortedError", "ConnectionError", "RateLimitError", "ServerError", "TimeoutError"]);
/** The run stops after this many temporary failures in a row, because the service cannot be reached. */
const mostInARow = 20;

/** What became of the payments of a run. Each is counted once. */
class Report {
  /** `created` by this run. `paid before`: it existed already, or the response to its creation was lost. */
  readonly counts = { created: 0, "paid before": 0, failed: 0, refused: 0, unknown: 0 };
  private readonly sums = { created: new Sums(), "paid before": new Sums(), failed: new Sums(), fees: new Sums() };
  /** True if another run may pay more entries. */
  isOpen = false;
  private inARow = 0;

  /** Returns what is wrong with a payment, if anything. */
  add({ outcome, fromJournal, data, error }: PayoutResult, { currency }: Row["request"]): string | undefined {
    if (!data) {
      const isUnknown = outcome === "unknown";
      this.counts[isUnknown ? "unknown" : "refused"]++;
      const isTemporary = isUnknown || temporary.has(error.name);
      this.inARow = isTemporary ? this.inARow + 1 : 0;
      this.isOpen ||= isTemporary;
      // If the outcome is unknown, use the cause: its message has no reference, so `summarise` can group equal ones.
      const { message } = isUnknown && error.cause instanceof ClientError ? error.cause : error;
      return `${isUnknown ? "perhaps paid" : "not paid"}: ${message}`;
    }
    this.inARow = 0;
    const isNew = outcome === "created" && !fromJournal;
    const fate = data.status === "failed" ? "failed" : isNew ? "created" : "paid before";
    this.counts[fate]++;
    this.sums[fate].add(data.amount, currency);
    if (fate === "failed") {
      const { failure } = data as { failure?: { message: string } };
      return `the payout ${data.reference} failed${failure ? `: ${failure.message}` : ""}`;
    }
    this.sums.fees.add(data.fee, currency);
    return undefined;
  }

  get isHopeless() {
    return this.inARow >= mostInARow;
  }

  print({ done, created, existed }: Progress, total: number, { out }: Terminal) {
    const counts = Object.entries({ ...this.counts, "not tried": total - done });
    out(counts.map(([name, count]) => `${count} ${name}`).join(", "));
    for (const [name, sum] of Object.entries(this.sums)) for (const line of sum.lines()) out(`  ${name}: ${line}`);
    if (this.counts.failed > 0) out("Some payouts failed. To pay them again, give them new references.");
    if (existed > 0 && created === 0) {
      out("No payout is new. If these are the references of last month, nobody was paid this month.");
    }
  }
}

/** Pays the rows and reports. Returns the exit code. */
async function pay({ baseUrl, apiKey, journal }: Task, rows: Row[], terminal: Terminal): Promise<number> {
  const { out, error, onStop } = terminal;
  const client = createClient({ baseUrl, apiKey });
  let isStopped = false;
  const stop = (reason: string) => {
    if (!isStopped) error(`Stopped: ${reason}. The payments in progress are finished first.`);
    isStopped = true;
  };
  onStop(() => stop("a signal was received"));
  function* requests() {
    for (const { request } of rows) {
      if (isStopped) return;
      yield request;
    }
  }
  const payroll = createAll(client, requests(), {
    journal: fileJournal(journal),
    onProgress: ({ done }) => done % 100 === 0 && out(`${done} of ${rows.length} done`),
  });
  const report = new Report();
  const problems: Problem[] = [];
  let failure: unknown;
  try {
    for await (const result of payroll) {
      const { line, request } = rows[result.index]!;
      const text = report.add(result, request);
      if (text) problems.push({ line, reference: request.reference, text });
      const { cause = result.error } = result.error ?? {};
      if (cause instanceof AuthenticationError) stop("the API key is refused");
      if (report.isHopeless) stop(`${mostInARow} payments in a row got no usable response`);
    }
  } catch (thrown) {
    failure = thrown;
  }
  summarise(problems).forEach((line) => error(line));
  const progress = await payroll.run();
  report.print(progress, rows.length, terminal);
  if (failure) throw failure;
  if (report.isOpen || progress.done < rows.length) {
    out("Run the same command again, with the same file and journal. Nothing is paid twice.");
    return 3;
  }
  return report.counts.refused + report.counts.failed > 0 ? 1 : 0;
}

/** Runs the command. Returns its exit code. */
export async function run(args: string[], env: NodeJS.ProcessEnv, terminal: Terminal): Promise<number> {
  const { out, error } = terminal;
  try {
    const task = readTask(args, env);
    if (!task) {
      out(usage);
      return 0;
    }
    const { rows, problems } = readPayroll(readFile(task.path), task.amounts);
    if (problems.length > 0) {
      for (const problem of summarise(problems)) error(`${task.path}, ${problem}.`);
      error("Nothing was paid.");
      return 2;
    }
    // Finds an invalid URL or key before anybody relies on the preview.
    const { baseUrl, apiKey } = task;
    createClient({ baseUrl, apiKey });
    preview(task, rows, terminal);
    if (task.pays) return await pay(task, rows, terminal);
    out("Nothing was paid. To pay, run the same command with --yes.");
    return 0;
  } catch (failure) {
    // An error with a code is one of the system, for example of a journal in a folder that does not exist.
    if (!(failure instanceof ClientError) && !(failure as NodeJS.ErrnoException).code) throw failure;
    error((failure as Error).message);
    return 2;
  }
}
