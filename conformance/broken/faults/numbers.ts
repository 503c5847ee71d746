// Servers that do not keep every digit of an amount (§2.2, §2.3, §6).
import { type Fault, caughtOnlyBy, fault, type Hooks } from "../fault.ts";
import { isPayout, signed } from "../messages.ts";
import { createDisbursement, data, fieldsOf, instead, refusal, verifyDisbursement, type Fields } from "../ways.ts";

const changed = (record: Fields, change: (amount: number) => unknown): Fields => ({
  ...record,
  amount: change(Number(record["amount"])),
});
const records = (change: (amount: number) => unknown): Hooks =>
  data(verifyDisbursement, (record) => changed(record, change));
const results = (change: (amount: number) => unknown): Hooks =>
  data([createDisbursement, verifyDisbursement], (record) => changed(record, change));
const notifications = (change: (amount: number) => unknown): Hooks => ({
  webhook: (message, deliver) => {
    if (!isPayout(message)) return deliver(message);
    const body = fieldsOf(message.body) ?? {};
    return deliver(
      signed({ ...message, body: JSON.stringify({ ...body, data: changed(body["data"] as Fields, change) }) }),
    );
  },
});

const unsigned32 = (amount: number) => amount % 2 ** 32;
const digits15 = (amount: number) => Number(amount.toPrecision(15));

/** The check of this requirement pays amounts of up to 16 digits, each with a webhookURL. */
const through = "numbers.exact";

export const faults: readonly Fault[] = [
  fault("record-32-bits", "Verify shows amounts as signed 32-bit integers.", "numbers.exact", () =>
    records((amount) => Math.trunc(amount) | 0),
  ),
  fault("record-unsigned-32-bits", "Verify shows amounts as unsigned 32-bit integers.", "numbers.exact", () =>
    records(unsigned32),
  ),
  caughtOnlyBy(
    "numbers.exact life.facts-kept",
    fault("record-capped-at-32-bits", "Verify caps the amount at 2^31 - 1.", "numbers.exact", () =>
      records((amount) => Math.min(amount, 2 ** 31 - 1)),
    ),
  ),
  caughtOnlyBy(
    "numbers.exact life.facts-kept",
    fault("record-15-digits", "Verify shows 15 significant digits of an amount.", "numbers.exact", () =>
      records(digits15),
    ),
  ),
  fault("record-single-precision", "Verify shows amounts in single precision.", "numbers.exact", () =>
    records(Math.fround),
  ),
  fault("results-capped-at-32-bits", "Create and verify cap the amount at 2^31 - 1.", "numbers.exact", () =>
    results((amount) => Math.min(amount, 2 ** 31 - 1)),
  ),
  fault("record-as-text", "Verify shows amounts of 16 digits as strings.", "numbers.exact", () =>
    records((amount) => (amount >= 1e15 ? String(amount) : amount)),
  ),
  fault("large-amounts-500", "An amount above 2^31 - 1 returns 500.", "numbers.exact", () =>
    instead(
      createDisbursement,
      ({ amount }) => Number(amount) >= 2 ** 31 && Number(amount) < 2 ** 53,
      () => refusal(500),
    ),
  ),
  fault("amounts-limited", "Amounts above 2^40 are refused.", "numbers.largest-amount", () =>
    instead(
      createDisbursement,
      ({ amount }) => Number(amount) > 2 ** 40,
      () => refusal(422),
    ),
  ),
  caughtOnlyBy(
    "webhook.amount life.webhooks-true",
    fault(
      "notified-32-bits",
      "Webhooks state the amount as a signed 32-bit integer.",
      "webhook.amount",
      () => notifications((amount) => Math.trunc(amount) | 0),
      through,
    ),
  ),
  fault(
    "notified-15-digits",
    "Webhooks state 15 significant digits of the amount.",
    "webhook.amount",
    () => notifications(digits15),
    through,
  ),
  fault(
    "notified-in-major-units",
    "Webhooks state the amount divided by 100.",
    "webhook.amount",
    () => notifications((amount) => amount / 100),
    through,
  ),
];
