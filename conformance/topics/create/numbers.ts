// Checks that amounts stay exact, at the limits of integer types and of floating point (§2.2, §2.3, §8).
import { Prerequisite, type Check, type Context } from "../../check.ts";
import { allowsMadeUpNumbers, type CheckOptions } from "../../run-options.ts";
import { homeOf } from "../../generate/countries.ts";
import { exceeded } from "../../allowances/table.ts";
import { shows } from "../../steps/expect.ts";
import { judgeRecord } from "./records.ts";
import { disbursementBody, pay, someAddress, withAmount } from "../../steps/requests.ts";
import { shuffled } from "../../generate/random.ts";

/** Amounts that floating point cannot divide by 100 and multiply by 100 again exactly. */
const fractional = [29, 57, 115, 435, 1001, 65_537];
/** Limits of integer types and of single precision. */
const binary = [2 ** 24 + 1, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1, 2 ** 32];
/** These amounts are exact in double precision, which is exact up to 2^53 - 1, but they need 16 digits. */
const of16Digits = [1_234_567_890_123_457, 2 ** 52 + 1, 2 ** 53 - 1];
const amounts = [...fractional, 999_999, 1_234_567, ...binary, 999_999_999_999, ...of16Digits];
/** Between two doubles. A program that reads numbers as doubles pays another amount. */
const inexact = "9007199254740993";

/** Returns the amounts inside the declared limit, from the smallest, whose sum is at most this share of the budget. */
export function affordable(all: readonly number[], { maxTotal, declared }: CheckOptions, share: number): number[] {
  const { largestAmount = Infinity, smallestAmount = 1 } = declared ?? {};
  let sum = 0;
  return all
    .filter((amount) => amount >= smallestAmount && amount <= largestAmount)
    .filter((amount) => (sum += amount) <= maxTotal * share);
}

const tried = (options: CheckOptions) => affordable(amounts, options, 1 / 2);
/** Returns the largest amount that a run without declared limits tries. */
export const largestTried = (options: CheckOptions): number =>
  Math.max(0, ...tried({ ...options, declared: undefined }));
/** Returns the largest amount that a run tries, and how many larger amounts its budget does not cover. */
export const reachOf = (options: CheckOptions) => ({
  largest: largestTried(options),
  untried: amounts.length - tried({ ...options, declared: undefined }).length,
});
/** Returns the amounts for which the budget covers one more payout, in case the target wrongly makes it. */
const spare = (options: CheckOptions): number[] => {
  const left = options.maxTotal / 2 - tried(options).reduce((sum, amount) => sum + amount, 0);
  return amounts.filter((amount) => amount <= left);
};
/** Returns true if the budget covers every amount. */
const reachesAll = (options: CheckOptions) =>
  affordable([...amounts, Number(inexact)], { ...options, declared: undefined }, 1 / 2).length > amounts.length;

/** Returns the amounts that the target's limits permit, and the others. */
function divided({ limits }: Context, all: readonly number[]): [permitted: number[], refused: number[]] {
  const isPermitted = (amount: number) => exceeded(limits.all, { amount }) === undefined;
  return [all.filter(isPermitted), all.filter((amount) => !isPermitted(amount))];
}

/** Pays amounts of every size. Judges that each is recorded exactly. */
async function judgeExact(context: Context, permitted: readonly number[]) {
  for (const amount of permitted) {
    const anywhere = { ...disbursementBody(context, { webhookURL: someAddress(context) }), amount };
    // A currency may have a smaller limit of its own.
    const isServed = exceeded(context.limits.all, anywhere) === undefined;
    const body = isServed ? anywhere : { ...anywhere, ...homeOf(context.options.recipient) };
    await judgeRecord(context, "numbers.exact", body, await pay(context, body));
  }
}

/**
 * Judges that the target accepts no amount above the largest permitted amount: otherwise the limit that was declared or
 * found would be false.
 */
async function judgeBeyond(context: Context, larger: readonly number[]) {
  for (const amount of larger) {
    const response = await pay(context, { ...disbursementBody(context), amount });
    const expected = `no payout of ${amount}, because smaller amounts are refused`;
    if (!shows(context, "numbers.exact", response, response.status !== 200, expected)) return;
  }
}

/** Judges that an amount without an exact double is refused, or accepted with every digit. */
async function judgeInexact(context: Context) {
  const response = await pay(context, undefined, withAmount(disbursementBody(context), inexact));
  const ok = response.status !== 200 || new RegExp(String.raw`"amount"\s*:\s*${inexact}\b`).test(response.text);
  shows(context, "numbers.exact", response, ok, `a refusal, or 200 with amount ${inexact}`);
}

export const checks: Check[] = [
  {
    name: "Amounts of every size are returned exactly",
    ids: ["numbers.exact", "numbers.largest-amount"],
    effect: "moves-money",
    // The target may pay an amount that is too large. The check then sends no other amount.
    payouts: amounts.length + 2,
    amount: (options) => [
      ...tried(options),
      Math.max(0, ...spare(options)),
      ...(reachesAll(options) ? [Number(inexact)] : []),
    ],
    async run(context) {
      const sent = tried(context.options);
      if (sent.length === 0) throw new Prerequisite("a --max-total that covers a payout", "a smaller one");
      const [accepted, refused] = divided(context, sent);
      await judgeExact(context, shuffled(accepted, context.random));
      const larger = divided(context, spare(context.options))[1].filter((amount) => amount > (accepted.at(-1) ?? 0));
      if (allowsMadeUpNumbers(context.options)) await judgeBeyond(context, larger);
      if (reachesAll(context.options)) await judgeInexact(context);
      const { largest, untried } = reachOf(context.options);
      const left = `amounts above ${largest} were not tried, because of --max-total`;
      if (untried > 0 && accepted.length > 0)
        context.judge("numbers.exact", true, `amounts up to ${largest}`, left, context.responses);
      context.observe("numbers.largest-amount", "largest accepted", accepted.at(-1) ?? "none");
      context.observe("numbers.largest-amount", "refused", refused);
      context.observe("numbers.largest-amount", "not tried (--max-total)", amounts.slice(sent.length));
    },
  },
];
