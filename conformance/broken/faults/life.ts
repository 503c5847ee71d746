// Servers whose records change, vanish or never end, long after the create (§2.3, §4.2, D3, D6).
import { type Fault, caughtOnlyBy, fault, type Hooks, type How, type World } from "../fault.ts";
import { isPayout, noContent } from "../messages.ts";
import {
  createDisbursement,
  data,
  dataOf,
  fieldsOf,
  isAccepted,
  isOf,
  refusal,
  responses,
  verifyCheckout,
  verifyDisbursement,
  without,
  type Fields,
} from "../ways.ts";

/** The checks of this requirement create payouts that are kept until the closing checks. */
export const kept = "life.records-kept";

const isFinal = ({ status }: Fields) => status !== "pending";

/** Returns a function that returns true for a record that was first seen at least `oldAge` ago. */
export function ageing({ oldAge }: World) {
  const born = new Map<unknown, number>();
  return (reference: unknown) => {
    const since = born.get(reference) ?? Date.now();
    born.set(reference, since);
    return Date.now() - since > oldAge;
  };
}

/** Changes old records. */
const whenOld =
  (change: (record: Fields) => unknown, operations: readonly string[] = [verifyDisbursement]): How =>
  (world) => {
    const isOld = ageing(world);
    return data(operations, (record) => (isOld(record["reference"]) ? change(record) : record));
  };

/** Changes a record once this number of further payouts has been made. */
const afterOthers = (others: number, change: (record: Fields) => unknown): Hooks => {
  const made: unknown[] = [];
  return data([createDisbursement, verifyDisbursement], (record) => {
    const { reference } = record;
    if (!made.includes(reference)) made.push(reference);
    return record["id"] !== undefined && made.length - made.indexOf(reference) > others ? change(record) : record;
  });
};

const customer = (over: Fields) => (record: Fields) => ({
  ...record,
  customer: { ...(record["customer"] as Fields), ...over },
});

const facts: [field: string, change: (record: Fields) => unknown, isClass?: true][] = [
  ["fee", (record) => ({ ...record, fee: Number(record["fee"]) + 1 }), true],
  ["amount", (record) => ({ ...record, amount: Number(record["amount"]) - 1 })],
  ["currency", (record) => ({ ...record, currency: "USD" })],
  ["country", (record) => ({ ...record, country: "FR" })],
  ["phone", customer({ phoneNumber: "2250000000000" }), true],
  ["customer", customer({ id: "another" })],
  ["id", (record) => ({ ...record, id: "01890000-0000-7000-8000-000000000000" }), true],
  ["owner", (record) => ({ ...record, userId: "01890000-0000-7000-8000-000000000000" })],
  ["reference", (record) => ({ ...record, merchantsReference: "another" })],
  ["created-at", (record) => ({ ...record, createdAt: "2026-01-01T00:00:00.000Z" }), true],
  ["address", (record) => without(record, "webhookURL"), true],
];

const vanish = (fits: (record: Fields, isOld: boolean) => boolean): How => {
  return (world) => {
    const isOld = ageing(world);
    return responses(verifyDisbursement, (reply) => {
      const record = dataOf(reply);
      return isAccepted(reply) && fits(record, isOld(record["reference"])) ? refusal(404) : reply;
    });
  };
};

const changing = [
  ...facts.map(([field, change, isClass]) => {
    const changes = fault(
      `life-${field}-changes`,
      `The ${field} of a payout changes two seconds later.`,
      "life.facts-kept",
      whenOld(change),
      kept,
    );
    return isClass ? caughtOnlyBy("life.facts-kept life.payouts-apart", changes) : changes;
  }),
  fault(
    "life-fee-settled",
    "The fee of a payout is rounded when it settles.",
    "life.facts-kept",
    () => data(verifyDisbursement, (record) => (isFinal(record) ? { ...record, fee: 0 } : record)),
    kept,
  ),
  fault(
    "life-created-when-settled",
    "The createdAt of a payout becomes the time of its settlement.",
    "life.facts-kept",
    () =>
      data(verifyDisbursement, (record) => (isFinal(record) ? { ...record, createdAt: record["updatedAt"] } : record)),
    kept,
  ),
  fault(
    "life-amount-after-others",
    "The amount of a payout changes after six further payouts.",
    "life.facts-kept",
    () => afterOthers(6, (record) => ({ ...record, amount: 1 })),
    kept,
  ),
  fault(
    "life-currency-after-clock",
    "Moving the sandbox clock changes the currency of earlier payouts.",
    "life.facts-kept",
    () => {
      let moved = false;
      return {
        async handle(call, ask) {
          if (call.path.endsWith("/clock/advance")) moved = true;
          const reply = await ask(call);
          if (!reply || !moved || !isOf(call, verifyDisbursement) || !isAccepted(reply)) return reply;
          return { ...reply, text: reply.text.replace('"XOF"', '"EUR"') };
        },
      };
    },
    kept,
  ),
];

const existing = [
  caughtOnlyBy(
    "life.records-kept life.ends-as-notified life.spellings-used",
    fault(
      "life-vanishes",
      "A payout is unknown two seconds later.",
      kept,
      vanish((_, isOld) => isOld),
      kept,
    ),
  ),
  fault(
    "life-vanishes-settled",
    "A failed payout is unknown once it has settled.",
    kept,
    vanish(({ status }, isOld) => isOld && status === "failed"),
    kept,
  ),
  caughtOnlyBy(
    "life.payouts-apart life.facts-kept",
    fault(
      "life-shared-id",
      "Every fourth payout gets the record id of an earlier payout.",
      "life.payouts-apart",
      () => {
        const ids: unknown[] = [];
        return data(verifyDisbursement, (record) => {
          if (!ids.includes(record["id"])) ids.push(record["id"]);
          const place = ids.indexOf(record["id"]);
          return place % 4 === 3 ? { ...record, id: ids[place - 1] } : record;
        });
      },
      kept,
    ),
  ),
];

const ending = [
  caughtOnlyBy(
    "life.settles",
    fault(
      "life-never-settles",
      "Payouts stay pending for ever.",
      "life.settles",
      () => ({
        ...data(verifyDisbursement, (record) => ({ ...record, status: "pending" })),
        webhook: async (message, deliver) => (isPayout(message) ? noContent : deliver(message)),
      }),
      kept,
    ),
  ),
  caughtOnlyBy(
    "life.ends-as-notified",
    fault(
      "life-pending-after-webhook",
      "A failed payout is pending for ever in verify, although its webhook reports the failure.",
      "life.ends-as-notified",
      () =>
        data(verifyDisbursement, (record) =>
          record["status"] === "failed" ? { ...record, status: "pending" } : record,
        ),
      kept,
    ),
  ),
  caughtOnlyBy(
    "life.ends-as-notified webhook.truth",
    fault(
      "life-failure-verified-as-success",
      "A failed payout is a success in verify, although its webhook reports the failure.",
      "life.ends-as-notified",
      () =>
        data(verifyDisbursement, (record) =>
          record["status"] === "failed" ? { ...record, status: "success" } : record,
        ),
      kept,
    ),
  ),
  caughtOnlyBy(
    "life.ends-as-notified",
    fault(
      "life-success-fails-later",
      "A success turns into a failure two seconds later.",
      "life.final-status life.ends-as-notified",
      (world) => {
        const isOld = ageing(world);
        return data(verifyDisbursement, (record) =>
          record["status"] === "success" && isOld(record["reference"]) ? { ...record, status: "failed" } : record,
        );
      },
      kept,
    ),
  ),
  fault(
    "life-created-success-fails",
    "The create returns success for a payout that fails.",
    "life.final-status",
    () => {
      const failing = new Set<unknown>();
      return {
        async handle(call, ask) {
          const reply = await ask(call);
          if (!reply || !isOf(call, createDisbursement) || !isAccepted(reply)) return reply;
          if (String(fieldsOf(call.body)?.["phoneNumber"]).endsWith("089")) failing.add(dataOf(reply)["reference"]);
          return failing.has(dataOf(reply)["reference"])
            ? { ...reply, text: reply.text.replace('"pending"', '"success"') }
            : reply;
        },
      };
    },
    kept,
  ),
];

const checkouts = [
  fault(
    "life-checkout-amount-changes",
    "The amount of a checkout changes two seconds later.",
    "life.checkouts-kept",
    whenOld((record) => ({ ...record, amount: 1 }), [verifyCheckout]),
    kept,
  ),
  fault(
    "life-checkout-reopens",
    "A failed checkout is pending again two seconds later.",
    "life.checkouts-kept",
    whenOld((record) => (record["status"] === "failed" ? { ...record, status: "pending" } : record), [verifyCheckout]),
    kept,
  ),
];

export const faults: readonly Fault[] = [...changing, ...existing, ...ending, ...checkouts];
