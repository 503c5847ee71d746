// Checks that a service does not confuse different references (§2.1, §7, D15).
import { createHash } from "node:crypto";
import { describeResponse, type Check, type Context } from "../../check.ts";
import { exceeded } from "../../allowances/table.ts";
import { differentReferences, lookalikes, missingWords } from "../../generate/references.ts";
import { counted } from "../../report/words.ts";
import { expectData, expectNone, expectStatus } from "../../steps/expect.ts";
import { disbursementBody, isRefusal, pay, pays } from "../../steps/requests.ts";
import type { TargetResponse } from "../../target/exchange.ts";
import { textOf } from "../../target/values.ts";

const isServed = ({ limits }: Context, reference: string) => exceeded(limits.all, { reference }) === undefined;

/** Returns an unused whole number of 16 digits. The part is as unique as a fresh reference. */
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
    // A family needs at least two references, which can be confused.
    for (const reference of all.length > 1 ? all : []) {
      const response = await pay(context, { ...disbursementBody(context), reference });
      const when = `for each of several references that differ ${difference}`;
      judge(response, { merchantsReference: reference }, when);
    }
  }
}

/** Judges that the target reported a reference as used only if a payout may have it. */
function judgeConflicts(context: Context) {
  const { records, uncertain, refusals } = context.facts;
  const id = "create.references-apart";
  const used = new Set([...records, ...uncertain].map(({ sent }) => textOf(sent["reference"])));
  const own = refusals.filter(({ request: { path, method }, key, sent: { reference } }) => {
    const isCreate = method === "POST" && path === "/v1/disbursements" && key === "own";
    const isText = typeof reference === "string" && reference.isWellFormed();
    return isCreate && isText && context.target.merchant.referenceIn(reference);
  });
  const wrong = own.filter(({ status, sent }) => status === 409 && !used.has(textOf(sent["reference"])));
  const faults = wrong.map(({ sent: { reference }, response }) => {
    const limited = own.find(({ status, sent }) => status === 429 && sent["reference"] === reference)?.response;
    return limited
      ? { actual: `${describeResponse(limited)}; the same request then got 409`, evidence: limited }
      : { actual: describeResponse(response), evidence: response };
  });
  const expected = "409 only for a reference that a disbursement has";
  expectNone(context, id, expected, faults, counted(own.length, "refusal"));
}

export const checks: Check[] = [
  {
    name: "Different references are never confused",
    ids: ["create.references-apart"],
    ...pays(countOf(differentReferences) + missingWords.length),
    async run(context) {
      const id = "create.references-apart";
      await payFamilies(context, differentReferences, (response, fields, when) =>
        expectData(context, id, response, fields, when),
      );
      for (const reference of missingWords.filter((word) => isServed(context, word))) {
        const response = await pay(context, { ...disbursementBody(context), reference });
        const when = `for the reference "${reference}"; 409 only if an earlier run used it`;
        expectStatus(context, id, response, [200, 409], when);
      }
    },
  },
  {
    name: "Similar references are distinct",
    ids: ["create.references-apart", "limits.reference-as-sent"],
    ...pays(countOf(lookalikes)),
    run: (context) =>
      payFamilies(context, lookalikes, (response, fields, when) => {
        expectData(context, "limits.reference-as-sent", response, fields, when);
        // A service may refuse a reference. It may not say that the payout was made before.
        if (isRefusal(response)) return;
        expectData(context, "create.references-apart", response, fields, when);
      }),
  },
  {
    name: "No reference is refused as a duplicate before a disbursement has it",
    ids: ["create.references-apart"],
    effect: "moves-money",
    phase: "closing",
    offline: true,
    run: async (context) => judgeConflicts(context),
  },
];
