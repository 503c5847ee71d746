// Servers that create checkouts with other values or references than requested, and whose checkouts end in another way,
// twice or never (D3, D6, D10).
import { type Faults, type How, forEach } from "../../broken/fault.ts";
import { data, handles, requests, opens, pages, refuses, responses, statuses, texts } from "../../broken/changes.ts";
import { dataOf, withData, refusal, withHeader } from "../../broken/replies.ts";
import { isOf, lastPart, sent, disbursementIn, hasNoKey, isText, without } from "../../broken/calls.ts";
import { paysAgain } from "../../broken/memory.ts";

const finish = "finishCheckout";
const pathOfFinish = /^\/sandbox\/checkouts\/([^/]+)\/finish$/;

/** Makes an unpaid checkout expire this many minutes after its creation. */
const expires =
  (minutes: number): How =>
  () => ({
    storage: (inner) => ({
      insertCheckout: (draft) =>
        inner.insertCheckout({ ...draft, due: { afterMs: minutes * 60_000, status: "cancelled" } }),
    }),
  });

export const faults: Faults = {
  "checkout-body.shape": { "Creating a checkout returns 201.": statuses("createCheckout", 200, 201) },
  "checkout-body.echo": {
    "The merchant's reference of a checkout is dropped.": requests("createCheckout", (fields) =>
      without(fields, "reference"),
    ),
  },
  "checkout-record.needs-key": { "Verifying a checkout needs no key.": opens("verifyCheckout", hasNoKey) },
  "checkout-record.shape": { "Verifying a checkout returns 404.": refuses(() => true, 404, "verifyCheckout") },
  "checkout-record.unknown-404": {
    "Verifying an unknown checkout returns 200.": statuses("verifyCheckout", 404, 200),
  },
  "checkout-record.agrees": {
    ...forEach(["reference", "amount", "fee", "webhookURL", "redirectURL"], (field) => [
      `A checkout's record has another ${field}.`,
      data("verifyCheckout", (record) => ({
        ...record,
        [field]: field === "amount" || field === "fee" ? 1 : "another",
      })),
    ]),
  },
  "checkout-request.reference-unique": {
    "A duplicate reference creates another checkout.": paysAgain(() => true, "createCheckout"),
    "Two concurrent checkouts with the same reference are both created.": paysAgain(
      (_, { isUnderWay }) => isUnderWay,
      "createCheckout",
    ),
    "The 409 for a duplicate checkout has no Location.": responses("createCheckout", (reply) =>
      reply.status === 409 ? withHeader(reply, "location") : reply,
    ),
  },
  "checkout-request.reference-per-merchant": {
    "A checkout's reference must be unique among all merchants.": () => {
      const used = new Set<unknown>();
      return handles(async (call, ask) => {
        const reference = isOf(call, "createCheckout") ? sent(call)["reference"] : undefined;
        if (reference !== undefined && used.has(reference)) return refusal(409);
        used.add(reference);
        return ask(call);
      });
    },
  },
  "checkout-request.reference-apart": {
    "A reference used by a checkout is refused for a payout.": () => {
      const used = new Set<unknown>();
      return handles(async (call, ask) => {
        if (isOf(call, "createCheckout")) used.add(sent(call)["reference"]);
        return used.has(disbursementIn(call)?.["reference"] ?? "none") ? refusal(409) : ask(call);
      });
    },
  },
  "checkout-request.locale": {
    "The locale fr is refused.": refuses(({ locale }) => locale === "fr", 422, "createCheckout"),
    "An unknown locale falls back to English.": requests("createCheckout", (fields) =>
      isText(fields["locale"]) && fields["locale"] !== "fr" ? { ...fields, locale: "en" } : fields,
    ),
  },
  "checkout-request.generated-refused": {
    "A webhookURL of null counts as missing.": requests("createCheckout", (fields) =>
      fields["webhookURL"] === null ? without(fields, "webhookURL") : fields,
    ),
    "A checkout reference with a control character is accepted.": texts("createCheckout", "reference", (text) =>
      text.replaceAll(/\p{Cc}/gu, "_"),
    ),
  },
  "checkout.country-length": forEach([1, 3], (length) => [
    `A checkout's country of ${length} letters is accepted.`,
    texts("createCheckout", "country", (text) => (/^[A-Z]+$/.test(text) && text.length === length ? "CI" : text)),
  ]),
  "checkout.patterns": {
    "A checkout's country with a digit is accepted.": texts("createCheckout", "country", (text) =>
      text.replace(/^C1$/, "CI"),
    ),
  },
  "checkout-request.amount": {
    "A checkout's fractional amount is rounded.": requests("createCheckout", (fields) =>
      fields["amount"] === 1.5 ? { ...fields, amount: 2 } : fields,
    ),
  },
  "checkout-request.shown-as-text": {
    "The payment page contains the merchant's reference without HTML escapes.": pages((reply) => ({
      ...reply,
      text: reply.text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&quot;", '"'),
    })),
  },
  "checkout-states.opened-stays-pending": {
    "Opening the link to the payment page lets the checkout fail.": handles(async (call, ask, world) => {
      const reply = await ask(call);
      const [, reference] = /^\/checkouts\/([^/?]+)$/.exec(call.path) ?? [];
      if (reference === undefined) return reply;
      const headers = { "x-api-key": world.key, "content-type": "application/json" };
      const body = Buffer.from('{"outcome":"failed"}');
      await ask({ method: "POST", path: `/sandbox/checkouts/${reference}/finish`, headers, body });
      return reply;
    }),
  },
  "checkout-states.outcomes": {
    "A failed checkout has the status success.": data("verifyCheckout", (record) =>
      record["status"] === "failed" ? { ...record, status: "success" } : record,
    ),
    "The payment of a checkout ends the oldest open checkout with the same amount.": () => {
      const open = new Map<unknown, unknown>();
      return handles(async (call, ask) => {
        const [, paid = ""] = pathOfFinish.exec(call.path) ?? [];
        const oldest = [...open].find(([, amount]) => amount === open.get(paid))?.[0];
        open.delete(oldest);
        const reply = await ask(oldest ? { ...call, path: call.path.replace(paid, String(oldest)) } : call);
        if (reply?.status === 200 && isOf(call, "createCheckout"))
          open.set(dataOf(reply)["reference"], sent(call)["amount"]);
        return reply;
      });
    },
  },
  "checkout-states.final": {
    "A final checkout can be finished again with another outcome.": () => {
      const ended = new Map<unknown, unknown>();
      return handles(async (call, ask) => {
        const reply = await ask(call);
        if (!reply) return reply;
        if (isOf(call, finish) && reply.status === 409) {
          ended.set(pathOfFinish.exec(call.path)?.[1], sent(call)["outcome"]);
          return { ...reply, status: 200 };
        }
        const status = isOf(call, "verifyCheckout") ? ended.get(lastPart(call)) : undefined;
        return status ? withData(reply, { ...dataOf(reply), status }) : reply;
      });
    },
  },
  "checkout-states.expiry": {
    "An unpaid checkout expires after 10 minutes.": expires(10),
  },
  "checkout-states.updated-at": {
    "updatedAt of a checkout stays the time of its creation.": data("verifyCheckout", (record) => ({
      ...record,
      updatedAt: record["createdAt"],
    })),
  },
  "sandbox.finish": {
    "Finishing a checkout changes nothing.": () => ({ storage: () => ({ finishCheckout: async () => true }) }),
    "Finishing a checkout always makes it succeed.": requests(finish, (fields) => ({ ...fields, outcome: "success" })),
  },
};
