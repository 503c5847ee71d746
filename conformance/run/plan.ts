// What a run is about to do, in words, before it does it.
import type { Check } from "../check.ts";
import { unmetNeed, listens } from "./needs.ts";
import type { RunOptions } from "../run-options.ts";
import { maskPhone } from "../target/redact.ts";

const count = (number: number, one: string) => `${number} ${one}${number === 1 ? "" : "s"}`;

const fits = ({ payouts = 0, amount = 0 }: Pick<Check, "payouts" | "amount">, options: RunOptions) =>
  payouts <= options.maxPayouts && amount <= options.maxTotal;

/** The checks that may pay in a run with these options. */
const payingChecks = (checks: readonly Check[], options: RunOptions) =>
  checks.filter((check) => check.effect === "moves-money" && unmetNeed(check, options, listens(options)) === undefined);

/** What the checks may cost at worst, in payouts and in the lowest denomination. */
export function worstCase(checks: readonly Check[], options: RunOptions) {
  const paying = payingChecks(checks, options);
  return {
    payouts: paying.reduce((total, { payouts = 0 }) => total + payouts, 0),
    amount: paying.reduce((total, { amount = 0 }) => total + amount, 0),
  };
}

/** The checks that cannot run, since each alone may cost more than the whole budget. */
export const checksBeyondBudget = (checks: readonly Check[], options: RunOptions) =>
  payingChecks(checks, options).filter((check) => !fits(check, options));

/** Says what the budget does not hold, and which flags would; nothing when it holds the worst case. */
function budgetLines(checks: readonly Check[], options: RunOptions): string[] {
  const worst = worstCase(checks, options);
  if (fits(worst, options)) return [];
  const given = `--max-payouts ${options.maxPayouts} --max-total ${options.maxTotal}`;
  const enough =
    `--max-payouts ${Math.max(worst.payouts, options.maxPayouts)} ` +
    `--max-total ${Math.max(worst.amount, options.maxTotal)}`;
  const beyond = checksBeyondBudget(checks, options);
  if (beyond.length === 0) {
    return [`Budget   ${given} may not do for every check; ${enough} holds the worst case`];
  }
  const shown = beyond.slice(0, 3).map(({ ids, payouts = 0, amount = 0 }) => {
    return `         ${ids.join(", ")}: ${count(payouts, "payout")}, ${amount} in all`;
  });
  return [
    `Budget   ${given} is too small for ${count(beyond.length, "check")}, so that this run cannot succeed (exit code 2):`,
    ...shown,
    ...(beyond.length > shown.length ? [`         and ${beyond.length - shown.length} more`] : []),
    `         ${enough} holds the worst case`,
  ];
}

/** What becomes of a sandbox besides payouts and checkouts: waiting is moving its time, which never goes back by itself. */
function sandboxLines(checks: readonly Check[], options: RunOptions): string[] {
  const paying = payingChecks(checks, options);
  if (options.environment !== "sandbox" || paying.length === 0) return [];
  const far = options.profile === "extended" ? "weeks" : "minutes";
  return [
    `Sandbox  The merchant's sandbox time moves forward by ${far} and stays there; a merchant of its own is best for this.`,
    ...paying.flatMap(({ leaves }) => (leaves === undefined ? [] : [`         ${leaves}`])),
  ];
}

/** True when somebody has to agree before anything is sent. */
export const needsConsent = (checks: readonly Check[], options: RunOptions) =>
  !options.loopback && checks.some((check) => check.effect === "moves-money");

/** The plan, line by line. */
export function planLines(checks: readonly Check[], options: RunOptions): string[] {
  const { payouts, amount } = worstCase(checks, options);
  const kind = options.environment ?? "environment unknown";
  const lines = [
    `Target   ${options.baseUrl} (${kind})`,
    `Profile  ${options.profile}, ${count(checks.length, "check")}, effects ${options.effects}, seed ${options.seed}`,
  ];
  if (!checks.some((check) => check.effect === "moves-money")) return lines;
  return [
    ...lines,
    `Money    about ${count(payouts, "payout")}, ${amount} in all at worst, to ${maskPhone(options.recipient)}; ` +
      `never more than ${options.maxPayouts} payouts and ${options.maxTotal} (lowest denomination)`,
    ...budgetLines(checks, options),
    ...sandboxLines(checks, options),
  ];
}
