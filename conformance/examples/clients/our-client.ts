// The client of this repository, with its journal.
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { createClient, type DisbursementRequest } from "../../../client/index.ts";
import { fileJournal } from "../../../client/payroll/journal.ts";
import { createAll, type PayoutResult } from "../../../client/payroll/payroll.ts";

const { BASE_URL = "", API_KEY = "", TIMEOUT_MS, STATE_DIR } = process.env;
const timeout = Number(TIMEOUT_MS ?? 15_000);

function outcomeOf({ outcome, status }: PayoutResult): string {
  if (!status) return outcome;
  // Later versions of the service may add statuses, which are not final.
  return status === "success" ? "paid" : status === "failed" ? "failed" : "pending";
}

const client = createClient({
  baseUrl: BASE_URL,
  apiKey: API_KEY,
  timeout,
  retry: { totalTime: 6 * timeout, minDelay: timeout / 20, maxDelay: timeout / 2 },
});
// Wait for the service before paying: until it has responded once, the client treats an unexpected page as a sign of a
// wrong address and does not retry.
const isReached = async () => (await client.disbursements.verify("none").result()).outcome === "missing";
const patience = performance.now() + 2 * timeout;
while (!(await isReached()) && performance.now() < patience) await sleep(timeout / 20);

const lines = (await text(process.stdin)).split("\n").filter((line) => line !== "");
const entries = lines.map((line) => JSON.parse(line) as DisbursementRequest);
// Without a journal, an earlier run may have sent any entry.
const journal = STATE_DIR ? fileJournal(`${STATE_DIR}/payroll.journal`) : undefined;
for await (const result of createAll(client, entries, { journal })) {
  // The result of the first entry with the reference says what became of the payment.
  if (result.outcome === "repeated") continue;
  console.log(JSON.stringify({ reference: result.reference, outcome: outcomeOf(result) }));
}
