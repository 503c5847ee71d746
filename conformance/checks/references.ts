// Checks the values that the service generates (references, ids, customers), and the amount on its payment page (D16,
// D19).
import type { Check } from "../check.ts";
import { pageLink } from "./checkout.ts";
import { expectNoFaults, holds, same } from "./expect.ts";
import { checkoutBody, dataOf, get, paid, pays, startCheckout, verified } from "./requests.ts";
import { equal, textOf } from "../target/values.ts";

const uuid7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** Returns the entropy in bits of the part after the prefix, on the assumption that every character is random. */
function bitsIn(reference: string): number {
  const rest = reference.slice(3);
  const alphabet = /^[0-9A-F]*$/.test(rest) ? 16 : /^[0-9A-Z]*$/.test(rest) ? 32 : 64;
  return rest.length * Math.log2(alphabet);
}

/** Returns the number of positions at which two references differ. */
const distance = (a: string, b: string) => [...a].filter((character, index) => character !== b[index]).length;

export const checks: Check[] = [
  {
    name: "Service references and record ids have the documented form",
    ids: ["references.form", "references.record-ids"],
    ...pays(1),
    async run(context) {
      const made = [
        ["DSB", "disbursements", (await paid(context)).reference],
        ["CHK", "checkouts", textOf(dataOf(await startCheckout(context, checkoutBody(context)))["reference"])],
      ] as const;
      for (const [prefix, kind, reference] of made) {
        const ok = reference.startsWith(prefix) && /^[0-9A-Za-z_-]+$/.test(reference) && bitsIn(reference) >= 80;
        const expected = `${prefix} followed by enough characters for 80 random bits`;
        context.judge("references.form", ok, expected, reference, context.responses);
        const response = await get(context, `/v1/${kind}/${reference}`);
        const id = textOf(dataOf(response)["id"]);
        context.judge("references.record-ids", uuid7.test(id), "a version 7 UUID", id, response);
      }
    },
  },
  {
    name: "Service references differ in at least half of their characters",
    ids: ["references.unguessable"],
    ...pays(5),
    async run(context) {
      const made: string[] = [];
      for (let count = 0; count < 5; count += 1) made.push((await paid(context)).reference);
      const pairs = made.flatMap((one, index) => made.slice(index + 1).map((other) => [one, other] as const));
      // Two references of 16 random characters from an alphabet of 32 have the same character at 0.5 positions on
      // average. The same character at more than 8 positions is too unlikely to be chance.
      const alike = pairs.filter(([one, other]) => distance(one, other) < Math.max(1, (one.length - 3) / 2));
      const expected = "references that differ in at least half of their characters";
      const faults = alike.map((pair) => pair.join(" and "));
      expectNoFaults(context, "references.unguessable", expected, faults);
    },
  },
  {
    name: "Each phone number is one customer",
    ids: ["references.customer"],
    ...pays(3),
    needs: ["safe-numbers"],
    async run(context) {
      const { recipient } = context.options;
      const other = `2250777${recipient.slice(-6)}`;
      const numbers = [recipient, recipient, other === recipient ? `2250778${recipient.slice(-6)}` : other];
      const customers = [];
      for (const phoneNumber of numbers) {
        const { reference } = await paid(context, { phoneNumber });
        const { data, response } = await verified(context, reference);
        const expected = `Customer ${phoneNumber.slice(-4)}`;
        same(context, "references.customer", { what: "name", actual: data.customer.name, expected }, response);
        customers.push(data.customer.id);
      }
      const ok = equal(customers[0], customers[1]) && !equal(customers[0], customers[2]);
      const expected = "the same id for the same number, and a different id for another number";
      context.judge("references.customer", ok, expected, customers.join(", "), context.responses);
    },
  },
  {
    name: "Payment page shows the amount divided by 100",
    ids: ["money.page-divides"],
    effect: "moves-money",
    async run(context) {
      for (const [country, currency] of [
        ["CI", "XOF"],
        ["KE", "KES"],
      ]) {
        const body = checkoutBody(context, { amount: 123_456_789, country, currency });
        const made = await startCheckout(context, body);
        const page = await context.target.openLink(pageLink(made));
        const amount = Number(body["amount"]);
        const text = (amount / 100).toLocaleString("en", { minimumFractionDigits: 2 });
        const spelled = new RegExp(
          `(?<!\\d)${text.replaceAll(",", "[\\s.,'’\u00a0\u202f]?").replace(/\.(?=\d+$)/, "[.,]")}(?!\\d)`,
        );
        const expected = `${text} on the page for ${amount} ${currency}`;
        holds(context, "money.page-divides", spelled.test(page.text), expected, "not shown", [made, page]);
      }
    },
  },
];
