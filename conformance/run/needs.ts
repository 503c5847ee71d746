// What a check needs of the target or of the caller, and whether a run has it.
import type { Check, Need } from "../check.ts";
import type { RunOptions } from "../run-options.ts";

/** What is missing, by need; nothing when it is there. */
const missing: Record<Need, (options: RunOptions, listening: boolean) => string | undefined> = {
  sandbox: ({ environment }) => (environment === "sandbox" ? undefined : "the target has no sandbox controls"),
  "second-key": ({ secondKey }) => (secondKey ? undefined : "no second merchant's key was given (API_KEY_2)"),
  receiver: (_, listening) =>
    listening ? undefined : "no webhook receiver was set up (--webhook-url, --webhook-listen)",
  "webhook-secret": ({ webhookSecret, environment }) =>
    webhookSecret || environment === "sandbox" ? undefined : "the webhook secret is not known (WEBHOOK_SECRET)",
  "failing-recipient": ({ failingRecipient }) =>
    failingRecipient ? undefined : "the target cannot be made to fail a payout (--failing-recipient)",
  "safe-numbers": ({ environment, loopback }) =>
    environment === "sandbox" || loopback
      ? undefined
      : "payouts to made-up phone numbers are sent to a sandbox or a loopback target only",
};

/** Whether a run with these options listens for webhooks. */
export const listens = ({ webhookListen, effects }: RunOptions) => webhookListen !== undefined && effects === "money";

/** Why a check is not applicable to a run; undefined when it is. */
export const unmetNeed = ({ needs = [] }: Check, options: RunOptions, listening: boolean): string | undefined =>
  needs.map((need) => missing[need](options, listening)).find((text) => text !== undefined);
