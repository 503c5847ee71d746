// Checks the values that the service generates (references, ids, customers), and the amount on its payment page (D14,
// D19).
import type { Check } from "../../check.ts";
import { pageLink } from "../checkout/checkout.ts";
import { holds, same } from "../../steps/expect.ts";
import { checkoutBody, dataOf, get, paid, pays, startCheckout, verified } from "../../steps/requests.ts";
import { equal, textOf } from "../../target/values.ts";

const uuid7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** Returns the entropy in bits of the part after the prefix, on the assumption that every character is random. */
function bitsIn(reference: string): number {
  const rest = reference.slice(3);
  const alphabets: [RegExp, number][] = [
    [/^\d*$/, 10],
    [/^[\dA-F]*$/i, 16],
    [/^(?:[\dA-Z]*|[\da-z]*)$/, 32],
  ];
  const [, alphabet] = alphabets.find(([characters]) => characters.test(rest)) ?? [rest, 64];
  return rest.length * Math.log2(alphabet);
}

/** How many references of each kind are compared. */
const compared = 8;
/** How many of the 80 random bits so few references show at least. */
const leastShown = 75;

/** True if the references are numbers, and each is larger than the last by the same step. */
function areCounted(references: readonly string[]): boolean {
  const areAll = (pattern: RegExp) => references.every((each) => pattern.test(each));
  const base = areAll(/^\d+$/) ? "" : areAll(/^[\da-f]+$/i) ? "0x" : undefined;
  if (base === undefined) return false;
  const numbers = references.map((each) => BigInt(base + each));
  return new Set(numbers.slice(1).map((each, index) => each - numbers[index]!)).size < 2;
}

/**
 * Returns the bits of a reference that earlier references do not tell. Counters and times change the last of their
 * characters only. A random character has at least three values in eight references, and differs from every other.
 */
export function unknownBits(references: readonly string[]): number {
  const rests = references.map((reference) => reference.slice(3));
  if (areCounted(rests)) return 0;
  const length = Math.max(...rests.map((rest) => rest.length));
  const columns = Array.from({ length }, (_, at) => rests.map((rest) => rest[at] ?? " ").join(""));
  const random = [...new Set(columns)].filter((column) => new Set(column).size > 2);
  return random.length * Math.log2(new Set(random.join("")).size || 1);
}

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
    name: "The next service reference cannot be guessed from earlier references",
    ids: ["references.unguessable"],
    ...pays(compared),
    async run(context) {
      const payouts: string[] = [];
      const checkouts: string[] = [];
      for (let count = 0; count < compared; count += 1) {
        payouts.push((await paid(context)).reference);
        checkouts.push(textOf(dataOf(await startCheckout(context, checkoutBody(context)))["reference"]));
      }
      for (const [kind, made] of Object.entries({ payouts, checkouts })) {
        const bits = Math.round(unknownBits(made));
        const expected = `80 random bits in each reference of ${kind}, of which ${compared} references show ${leastShown}`;
        holds(context, "references.unguessable", bits >= leastShown, expected, `${bits} bits: ${made.join(", ")}`);
      }
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
