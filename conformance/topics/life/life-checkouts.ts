// Compares all checkouts of the run with one another before the verdict (§4.3).
import type { Check, Context } from "../../check.ts";
import type { RecordFact } from "../../history/facts.ts";
import { counted } from "../../report/words.ts";
import { linksOf, referencesOf } from "../checkout/checkout.ts";
import { checkoutBody, startCheckout } from "../../steps/requests.ts";

/** Judges that each checkout has a value of this kind that no other checkout has. */
function judgeApart(
  context: Context,
  what: string,
  checkouts: readonly RecordFact[],
  valuesOf: (checkout: RecordFact) => string[],
) {
  const values = checkouts.map((checkout) => [...new Set(valuesOf(checkout))]);
  const uses = new Map<string, number>();
  for (const value of values.flat()) uses.set(value, (uses.get(value) ?? 0) + 1);
  const shared = checkouts.filter((_, index) => values[index]?.every((value) => (uses.get(value) ?? 0) > 1));
  const expected = `a ${what} of its own for each of ${counted(checkouts.length, "checkout")}`;
  const actual = shared.length === 0 ? "as expected" : `${shared.length} share it`;
  const evidence = shared.slice(0, 10).map(({ response }) => response);
  context.judge("life.checkouts-apart", shared.length === 0, expected, actual, evidence);
}

export const checks: Check[] = [
  {
    name: "Checkouts of the run are distinct",
    ids: ["life.checkouts-apart"],
    phase: "closing",
    effect: "moves-money",
    async run(context) {
      // The last checkouts repeat one request, so that every run has checkouts to compare, whichever checks were
      // selected.
      const body = checkoutBody(context);
      for (let count = 0; count < 3; count += 1) await startCheckout(context, body);
      const checkouts = context.facts.records.filter(({ kind }) => kind === "checkout");
      judgeApart(context, "link", checkouts, ({ response, sent }) => linksOf(response, Object.values(sent)));
      judgeApart(context, "reference", checkouts, ({ response }) => referencesOf(response));
    },
  },
];
