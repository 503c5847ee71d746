// Decides whether a run provides what a check needs from the target or the caller.
import type { Check, Need } from "../check.ts";
import { allowsMadeUpNumbers, type RunOptions } from "../run-options.ts";

/** For each need, a function that says why a run does not meet it; undefined if the run meets it. */
const missing: Record<Need, (options: RunOptions, listening: boolean) => string | undefined> = {
  sandbox: ({ environment }) => (environment === "sandbox" ? undefined : "the target has no sandbox controls"),
  "second-key": ({ secondKey }) => (secondKey ? undefined : "no second merchant's key was given (API_KEY_2)"),
  receiver: (_, listening) =>
    listening ? undefined : "no webhook receiver was set up (--webhook-url, --webhook-listen)",
  "webhook-secret": ({ webhookSecret, environment }) =>
    webhookSecret || environment === "sandbox" ? undefined : "the webhook secret is unknown (WEBHOOK_SECRET)",
  "failing-recipient": ({ failingRecipient }) =>
    failingRecipient ? undefined : "the target cannot be made to fail a payout (--failing-recipient)",
  "safe-numbers": (options) =>
    allowsMadeUpNumbers(options)
      ? undefined
      : "payouts to made-up phone numbers are only made on a sandbox or a loopback target",
};

/** Returns true if a run with these options listens for webhooks. */
export const listens = ({ webhookListen, effects }: RunOptions) => webhookListen !== undefined && effects === "money";

/** Returns the reason why a check is not applicable to a run; undefined if it is applicable. */
export const unmetNeed = ({ needs = [] }: Check, options: RunOptions, listening: boolean): string | undefined =>
  needs.map((need) => missing[need](options, listening)).find((text) => text !== undefined);
