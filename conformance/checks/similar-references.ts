// Checks that a service does not confuse different references (§2.1, §7, D15).
import { createHash } from "node:crypto";
import type { Check, Context } from "../check.ts";
import { exceeded } from "../allowances/table.ts";
import { differentReferences, lookalikes, missingWords } from "../generate/references.ts";
import { expectData, expectStatus } from "./expect.ts";
import { disbursementBody, pay, pays } from "./requests.ts";

const isServed = ({ limits }: Context, reference: string) => exceeded(limits.all, { reference }) === undefined;

/** Returns an unused whole number of 16 digits. It is as unique as a fresh reference. */
const unusedDigits = (context: Context): string =>
  `1${BigInt(`0x${createHash("sha256").update(context.fresh()).digest("hex")}`)}`.slice(0, 16);

/** Pays both references of each pair. Judges that each payout is made under its own reference. */
async function judgePairs(context: Context, id: string, pairs: typeof lookalikes) {
  for (const [difference, pair] of pairs) {
    const both = pair(context.fresh(), unusedDigits(context));
    if (!both.every((reference) => isServed(context, reference))) continue;
    for (const reference of both) {
      const response = await pay(context, { ...disbursementBody(context), reference });
      const when = `for each of two references that differ ${difference}`;
      expectData(context, id, response, { merchantsReference: reference }, when);
    }
  }
}

export const checks: Check[] = [
  {
    name: "Different references are never confused",
    ids: ["create.references-apart"],
    ...pays(2 * differentReferences.length + missingWords.length),
    async run(context) {
      const id = "create.references-apart";
      await judgePairs(context, id, differentReferences);
      for (const reference of missingWords.filter((word) => isServed(context, word))) {
        const response = await pay(context, { ...disbursementBody(context), reference });
        const when = `for the reference "${reference}"; 409 only if an earlier run used it`;
        expectStatus(context, id, response, [200, 409], when);
      }
    },
  },
  {
    name: "Similar references are distinct",
    ids: ["limits.reference-as-sent"],
    ...pays(2 * lookalikes.length),
    run: (context) => judgePairs(context, "limits.reference-as-sent", lookalikes),
  },
];
