// Decides whether a run provides what a check needs from the target or the caller.
import type { Check, Need } from "../check.ts";
import type { NotJudged } from "../results.ts";
import { allowsMadeUpNumbers, type RunOptions } from "../run-options.ts";

/** The needs that the caller meets, with a flag or a variable. The others depend on the target. */
const fromCaller: ReadonlySet<Need> = new Set(["second-key", "receiver", "webhook-secret", "failing-recipient"]);

/** For each need, a function that says why a run does not meet it; undefined if the run meets it. */
const missing: Record<Need, (options: RunOptions, listening: boolean) => string | undefined> = {
  sandbox: ({ environment }) => (environment === "sandbox" ? undefined : "the target has no sandbox controls"),
  "second-key": ({ secondKey }) => (secondKey ? undefined : "a second merchant's key (API_KEY_2)"),
  receiver: (_, listening) => (listening ? undefined : "a webhook receiver (--webhook-url, --webhook-listen)"),
  "webhook-secret": ({ webhookSecret, environment }) =>
    webhookSecret || environment === "sandbox" ? undefined : "the webhook secret (WEBHOOK_SECRET)",
  "failing-recipient": ({ failingRecipient }) =>
    failingRecipient ? undefined : "a recipient to whom payouts fail (--failing-recipient)",
  "safe-numbers": (options) =>
    allowsMadeUpNumbers(options)
      ? undefined
      : "payouts to made-up phone numbers are only made on a sandbox or a loopback target",
};

/** Returns true if a run with these options listens for webhooks. */
export const listens = ({ webhookListen, effects }: RunOptions) => webhookListen !== undefined && effects === "money";

/** Returns the reason why a check is not applicable to a run; undefined if it is applicable. */
export function unmetNeed({ needs = [] }: Check, options: RunOptions, listening: boolean): NotJudged | undefined {
  for (const need of needs) {
    const text = missing[need](options, listening);
    if (text !== undefined) return { code: fromCaller.has(need) ? "caller" : "target", text };
  }
  return undefined;
}
