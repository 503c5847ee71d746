// Servers that create checkouts with other values or references than requested, and show others (D6).
import { forEach, type Faults } from "../../broken/fault.ts";
import { data, handles, opens, pages, refuses, requests, responses, statuses, texts } from "../../broken/changes.ts";
import { disbursementIn, hasNoKey, isOf, isText, sent, without } from "../../broken/calls.ts";
import { paysAgain } from "../../broken/memory.ts";
import { refusal, withHeader } from "../../broken/replies.ts";

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
};
