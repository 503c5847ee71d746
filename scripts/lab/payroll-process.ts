// The process that `payroll.ts` starts and kills. Prints a line for each request and each result.
import { createClient } from "../../client/index.ts";
import type { DisbursementRequest } from "../../client/index.ts";
import { fileJournal } from "../../client/payroll/journal.ts";
import { createAll } from "../../client/payroll/payroll.ts";

/** The input of the process: JSON in its first argument. */
export interface Task {
  baseUrl: string;
  apiKey: string;
  journal: string;
  payouts: number;
  concurrency: number;
}

/** The payroll: always the same entries. */
export function* entries(count: number): Generator<DisbursementRequest> {
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

const print = (line: string | number | undefined) => process.stdout.write(`${line}\n`);

async function run({ baseUrl, apiKey, journal, payouts, concurrency }: Task) {
  const hooks = {
    onRequest: () => void print("request"),
    onResponse: ({ status }: { status: number | undefined }) => void print(status ?? "no response"),
  };
  const client = createClient({ baseUrl, apiKey, hooks });
  const options = { concurrency, journal: fileJournal(journal) };
  for await (const result of createAll(client, entries(payouts), options)) {
    if (result.error) print(`failed ${result.error.name}`);
    else if (!result.fromJournal) print("paid");
  }
}

if (import.meta.main) await run(JSON.parse(process.argv[2]!) as Task);
