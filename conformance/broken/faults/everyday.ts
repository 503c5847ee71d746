// Servers that work for one record at a time, and fail for what merchants do every day: equal amounts, equal references
// of two merchants, addresses with parameters, a look at the record when its webhook arrives, and records of last week.
import { type Fault, fault, type How } from "../fault.ts";
import {
  createCheckout,
  createDisbursement,
  dataOf,
  fieldsOf,
  isAccepted,
  isOf,
  keyOf,
  refusal,
  requests,
  responses,
  verifyDisbursement,
  withBody,
  withHeader,
  type Fields,
} from "../ways.ts";

const hour = 3_600_000;

/** Finishes the oldest open checkout that is alike, instead of the one that was paid. */
const matchedBy =
  (keyFor: (created: Fields) => string): How =>
  () => {
    const open = new Map<string, string>();
    return {
      async handle(call, ask) {
        const [, paid = ""] = /^\/sandbox\/checkouts\/([^/]+)\/finish$/.exec(call.path) ?? [];
        const oldest = [...open].find(([, key]) => key === open.get(paid))?.[0];
        if (oldest !== undefined) open.delete(oldest);
        const reply = await ask(oldest === undefined ? call : { ...call, path: call.path.replace(paid, oldest) });
        if (reply && isOf(call, createCheckout) && isAccepted(reply))
          open.set(String(dataOf(reply)["reference"]), keyFor(fieldsOf(call.body) ?? {}));
        return reply;
      },
    };
  };

/** Cuts redirectURL off when the customer returns. */
const returnsWithout = (part: RegExp): How =>
  requests(createCheckout, (fields) =>
    typeof fields["redirectURL"] === "string"
      ? { ...fields, redirectURL: fields["redirectURL"].replace(part, "") }
      : fields,
  );

export const faults: readonly Fault[] = [
  fault(
    "payment-matched-by-amount",
    "The payment of a checkout ends the oldest open checkout with the same amount.",
    "checkout-states.outcomes",
    matchedBy(({ amount }) => String(amount)),
  ),
  fault(
    "return-without-fragment",
    "The customer returns to redirectURL without its fragment.",
    "checkout.redirect",
    returnsWithout(/#.*/),
  ),
  fault(
    "return-until-ampersand",
    "The customer returns to the part of redirectURL before its first ampersand.",
    "checkout.redirect",
    returnsWithout(/&[^#]*/),
  ),
  fault(
    "location-of-another-merchant",
    "The Location of a 409 leads to the payout of another merchant with the same reference.",
    "recovery.location",
    () => {
      const made = new Map<unknown, { key: string | undefined; path: string }[]>();
      return responses(createDisbursement, (reply, call) => {
        const { reference } = fieldsOf(call.body) ?? {};
        const all = made.get(reference) ?? [];
        const key = keyOf(call);
        if (isAccepted(reply))
          made.set(reference, [...all, { key, path: `/v1/disbursements/${String(dataOf(reply)["reference"])}` }]);
        const other = reply.status === 409 ? all.find((each) => each.key !== key) : undefined;
        return other ? withHeader(reply, "location", other.path) : reply;
      });
    },
  ),
  fault(
    "verify-behind-webhook",
    "Verify shows the outcome of a payout two seconds after its webhook was sent.",
    "life.ends-as-notified",
    ({ oldAge }) => {
      const notified = new Map<string, number>();
      return {
        async handle(call, ask) {
          const reply = await ask(call);
          if (!reply || !isOf(call, verifyDisbursement) || !isAccepted(reply)) return reply;
          const record = dataOf(reply);
          const isLate =
            record["createdAt"] !== record["updatedAt"] &&
            Date.now() - (notified.get(String(record["reference"])) ?? 0) < oldAge;
          const pending = { ...record, status: "pending", updatedAt: record["createdAt"], failure: undefined };
          return isLate && record["status"] !== "pending" ? withBody(reply, { statusCode: 200, data: pending }) : reply;
        },
        async webhook(message, deliver) {
          const { data } = JSON.parse(message.body) as { data: Fields };
          notified.set(String(data["reference"]), notified.get(String(data["reference"])) ?? Date.now());
          return deliver(message);
        },
      };
    },
    "records.as-requested",
  ),
  fault("records-archived", "A payout is unknown an hour after its creation.", "life.records-kept", () => {
    let now = 0;
    return {
      async handle(call, ask) {
        const reply = await ask(call);
        if (!reply) return reply;
        const data = dataOf(reply);
        now = Math.max(now, Date.parse(String(data["now"])) || 0);
        const isOld = Date.parse(String(data["createdAt"])) < now - hour;
        return isOf(call, verifyDisbursement) && isOld ? refusal(404) : reply;
      },
    };
  }),
];
