// Reads every record of the run again before the verdict, and judges contradictions to earlier responses (§2.2, §2.3,
// §4.2, D3, D6).
import type { Check, Context } from "../../check.ts";
import type { Contradiction, History } from "../../history/history.ts";
import { counted } from "../../report/words.ts";
import { aged } from "./ageing.ts";
import { expectNone, holds } from "../../steps/expect.ts";
import { keptChecks, keptOf, moveTime } from "./kept.ts";
import { lookAt, retrievable } from "../../steps/looks.ts";
import { settledByClock } from "../../steps/settlement.ts";
import { textOf } from "../../target/values.ts";

const twoDays = 2 * 86_400;

const statusOf = ({ statuses }: History) => statuses.at(-1)?.status;
const isPending = (history: History) => statusOf(history) === "pending";

const nonePaid = "no payout of the run was accepted that could be followed";

/** The requirements that contradictions violate. */
const rules: [id: string, expected: string, applies: (contradiction: Contradiction) => boolean][] = [
  [
    "life.facts-kept",
    "the same facts in every response about a payout",
    ({ kind, what }) => kind === "disbursement" && what === "fact",
  ],
  [
    "life.final-status",
    "no other status after a final one",
    ({ kind, what }) => kind === "disbursement" && what === "final-status",
  ],
  ["life.checkouts-kept", "the same facts and final status in every response", ({ kind }) => kind === "checkout"],
];

/** Judges one rule by the contradictions of the whole run. */
function judgeContradictions(context: Context, [id, rule, applies]: (typeof rules)[number], looked: number) {
  if (looked === 0) return context.couldNotRun(id, "the target accepted nothing that could be followed");
  const found = context.facts.histories.contradictions.filter(applies);
  expectNone(context, id, rule, found, counted(looked, "record"));
}

/** Judges that verify returns each of these payouts. */
function judgeExistence(context: Context, payouts: readonly History[]) {
  const id = "life.records-kept";
  const found = context.facts.histories.contradictions.filter(({ what, kind }) => {
    return what === "existence" && kind === "disbursement";
  });
  if (payouts.length === 0) return context.couldNotRun(id, nonePaid);
  expectNone(context, id, "the record in each response", found, counted(payouts.length, "payout"));
  const never = payouts.filter(({ record }) => record === undefined).map(({ reference }) => reference);
  const expected = `200 with a record for each of ${counted(payouts.length, "accepted payout")}`;
  holds(context, id, never.length === 0, expected, `no record of ${never.slice(0, 5).join(", ")}`);
}

/** Judges that no two accepted payouts have the same service reference or record id. */
function judgeApart(context: Context, payouts: readonly History[]) {
  const references = context.facts.records.flatMap(({ reference, key }) =>
    reference === undefined || key !== "own" ? [] : [reference],
  );
  const ids = payouts.flatMap(({ record, merchant }) => (merchant === "own" && record ? [textOf(record["id"])] : []));
  for (const [what, values] of Object.entries({ "service reference": references, "record id": ids })) {
    const shared = [...new Set(values.filter((value, index) => values.indexOf(value) !== index))];
    const otherwise = `shared: ${shared.slice(0, 5).join(", ")}`;
    holds(context, "life.payouts-apart", shared.length === 0, `a ${what} for each payout`, otherwise);
  }
}

/** Judges that the ordinary payouts among the kept payouts do not stay pending. */
async function judgeSettlement(context: Context) {
  const id = "life.settles";
  const plain = keptOf(context).filter(({ plain: isPlain }) => isPlain);
  if (plain.length === 0) return context.couldNotRun(id, nonePaid);
  const pending = () =>
    plain.flatMap(({ reference }) => {
      const history = context.facts.histories.find("own", "disbursement", reference);
      return history && isPending(history) ? [history] : [];
    });
  const wait = async () => {
    for (const { reference } of pending().slice(0, 1)) await settledByClock(context, reference);
    await lookAt(context, pending());
  };
  await wait();
  if (pending().length > 0 && (await moveTime(context, twoDays))) await wait();
  const left = pending();
  const pendingOnes = left.map(({ reference }) => reference).join(", ");
  holds(context, id, left.length === 0, "success or failed in the end", `pending: ${pendingOnes}`);
}

export const checks: Check[] = [
  ...keptChecks,
  {
    name: "Every record of the run is read again",
    ids: ["life.records-kept", "life.facts-kept", "life.payouts-apart", "life.settles", "life.final-status"],
    phase: "closing",
    effect: "moves-money",
    async run(context) {
      await aged(context);
      const payouts = () => retrievable(context).filter(({ kind }) => kind === "disbursement");
      if (payouts().some(isPending)) await moveTime(context, 60);
      await lookAt(context, payouts());
      judgeExistence(context, payouts());
      judgeApart(context, payouts());
      for (const rule of rules.slice(0, 2)) judgeContradictions(context, rule, payouts().length);
      // This judgement comes last, because it ends the check if a payout of a target without a clock is still pending.
      await judgeSettlement(context);
    },
  },
  {
    name: "Every checkout of the run is read again",
    ids: ["life.checkouts-kept"],
    phase: "closing",
    effect: "moves-money",
    async run(context) {
      const checkouts = () => retrievable(context).filter(({ kind }) => kind === "checkout");
      await lookAt(context, checkouts());
      for (const rule of rules.slice(2)) judgeContradictions(context, rule, checkouts().length);
      const open = checkouts().filter(({ record }) => record === undefined);
      const expected = "a record for each accepted checkout";
      holds(context, "life.checkouts-kept", open.length === 0, expected, `no record of ${open[0]?.reference}`);
    },
  },
];
