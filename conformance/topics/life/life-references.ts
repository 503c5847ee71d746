// Uses the references of the run again before the verdict (§2.1, §7, D15).
import { describeResponse, type Check, type Context } from "../../check.ts";
import { aged } from "./ageing.ts";
import { expectStatus, shows } from "../../steps/expect.ts";
import { repeatAll, repeatCost } from "../inputs/inputs.ts";
import { keptOf, type Kept } from "./kept.ts";
import { dataOf, isRefusal, pay, payInvalid, pays, usualAmount, verifyDisbursement } from "../../steps/requests.ts";

/** The largest amount of a payout that is kept. */
const largestAmount = usualAmount + 100;
const mostSpellings = 6;

type Body = Record<string, unknown>;

/** Judges that a used reference is refused. Returns false if the target paid, so that the check can stop. */
async function isUsed(context: Context, id: string, what: string, body: Body): Promise<boolean> {
  const response = await payInvalid(context, body);
  expectStatus(context, id, response, 409, `for ${what}`);
  return response.status !== 200;
}

/** Creates a payout under another spelling of a used reference. Judges that the original record stays as it is. */
async function useOtherSpelling(context: Context, { what, body, reference, otherSpelling }: Kept) {
  const response = await pay(context, { ...body, webhookURL: undefined, reference: otherSpelling });
  const made = dataOf(response);
  const isDistinct = made["reference"] !== reference && made["merchantsReference"] === otherSpelling;
  const ok = response.status === 200 ? isDistinct : response.status === 409 || isRefusal(response);
  const expected = `a payout of its own or a refusal for another spelling of ${what}`;
  shows(context, "life.spellings-used", response, ok, expected);
  expectStatus(context, "life.spellings-distinct", response, 200, `for another spelling of ${what}`);
  const original = await verifyDisbursement(context, reference);
  const kept = dataOf(original)["merchantsReference"] === body["reference"];
  const actual = describeResponse(original);
  context.judge("life.spellings-used", kept, `the record of ${what} as before`, actual, [response, original]);
  return [what, response.status === 200 ? "accepted" : "refused"] as const;
}

export const checks: Check[] = [
  {
    name: "References of the run are used again",
    ids: ["life.references-used"],
    phase: "closing",
    effect: "moves-money",
    payouts: repeatCost.payouts + 1,
    amount: (options) => [largestAmount, ...repeatCost.amounts(options)],
    async run(context) {
      await aged(context);
      const id = "life.references-used";
      for (const { what, body } of keptOf(context).filter(({ otherSpelling }) => otherSpelling === undefined))
        if (!(await isUsed(context, id, what, body))) return;
      await repeatAll(context, "end", [id]);
    },
  },
  {
    name: "References in unusual spellings are used again",
    ids: ["life.spellings-used", "life.spellings-distinct", "life.other-spellings"],
    phase: "closing",
    ...pays(mostSpellings + 1, largestAmount),
    async run(context) {
      await aged(context);
      const spelled = keptOf(context).filter(({ otherSpelling }) => otherSpelling !== undefined);
      if (spelled.length === 0) {
        for (const id of this.ids) context.notApplicable(id, "the target refuses references in unusual spellings");
      }
      const seen: (readonly [string, string])[] = [];
      for (const kept of spelled) {
        seen.push(await useOtherSpelling(context, kept));
        const what = `${kept.what}, after another spelling`;
        if (!(await isUsed(context, "life.spellings-used", what, kept.body))) break;
      }
      if (seen.length > 0) context.observe("life.other-spellings", "responses", Object.fromEntries(seen));
    },
  },
];
