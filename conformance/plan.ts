// What a run is about to do, in words, before it does it.
import type { Check } from "./check.ts";
import type { RunOptions } from "./options.ts";
import { maskPhone } from "./redact.ts";

const count = (number: number, one: string) => `${number} ${one}${number === 1 ? "" : "s"}`;

/** What the checks may cost at worst, in payouts and in the lowest denomination. */
function worstCase(checks: readonly Check[]) {
  const sum = (part: (check: Check) => number | undefined) =>
    checks.reduce((total, check) => total + (part(check) ?? 0), 0);
  return { payouts: sum((check) => check.payouts), amount: sum((check) => check.amount) };
}

/** True when somebody has to agree before anything is sent. */
export const needsConsent = (checks: readonly Check[], options: RunOptions) =>
  !options.loopback && checks.some((check) => check.effect === "moves-money");

/** The plan, line by line. */
export function planLines(checks: readonly Check[], options: RunOptions): string[] {
  const { payouts, amount } = worstCase(checks);
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
  ];
}
