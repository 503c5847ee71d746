// Servers that create checkouts with other values or references than requested, and whose checkouts end in another way,
// twice or never (D3, D6, D10).
import { type Call, type Faults, forEach } from "../../broken/fault.ts";
import { data, handles, requests, opens, pages, refuses, responses, statuses, texts } from "../../broken/changes.ts";
import { dataOf, withHeader } from "../../broken/replies.ts";
import { isOf, keyOf, sent, disbursementIn, hasNoKey, isText, without } from "../../broken/calls.ts";
import { changesRecords, paysAgain, refusesNamesakes } from "../../broken/memory.ts";

const finish = "finishCheckout";
const pathOfFinish = /^\/sandbox\/checkouts\/([^/]+)\/finish$/;

const referenceOfCheckout = (call: Call) => (isOf(call, "createCheckout") ? sent(call)["reference"] : undefined);

export const faults: Faults = {
  "checkout-body.shape: Creating a checkout returns 201.": statuses("createCheckout", 200, 201),
  "checkout-body.echo: The merchant's reference of a checkout is dropped.": requests("createCheckout", (fields) =>
    without(fields, "reference"),
  ),

  "checkout-record.needs-key: Verifying a checkout needs no key.": opens("verifyCheckout", hasNoKey),

  "checkout-record.shape: Verifying a checkout returns 404.": refuses(() => true, 404, "verifyCheckout"),
  "checkout-record.unknown-404: Verifying an unknown checkout returns 200.": statuses("verifyCheckout", 404, 200),
  ...forEach(["reference", "amount", "fee", "webhookURL", "redirectURL"], (field) => [
    `checkout-record.agrees: A checkout's record has another ${field}.`,
    data("verifyCheckout", (record) => ({ ...record, [field]: "another" })),
  ]),
  "checkout-request.reference-unique: A duplicate reference creates another checkout.": paysAgain(
    () => true,
    "createCheckout",
  ),
  "checkout-request.reference-unique: Two concurrent checkouts with the same reference are both created.": paysAgain(
    (_, { isUnderWay }) => isUnderWay,
    "createCheckout",
  ),
  "checkout-request.reference-unique: The 409 for a duplicate checkout has no Location.": responses(
    "createCheckout",
    (reply) => (reply.status === 409 ? withHeader(reply, "location") : reply),
  ),
  "checkout-request.reference-per-merchant: A checkout's reference must be unique among all merchants.":
    refusesNamesakes(referenceOfCheckout, keyOf),
  "checkout-request.reference-apart: A reference used by a checkout is refused for a payout.": refusesNamesakes(
    (call) => referenceOfCheckout(call) ?? disbursementIn(call)?.["reference"],
    (call) => isOf(call, "createCheckout"),
  ),
  "checkout-request.locale: The locale fr is refused.": refuses(({ locale }) => locale === "fr", 422, "createCheckout"),
  "checkout-request.locale: An unknown locale falls back to English.": requests("createCheckout", (fields) =>
    isText(fields["locale"]) && fields["locale"] !== "fr" ? { ...fields, locale: "en" } : fields,
  ),
  "checkout-request.generated-refused: A checkout reference with a control character is accepted.": texts(
    "createCheckout",
    "reference",
    (text) => text.replaceAll(/\p{Cc}/gu, "_"),
  ),
  "checkout.country-length: A checkout's country of three letters is accepted.": texts(
    "createCheckout",
    "country",
    (text) => text.replace(/^[A-Z]{3}$/, "CI"),
  ),
  "checkout.patterns: A checkout's country with a digit is accepted.": texts("createCheckout", "country", (text) =>
    text.replace(/^C1$/, "CI"),
  ),
  "checkout-request.amount: A checkout's fractional amount is rounded.": requests("createCheckout", (fields) =>
    fields["amount"] === 1.5 ? { ...fields, amount: 2 } : fields,
  ),
  "checkout-request.shown-as-text: The payment page contains the merchant's reference without HTML escapes.": pages(
    (reply) => ({
      ...reply,
      text: reply.text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&quot;", '"'),
    }),
  ),
  "checkout-states.outcomes: The payment of a checkout ends the oldest open checkout with the same amount.": () => {
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
  "checkout-states.final: A final checkout can be finished again with another outcome.": changesRecords(
    (call, { status }) => {
      const [, reference] = pathOfFinish.exec(call.path) ?? [];
      return status === 409 ? [reference, { status: sent(call)["outcome"] }] : undefined;
    },
    "verifyCheckout",
  ),
  "checkout-states.expiry: An unpaid checkout expires after 10 minutes.": () => ({
    merchant: () => ({ checkoutLifetime: () => 600_000 }),
  }),
  "checkout-states.updated-at: updatedAt of a checkout stays the time of its creation.": data(
    "verifyCheckout",
    ({ createdAt, ...record }) => ({ ...record, createdAt, updatedAt: createdAt }),
  ),
  "sandbox.finish: Finishing a checkout always makes it succeed.": requests(finish, (fields) => ({
    ...fields,
    outcome: "success",
  })),
};
