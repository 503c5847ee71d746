// Servers that work with one record at a time, and fail in everyday use: with equal amounts, equal references of two
// merchants, addresses with parameters, a look at the record when its webhook arrives, or records of last week.
import { type Fault, fault, type Hooks, quickFault } from "../fault.ts";
import {
  createCheckout,
  createDisbursement,
  dataOf,
  fieldsOf,
  instead,
  isAccepted,
  isOf,
  keyOf,
  refusal,
  requests,
  responses,
  shifted,
  verifyDisbursement,
  withBody,
  withFields,
  withHeader,
  type Fields,
} from "../ways.ts";

const hour = 3_600_000;

/** Finishes the oldest open checkout that is alike, instead of the checkout that was paid. */
const matchedBy = (keyFor: (created: Fields) => string): Hooks => {
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
const returnsWithout = (part: RegExp): Hooks =>
  requests(createCheckout, (fields) =>
    typeof fields["redirectURL"] === "string"
      ? { ...fields, redirectURL: fields["redirectURL"].replace(part, "") }
      : fields,
  );

const changesText = (operation: string, name: string, change: (text: string) => string): Hooks =>
  requests(operation, (fields) => {
    const { [name]: value } = fields;
    return typeof value === "string" ? { ...fields, [name]: change(value) } : fields;
  });
const changesAmount = (is: (amount: number) => boolean, change: (amount: number) => number): Hooks =>
  requests(createDisbursement, (fields) => {
    const amount = Number(fields["amount"]);
    return Number.isSafeInteger(fields["amount"]) && amount > 0 && is(amount)
      ? { ...fields, amount: change(amount) }
      : fields;
  });
const anHourLater = (text: string) =>
  text.replaceAll(/"(createdAt|updatedAt)":"([^"]*)"/g, (_, name: string, time: string) => {
    return `"${name}":"${shifted(time, hour)}"`;
  });
const ofCountry: Record<string, string> = { CI: "XOF", NG: "NGN", GH: "GHS", KE: "KES" };

/** What merchants send every day, and the faulty results. */
const values: Fault[] = [
  fault(
    "round-amounts-divided",
    "An amount that is a multiple of 100.00 is taken for an amount in the main unit.",
    "records.as-requested",
    () =>
      changesAmount(
        (amount) => amount % 10_000 === 0,
        (amount) => amount / 100,
      ),
  ),
  fault("amount-of-the-example-refused", "The amount 10000 is refused.", "create.amount-echoed", () =>
    instead(
      createDisbursement,
      ({ amount }) => amount === 10_000,
      () => refusal(422),
    ),
  ),
  fault("reference-cut-at-colon", "A reference is cut at its first colon.", "create.reference-echoed", () =>
    changesText(createDisbursement, "reference", (text) => text.split(":")[0]!),
  ),
  fault("reference-dollar-lost", "A dollar sign in a reference is replaced.", "create.reference-echoed", () =>
    changesText(createDisbursement, "reference", (text) => text.replaceAll("$", "S")),
  ),
  fault("address-loses-fragment", "The record has the webhookURL without its fragment.", "records.as-requested", () =>
    changesText(createDisbursement, "webhookURL", (text) => text.replace(/#.*/, "")),
  ),
  quickFault(
    "webhook-without-final-slash",
    "A webhook is sent to the URL without the slash at the end of its path.",
    "life.webhooks-addressed",
    () => ({ webhook: (message, deliver) => deliver({ ...message, url: message.url.replace("/?", "?") }) }),
    "records.as-requested",
  ),
  fault(
    "notified-without-query",
    "A webhook is sent to the URL without its query.",
    "life.webhooks-addressed",
    () => ({ webhook: (message, deliver) => deliver({ ...message, url: message.url.replace(/\?.*/, "") }) }),
    "records.as-requested",
  ),
  fault("times-of-another-zone", "Every time is an hour ahead of UTC.", "verify.timestamps", () => ({
    async handle(call, ask) {
      const reply = await ask(call);
      return reply && { ...reply, text: anHourLater(reply.text) };
    },
  })),
  fault(
    "checkout-currency-of-country",
    "A checkout has the currency of its country, whatever was requested.",
    "checkout-record.agrees",
    () =>
      requests(createCheckout, (fields) => {
        const currency = ofCountry[String(fields["country"])];
        return currency && /^[A-Z]{3}$/.test(String(fields["currency"])) ? { ...fields, currency } : fields;
      }),
  ),
  fault("checkout-reference-trimmed", "Spaces around a checkout's reference are lost.", "checkout-record.agrees", () =>
    changesText(createCheckout, "reference", (text) => text.trim()),
  ),
  fault(
    "checkout-returns-to-webhook",
    "A checkout with both addresses has its webhookURL as redirectURL.",
    "checkout-record.agrees",
    () =>
      requests(createCheckout, (fields) =>
        URL.canParse(String(fields["redirectURL"])) && URL.canParse(String(fields["webhookURL"]))
          ? { ...fields, redirectURL: fields["webhookURL"] }
          : fields,
      ),
  ),
  fault(
    "checkout-reference-free-after-end",
    "The reference of a checkout is free again when the checkout has ended.",
    "checkout-request.reference-unique",
    () => {
      const named = new Map<unknown, unknown>();
      const free = new Set<unknown>();
      return {
        async handle(call, ask) {
          const [, ended] = /^\/sandbox\/checkouts\/([^/]+)\/finish$/.exec(call.path) ?? [];
          if (named.has(ended)) free.add(named.get(ended));
          const fields = (isOf(call, createCheckout) && fieldsOf(call.body)) || {};
          const { reference } = fields;
          const again = reference !== undefined && free.has(reference);
          const reply = await ask(again ? withFields(call, { ...fields, reference: undefined }) : call);
          if (reply && reference !== undefined && isAccepted(reply)) named.set(dataOf(reply)["reference"], reference);
          return reply;
        },
      };
    },
  ),
];

export const faults: readonly Fault[] = [
  ...values,
  fault(
    "payment-matched-by-amount",
    "The payment of a checkout ends the oldest open checkout with the same amount.",
    "checkout-states.outcomes",
    () => matchedBy(({ amount }) => String(amount)),
  ),
  fault(
    "return-without-fragment",
    "The customer returns to redirectURL without its fragment.",
    "checkout.redirect",
    () => returnsWithout(/#.*/),
  ),
  fault(
    "return-until-ampersand",
    "The customer returns to the part of redirectURL before its first ampersand.",
    "checkout.redirect",
    () => returnsWithout(/&[^#]*/),
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
    "webhook.disbursement-success",
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
