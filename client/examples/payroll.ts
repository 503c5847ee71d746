// Pays a CSV file: node payroll.ts payroll.csv. After a crash run the same command again. Nothing is paid twice.
import { open } from "node:fs/promises";
import { createClient, type DisbursementRequest } from "@disbursement-checkout/client";
import { fileJournal } from "@disbursement-checkout/client/journal";
import { createAll } from "@disbursement-checkout/client/payroll";

const { BASE_URL = "", API_KEY = "" } = process.env;
const path = process.argv[2] ?? "payroll.csv";

/** Reads a payout per line. The amount is in the lowest denomination: 10000 is 100.00. */
async function* readPayouts(): AsyncGenerator<DisbursementRequest> {
  const file = await open(path);
  let header: string[] | undefined;
  for await (const line of file.readLines()) {
    const fields = line.split(",");
    if (!header) {
      header = fields;
      continue;
    }
    const row = Object.fromEntries(header.map((name, i) => [name, fields[i] ?? ""]));
    const { reference = "", phoneNumber = "", country = "", currency = "" } = row;
    yield { reference, amount: Number(row["amount"]), phoneNumber, country, currency };
  }
}

const client = createClient({ baseUrl: BASE_URL, apiKey: API_KEY });
const total = { paid: 0, amount: 0, fees: 0, problems: 0 };
const payouts = createAll(client, readPayouts(), {
  journal: fileJournal(`${path}.journal`),
  onProgress({ done }) {
    if (done % 100 === 0) console.log(`${done} done`);
  },
});

for await (const { index, reference, ...result } of payouts) {
  if (result.data && result.status !== "failed") {
    total.paid++;
    total.amount += result.data.amount;
    total.fees += result.data.fee;
    continue;
  }
  total.problems++;
  const problem = result.data ? `${result.data.reference} failed` : result.error.message;
  console.log(`line ${index + 2}, ${reference}: ${problem}`);
  // A wrong key refuses every payout, so stop at the first.
  if (result.error?.name === "AuthenticationError") break;
}

console.log(`${total.paid} payouts accepted, amount ${total.amount}, fees ${total.fees}, ${total.problems} problems`);
if (total.problems > 0) process.exitCode = 1;
