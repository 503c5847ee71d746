// Uses the references of the run again before the verdict (§2.1, §7, D15).
import { describeResponse, type Check, type Context } from "../check.ts";
import type { RecordFact } from "../observer/facts.ts";
import { historyOf } from "../observer/webhooks.ts";
import { pairOf, payeeIn } from "../generate/countries.ts";
import { allowsMadeUpNumbers } from "../run-options.ts";
import { payeeAbroad } from "../allowances/fit.ts";
import { exceeded } from "../allowances/table.ts";
import { aged } from "./ageing.ts";
import { expectStatus, shows } from "./expect.ts";
import { keptOf, type Kept } from "./kept.ts";
import { dataOf, isRefusal, pay, payInvalid, pays, usualAmount, verifyDisbursement } from "./requests.ts";

/** How many references of other checks the check uses again, and the largest amount of a request that does. */
const mostOthers = 12;
const largestAmount = usualAmount + 100;
const mostSpellings = 6;

type Body = Record<string, unknown>;

/** Returns the changes of a body that must not make its reference free. Each leaves the body valid. */
function changes(context: Context, { phoneNumber }: Body): [what: string, change: Body][] {
  const { options, random, limits } = context;
  const abroad = payeeAbroad(options, phoneNumber, random, limits.all);
  const another = payeeIn(pairOf(phoneNumber), options.recipient, random).phoneNumber;
  const all: [string, Body][] = [
    ["another amount", { amount: largestAmount }],
    ...(allowsMadeUpNumbers(options) ? [["another recipient", { phoneNumber: another }] as [string, Body]] : []),
    ...(abroad ? [["another recipient, country and currency", abroad] as [string, Body]] : []),
    ["no webhookURL", { webhookURL: undefined }],
  ];
  return all.filter(([, change]) => exceeded(limits.all, change) === undefined);
}

/** Returns some of the payouts that other checks created: the failed ones first, then from all parts of the run. */
function others(context: Context): RecordFact[] {
  const kept = new Set(keptOf(context).map(({ reference }) => reference));
  const all = context.facts.records.filter(({ kind, key, sent, reference = "", request }) => {
    const isUsual = kind === "disbursement" && key === "own" && request.effect === "moves-money" && !request.forced;
    return isUsual && !kept.has(reference) && Number(sent["amount"]) <= largestAmount;
  });
  const failed = all.filter((record) => historyOf(context.facts, record)?.statuses.at(-1)?.status === "failed");
  const step = Math.max(1, Math.ceil(all.length / (mostOthers - 5)));
  const spread = all.filter((_, index) => index % step === 0);
  return [...new Set([...failed.slice(0, 5), ...spread])].slice(0, mostOthers);
}

/** Judges that a used reference is refused. Returns false if the target paid, so that the check can end the harm. */
async function isUsed(context: Context, id: string, what: string, body: Body): Promise<boolean> {
  const response = await payInvalid(context, body);
  expectStatus(context, id, response, 409, `for ${what}`);
  return response.status !== 200;
}

/** Returns the requests that repeat a used reference, each with a description. */
function repeats(context: Context): [what: string, body: Body][] {
  const usual = keptOf(context).filter(({ otherSpelling }) => otherSpelling === undefined);
  return [
    ...usual.flatMap(({ what, body }): [string, Body][] => [
      [`${what}, repeated`, body],
      ...changes(context, body).map(([how, change]): [string, Body] => [
        `${what}, repeated with ${how}`,
        { ...body, ...change },
      ]),
    ]),
    ...others(context).map(({ sent }): [string, Body] => ["a reference of another check", sent]),
  ];
}

/** Creates a payout under another spelling of a used reference. Judges that the original stays as it is. */
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
    ...pays(1, largestAmount),
    async run(context) {
      await aged(context);
      const id = "life.references-used";
      if (keptOf(context).length === 0) return context.couldNotRun(id, "the target accepted no payout");
      for (const [what, body] of repeats(context)) if (!(await isUsed(context, id, what, body))) return;
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
