// Checks the values that the service generates (references, ids, customers), and that different references are never
// confused (§2.1, §7, D14, D15, D19).
import { createHash } from "node:crypto";
import { exceeded } from "../../allowances/table.ts";
import { judges, type Context } from "../../check.ts";
import { differentReferences, lookalikes, missingWords } from "../../generate/references.ts";
import { counted } from "../../report/words.ts";
import { expectData, expectNone, expectStatus, same } from "../../steps/expect.ts";
import { disbursementBody, checkoutBody } from "../../steps/bodies.ts";
import { isRefusal } from "../../steps/responses.ts";
import { dataOf, describeResponse, type TargetResponse } from "../../target/exchange.ts";
import { get, pay, startCheckout } from "../../steps/requests.ts";
import { paid, verified } from "../../steps/records.ts";
import { equal, textOf } from "../../target/values.ts";

export const uuid7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** Returns the entropy in bits of the part after the prefix, on the assumption that every character is random. */
export function bitsIn(reference: string): number {
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
export const compared = 8;

/** So few references cannot show all of their 80 random bits. They must show this many. */
export const leastShown = 75;

/** True if the references are numbers, and each is larger than the last by the same step. */
function areCounted(references: readonly string[]): boolean {
  const areAll = (pattern: RegExp) => references.every((each) => pattern.test(each));
  const base = areAll(/^\d+$/) ? "" : areAll(/^[\da-f]+$/i) ? "0x" : undefined;
  if (base === undefined) return false;
  const numbers = references.map((each) => BigInt(base + each));
  return new Set(numbers.slice(1).map((each, index) => each - numbers[index]!)).size < 2;
}

/**
 * Returns how many bits of a reference cannot be guessed from earlier ones. Counters and times change only their last
 * characters. A random character has at least three values in eight references, and differs from every other.
 */
export function unknownBits(references: readonly string[]): number {
  const rests = references.map((reference) => reference.slice(3));
  if (areCounted(rests)) return 0;
  const length = Math.max(...rests.map((rest) => rest.length));
  const columns = Array.from({ length }, (_, at) => rests.map((rest) => rest[at] ?? " ").join(""));
  const random = [...new Set(columns)].filter((column) => new Set(column).size > 2);
  return random.length * Math.log2(new Set(random.join("")).size || 1);
}

const isServed = ({ limits }: Context, reference: string) => exceeded(limits.all, { reference }) === undefined;

/** Returns an unused whole number of 16 digits. It is derived from a fresh reference. */
const unusedDigits = (context: Context): string =>
  `1${BigInt(`0x${createHash("sha256").update(context.fresh()).digest("hex")}`)}`.slice(0, 16);

const countOf = (families: typeof lookalikes) => families.flatMap(([, family]) => family("", "0")).length;

/** Pays every reference of each family, and judges each response. */
async function payFamilies(
  context: Context,
  families: typeof lookalikes,
  judge: (response: TargetResponse, fields: { merchantsReference: string }, when: string) => unknown,
) {
  for (const [difference, family] of families) {
    const all = family(context.fresh(), unusedDigits(context)).filter((reference) => isServed(context, reference));
    // A single reference cannot be confused with another.
    for (const reference of all.length > 1 ? all : []) {
      const response = await pay(context, { ...disbursementBody(context), reference });
      judge(response, { merchantsReference: reference }, `for each of several references that differ ${difference}`);
    }
  }
}

export const checks = [
  judges(["references.form", "references.record-ids"], { pays: 1 }, async (context, id) => {
    const records = [
      ["DSB", "disbursements", (await paid(context)).reference],
      ["CHK", "checkouts", textOf(dataOf(await startCheckout(context, checkoutBody(context)))["reference"])],
    ] as const;
    for (const [prefix, kind, reference] of records) {
      const ok = reference.startsWith(prefix) && /^[0-9A-Za-z_-]+$/.test(reference) && bitsIn(reference) >= 80;
      context.judge(id, ok, `${prefix} followed by enough characters for 80 random bits`, reference);
      const response = await get(context, `/v1/${kind}/${reference}`);
      const recordId = textOf(dataOf(response)["id"]);
      context.judge("references.record-ids", uuid7.test(recordId), "a version 7 UUID", recordId, response);
    }
  }),
  judges("references.unguessable", { pays: compared, alone: true }, async (context, id) => {
    const samples = { payouts: [] as string[], checkouts: [] as string[] };
    for (let count = 0; count < compared; count += 1) {
      samples.payouts.push((await paid(context)).reference);
      samples.checkouts.push(textOf(dataOf(await startCheckout(context, checkoutBody(context)))["reference"]));
    }
    for (const [kind, references] of Object.entries(samples)) {
      const bits = Math.round(unknownBits(references));
      const expected = `80 random bits in each reference of ${kind}, of which ${compared} references show ${leastShown}`;
      context.judge(id, bits >= leastShown, expected, [`${bits} bits: ${references.join(", ")}`]);
    }
  }),
  judges("references.customer", { pays: 3, needs: ["safe-numbers"] }, async (context, id) => {
    const { recipient } = context.options;
    const other = [`2250777${recipient.slice(-6)}`, `2250778${recipient.slice(-6)}`].find(
      (each) => each !== recipient,
    )!;
    const customers = [];
    for (const phoneNumber of [recipient, recipient, other]) {
      const { reference } = await paid(context, { phoneNumber });
      const { data, response } = await verified(context, reference);
      same(context, id, "name", data.customer.name, `Customer ${phoneNumber.slice(-4)}`, response);
      customers.push(data.customer.id);
    }
    const ok = equal(customers[0], customers[1]) && !equal(customers[0], customers[2]);
    const expected = "the same id for the same number, and a different id for another number";
    context.judge(id, ok, expected, customers.join(", "));
  }),
  judges(
    ["create.references-apart", "limits.reference-as-sent"],
    { pays: countOf(differentReferences) + missingWords.length + countOf(lookalikes) },
    async (context, id) => {
      await payFamilies(context, differentReferences, (response, fields, when) =>
        expectData(context, id, response, fields, when),
      );
      await payFamilies(context, lookalikes, (response, fields, when) => {
        expectData(context, "limits.reference-as-sent", response, fields, when);
        // A service may refuse a reference. It may not say that the payout was made before.
        if (!isRefusal(response)) expectData(context, id, response, fields, when);
      });
      for (const reference of missingWords.filter((word) => isServed(context, word))) {
        const response = await pay(context, { ...disbursementBody(context), reference });
        const when = `for the reference "${reference}"; 409 only if an earlier run used it`;
        expectStatus(context, id, response, [200, 409], when);
      }
    },
  ),
  judges(
    "create.references-apart",
    { name: "No reference is refused as a duplicate before a disbursement has it", phase: "closing", offline: true },
    async (context, id) => {
      const { records, uncertain, refusals } = context.facts;
      const used = new Set([...records, ...uncertain].map(({ sent }) => textOf(sent["reference"])));
      const own = refusals.filter(({ response: { request }, key, sent: { reference } }) => {
        const { path, method } = request;
        const isCreate = method === "POST" && path === "/v1/disbursements" && key === "own";
        const isText = typeof reference === "string" && reference.isWellFormed();
        return isCreate && isText && context.target.merchant.referenceIn(reference);
      });
      const wrong = own.filter(({ response, sent }) => response.status === 409 && !used.has(textOf(sent["reference"])));
      const faults = wrong.map(({ sent: { reference }, response }) => {
        const again = own.filter(({ sent }) => sent["reference"] === reference).map((attempt) => attempt.response);
        const limited = again.find(({ status }) => status === 429);
        return limited
          ? { actual: `${describeResponse(limited)}; the same request then got 409`, evidence: limited }
          : { actual: describeResponse(response), evidence: response };
      });
      const expected = "409 only for a reference that a disbursement has";
      expectNone(context, id, expected, faults, counted(own.length, "refusal"));
    },
  ),
];
