// Checks which disbursements a create accepts and what it returns (§2.1, §2.2, §4.1).
import type { Check, Context } from "../check.ts";
import { commonPairs, dollars, fieldsFor, type Pair } from "../generate/countries.ts";
import { expectData, expectStatus, shows } from "./expect.ts";
import { dataOf, disbursementBody, paid, pay, pays, permitted, someAddress, verifyDisbursement } from "./requests.ts";

/** Amounts that must be accepted and returned exactly. */
const amounts = [1, 7, 99, 1234, 65_537, 100_001];
const references = [
  "UPPER and lower",
  "  spaces  around  ",
  "Zoë–Ünïcode–支付–💸",
  "quotes \" ' \\ / & < > % + #",
  "a\u0301 combining",
];
/** Judges that a payout is accepted for each pair's country and currency, with a phone number of that country. */
async function judgePairs(context: Context, id: string, pairs: readonly Pair[]) {
  const { recipient } = context.options;
  for (const pair of pairs) {
    const payee = fieldsFor(pair, recipient, context.random);
    if (!permitted(context, id, payee)) continue;
    const body = { ...disbursementBody(context), ...payee };
    const response = await pay(context, body);
    const when = `for ${pair.country}/${pair.currency} and a phone number that starts with ${pair.code}`;
    expectStatus(context, id, response, 200, when);
  }
}

export const checks: Check[] = [
  {
    name: "Valid disbursement is accepted",
    ids: ["create.accepted", "create.status-known", "create.service-reference-verifies"],
    ...pays(1),
    async run(context) {
      const body = disbursementBody(context);
      const response = await pay(context, body);
      expectStatus(context, "create.accepted", response, 200, "for a valid disbursement");
      const { status, reference } = dataOf(response);
      const known = ["pending", "success", "failed"].includes(status as string);
      shows(context, "create.status-known", response, known, "status pending, success or failed");
      const found = await verifyDisbursement(context, String(reference));
      const own = { merchantsReference: body["reference"] };
      const when = "in the record just created";
      expectData(context, "create.service-reference-verifies", found, own, when, [response, found]);
    },
  },
  {
    name: "Records the status of a new disbursement",
    ids: ["create.initial-status"],
    ...pays(1),
    async run(context) {
      const { data } = await paid(context);
      context.observe("create.initial-status", "status", data.status);
    },
  },
  {
    name: "Amounts are returned unchanged",
    ids: ["create.amount-echoed", "create.amount-minimum-accepted"],
    effect: "moves-money",
    payouts: amounts.length,
    amount: amounts.reduce((sum, amount) => sum + amount, 0),
    async run(context) {
      for (const amount of amounts) {
        const body = disbursementBody(context, { amount });
        // Sends 1 even if the target declares a smallest amount: the interface demands that 1 is accepted.
        if (amount === 1) body["amount"] = 1;
        const response = await pay(context, body);
        if (amount === 1) {
          expectStatus(context, "create.amount-minimum-accepted", response, 200, "for an amount of 1");
        }
        expectData(context, "create.amount-echoed", response, { amount: body["amount"] }, "as sent");
      }
    },
  },
  {
    name: "References are returned unchanged",
    ids: ["create.reference-echoed"],
    ...pays(references.length),
    async run(context) {
      for (const text of references) {
        const body = disbursementBody(context, {
          reference: `${text} ${context.fresh()}${text.startsWith(" ") ? "  " : ""}`,
        });
        const response = await pay(context, body);
        expectData(context, "create.reference-echoed", response, { merchantsReference: body["reference"] }, "as sent");
      }
    },
  },
  {
    name: "Service references are unique",
    ids: ["create.service-reference-unique"],
    ...pays(3),
    async run(context) {
      const made = [await paid(context), await paid(context), await paid(context)];
      const given = made.map(({ reference }) => reference);
      const ok = new Set(given).size === given.length && given.every((reference) => reference !== "");
      const expected = "three different references for three disbursements";
      context.judge("create.service-reference-unique", ok, expected, given.join(", "), context.responses);
    },
  },
  {
    name: "webhookURL is optional",
    ids: ["create.webhook-optional"],
    ...pays(2),
    async run(context) {
      for (const webhookURL of [undefined, someAddress(context)]) {
        // The run's recipient, because the target may accept no others.
        const { recipient: phoneNumber } = context.options;
        const response = await pay(context, disbursementBody(context, { phoneNumber, webhookURL }));
        const what = webhookURL === undefined ? "without webhookURL" : "with webhookURL";
        expectStatus(context, "create.webhook-optional", response, 200, what);
      }
    },
  },
  {
    name: "Common country and currency pairs are accepted",
    ids: ["create.pairs-accepted"],
    ...pays(commonPairs.length),
    needs: ["safe-numbers"],
    run: (context) => judgePairs(context, "create.pairs-accepted", commonPairs),
  },
  {
    name: "USD is accepted",
    ids: ["create.usd-accepted"],
    ...pays(1),
    needs: ["safe-numbers"],
    run: (context) => judgePairs(context, "create.usd-accepted", [dollars]),
  },
  {
    name: "Records the response to a webhookURL of null",
    ids: ["create.webhook-null"],
    ...pays(1),
    async run(context) {
      const response = await pay(context, disbursementBody(context, { webhookURL: null }));
      context.observe("create.webhook-null", "response status", response.status ?? "none");
    },
  },
  {
    name: "Records the response to an unknown field",
    ids: ["create.extra-field"],
    ...pays(1),
    async run(context) {
      const response = await pay(context, disbursementBody(context, { certifyExtra: "x" }));
      context.observe("create.extra-field", "response status", response.status ?? "none");
    },
  },
];
