// Describes what a run is about to do, before it starts.
import { costOf, type Check } from "../check.ts";
import { limitPhrases } from "../allowances/table.ts";
import { reachOf } from "../topics/create/checks.ts";
import { unmetNeed, listens } from "./needs.ts";
import { hasControl, type RunOptions } from "../run-options.ts";
import { counted, money } from "../report/words.ts";
import { maskPhone } from "../target/redact.ts";

type Cost = ReturnType<typeof costOf>;

const fits = ({ payouts, amount }: Cost, options: RunOptions) =>
  payouts <= options.maxPayouts && amount <= options.maxTotal;

/** Returns the checks that may create payouts or checkouts in a run with these options. */
const payingChecks = (checks: readonly Check[], options: RunOptions) =>
  checks.filter((check) => check.effect === "moves-money" && unmetNeed(check, options, listens(options)) === undefined);

/** Returns the largest number of payouts that these checks can cause, and their sum in the lowest denomination. */
export function worstCase(checks: readonly Check[], options: RunOptions) {
  const costs = payingChecks(checks, options).map((check) => costOf(check, options));
  return {
    payouts: costs.reduce((total, { payouts }) => total + payouts, 0),
    amount: costs.reduce((total, { amount }) => total + amount, 0),
  };
}

/** Names the amounts that the budget leaves out. Returns no lines if it covers all of them. */
function reachLine(checks: readonly Check[], options: RunOptions): string[] {
  const { largest, untried } = reachOf(options);
  return untried > 0 && payingChecks(checks, options).some(({ ids }) => ids.includes("numbers.exact"))
    ? [`         Amounts above ${money(largest)} are not tried, because their sum would exceed half of --max-total`]
    : [];
}

/** Returns the checks that cannot run, because each of them alone may exceed the whole budget. */
export const checksBeyondBudget = (checks: readonly Check[], options: RunOptions) =>
  payingChecks(checks, options).filter((check) => check.phase !== "limits" && !fits(costOf(check, options), options));

const flagsFor = ({ payouts, amount }: Cost) =>
  `--max-payouts ${payouts}${Number.isFinite(amount) ? ` --max-total ${amount}` : ""}`;

/** Says which checks exceed the budget and which flags would suffice. Returns no lines if the budget is sufficient. */
function budgetLines(checks: readonly Check[], options: RunOptions): string[] {
  const worst = worstCase(checks, options);
  if (fits(worst, options)) return [];
  const given = flagsFor({ payouts: options.maxPayouts, amount: options.maxTotal });
  const enough = flagsFor({
    payouts: Math.max(worst.payouts, options.maxPayouts),
    amount: Math.max(worst.amount, options.maxTotal),
  });
  const beyond = checksBeyondBudget(checks, options).map(({ ids }) => ids[0]);
  const lack =
    beyond.length === 0
      ? "may not suffice for every check"
      : `is too small for ${counted(beyond.length, "check")} (${beyond.slice(0, 3).join(", ")}), so this run cannot succeed (exit code 2)`;
  return [`Budget   ${given} ${lack}; ${enough} covers the worst case`];
}

/** Says what a run changes on a sandbox, other than payouts and checkouts. Returns no lines for any other target. */
function sandboxLines(checks: readonly Check[], options: RunOptions): string[] {
  const paying = payingChecks(checks, options);
  if (!hasControl(options, "clock") || paying.length === 0) return [];
  const far = options.profile === "extended" ? "weeks" : "minutes";
  return [
    `Sandbox  The merchant's sandbox time moves forward by ${far} and stays there. Use a merchant that nobody else uses.`,
    ...paying.flatMap(({ leaves }) => (leaves === undefined ? [] : [`         ${leaves}`])),
  ];
}

/** Returns the reason why a run must not start, and what to do; undefined if it may start. */
export function obstacleTo(checks: readonly Check[], options: RunOptions, isConfirmed: boolean): string | undefined {
  if (checks.length === 0)
    return `No check to run: --effects ${options.effects} excludes every check of the requirements in --only.`;
  return !isConfirmed && !options.loopback && checks.some((check) => check.effect === "moves-money")
    ? "This run creates payouts on a target that is not on loopback. Nothing was paid. Add --yes to confirm."
    : undefined;
}

export const limitText = ({ maxPayouts, maxTotal }: RunOptions) =>
  Number.isFinite(maxTotal)
    ? `limit ${maxPayouts} payouts with a total of ${maxTotal} (lowest denomination)`
    : `limit ${maxPayouts} payouts of any total, because the target is a sandbox on loopback`;

export function planLines(checks: readonly Check[], options: RunOptions): string[] {
  const { payouts, amount } = worstCase(checks, options);
  const total = Number.isFinite(options.maxTotal) ? amount : money(amount);
  const kind = options.environment ?? "environment unknown";
  const lines = [
    `Target   ${options.baseUrl} (${kind})`,
    `Profile  ${options.profile}, ${counted(checks.length, "check")}, effects ${options.effects}, seed ${options.seed}`,
  ];
  const declared = limitPhrases(options.declared);
  if (declared.length > 0) lines.push(`Limits   declared: ${declared.join("; ")}`);
  if (!checks.some((check) => check.effect === "moves-money")) return lines;
  return [
    ...lines,
    `Money    at most ${counted(payouts, "payout")} with a total of ${total} to ${maskPhone(options.recipient)}; ` +
      limitText(options),
    ...reachLine(checks, options),
    ...budgetLines(checks, options),
    ...sandboxLines(checks, options),
  ];
}

/** Returns a line for each thing that checks need and that the caller did not provide. */
export function missingLines(checks: readonly Check[], options: RunOptions): string[] {
  const lacking = checks.flatMap((check) => {
    const reason = unmetNeed(check, options, listens(options));
    return reason?.code === "caller" ? [{ ids: check.ids, ...reason }] : [];
  });
  return [...Map.groupBy(lacking, ({ text }) => text)].map(([text, checksLacking], index) => {
    const ids = new Set(checksLacking.flatMap((check) => check.ids));
    const provide = checksLacking[0]?.provide;
    const how = provide === undefined ? "" : `. To judge this, add ${provide}`;
    return (index === 0 ? "Missing" : "").padEnd(9) + `${text}, for ${counted(ids.size, "requirement")}${how}`;
  });
}
