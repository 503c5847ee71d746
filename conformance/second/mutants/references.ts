// Mutants that lose or confuse references.
import { editing, type Mutant } from "../mutant.ts";

const app = editing("app.ts");
const merchant = editing("merchant.ts");

const unique = "state.disbursements.duplicateOf(request.reference)";

/** Replaces the search for a duplicate. In `condition`, `one` is the record with the same reference. */
const uniqueIf = (id: string, defect: string, condition: string) =>
  app(id, defect, unique, `[${unique}].find((one) => one && (${condition}))`);

export const references: readonly Mutant[] = [
  uniqueIf("unique-with-amount", "A duplicate with another amount is paid.", "one.amount === request.amount"),
  uniqueIf(
    "unique-with-phone",
    "A duplicate to another recipient is paid.",
    "one.customer.phoneNumber === request.phoneNumber",
  ),
  uniqueIf("unique-with-currency", "A duplicate in another currency is paid.", "one.currency === request.currency"),
  uniqueIf("unique-unless-failed", "The reference of a failed payout can be used again.", 'one.status !== "failed"'),
  uniqueIf("unique-while-pending", "The reference of a settled payout can be used again.", 'one.status === "pending"'),
  uniqueIf(
    "unique-for-a-second",
    "A reference can be used again after a second.",
    "Date.parse(one.createdAt) > state.agenda.now() - 1000",
  ),
  uniqueIf(
    "unique-among-recent",
    "A reference can be used again after 20 other payouts.",
    "state.disbursements.records.slice(-20).includes(one)",
  ),
  app(
    "unique-not-concurrently",
    "Concurrent duplicates are all paid.",
    "const record = merchant.addDisbursement(request);",
    "await sleep(5); const record = merchant.addDisbursement(request);",
  ),
  app(
    "duplicate-returns-record",
    "A duplicate returns 200 and the existing record.",
    `refuseDuplicate("/v1/disbursements", ${unique});`,
    `const existing = ${unique}; if (existing) return existing;`,
  ),
  merchant(
    "reference-trimmed",
    "Spaces around a reference are removed.",
    "merchantsReference: request.reference,",
    "merchantsReference: request.reference.trim(),",
  ),
  merchant(
    "reference-normalised",
    "References are normalised.",
    "merchantsReference: request.reference,",
    'merchantsReference: request.reference.normalize("NFC"),',
  ),
  merchant("reference-short", "Service references are so short that payouts share them.", "length: 21", "length: 1"),
];
