// Decides whether a run provides what a check needs from the target or the caller.
import type { Check, Need } from "../check.ts";
import type { NotJudged } from "../results.ts";
import type { Declaration } from "../allowances/declaration.ts";
import { exceeded } from "../allowances/table.ts";
import { allowsMadeUpNumbers, hasControl, type Control, type RunOptions } from "../run-options.ts";

type Unmet = (options: RunOptions, listening: boolean) => NotJudged | undefined;

/** A need that the caller meets with a flag or a variable. `provide` is what to add to the command line. */
const fromCaller =
  (met: (options: RunOptions, listening: boolean) => boolean, text: string, provide: string): Unmet =>
  (options, listening) =>
    met(options, listening) ? undefined : { code: "caller", text, provide };

const fromTarget =
  (met: (options: RunOptions) => boolean, text: string): Unmet =>
  (options) =>
    met(options) ? undefined : { code: "target", text };

/** The request that uses each control. */
export const controls: Record<Control, string> = {
  clock: "POST /sandbox/clock/advance",
  time: "GET /sandbox/clock",
  finish: "POST /sandbox/checkouts/{reference}/finish",
  events: "GET /sandbox/events",
  deliveries: "GET /sandbox/deliveries",
  replay: "POST /sandbox/deliveries/{id}/replay",
  secret: "GET /sandbox/webhook-secret",
  rotate: "POST /sandbox/webhook-secret/rotate",
  reset: "POST /sandbox/reset",
  chaos: "GET /sandbox/chaos",
  listener: "POST /sandbox/listener",
};

const control = (name: Control): Unmet =>
  fromTarget((options) => hasControl(options, name), `the target has no ${controls[name]}`);

const forcesOutcomes = (options: RunOptions) =>
  options.environment === "sandbox" || (hasControl(options, "clock") && allowsMadeUpNumbers(options));

/** For each need, a function that says why a run does not meet it; undefined if the run meets it. */
const unmet: Record<Need, Unmet> = {
  clock: control("clock"),
  time: control("time"),
  finish: control("finish"),
  "finish-or-person": fromTarget(
    (options) => hasControl(options, "finish") || options.interactive === true,
    `the target has no ${controls.finish}; with --interactive, a person can finish its checkouts`,
  ),
  events: control("events"),
  deliveries: control("deliveries"),
  replay: control("replay"),
  secret: control("secret"),
  rotate: control("rotate"),
  reset: control("reset"),
  chaos: control("chaos"),
  listener: control("listener"),
  "forced-outcomes": fromTarget(forcesOutcomes, "the target is not a sandbox whose phone numbers force an outcome"),
  "second-key": fromCaller(
    ({ secondKey }) => secondKey !== undefined,
    "a second merchant's key (API_KEY_2)",
    "API_KEY_2=KEY",
  ),
  receiver: fromCaller(
    (_, listening) => listening,
    "a webhook receiver (--webhook-listen, --webhook-url)",
    "--webhook-listen HOST:PORT --webhook-url URL",
  ),
  "webhook-secret": fromCaller(
    (options) => options.webhookSecret !== undefined || hasControl(options, "secret"),
    "the webhook secret (WEBHOOK_SECRET)",
    "WEBHOOK_SECRET=SECRET",
  ),
  "failing-recipient": fromCaller(
    ({ failingRecipient }) => failingRecipient !== undefined,
    "a recipient to whom payouts fail (--failing-recipient)",
    "--failing-recipient PHONE",
  ),
  "safe-numbers": fromTarget(
    allowsMadeUpNumbers,
    "payouts to made-up phone numbers are only made on a sandbox or a loopback target",
  ),
};

/** Returns true if a run with these options listens for webhooks. */
export const listens = ({ webhookListen, effects }: RunOptions) => webhookListen !== undefined && effects === "money";

/** Returns true if the target's limits permit the address of the run's receiver. */
export const permitsReceiver = ({ webhookUrl = "" }: RunOptions, { httpsWebhooks }: Declaration) =>
  !httpsWebhooks || webhookUrl.startsWith("https:");

const insecure: NotJudged = {
  code: "caller",
  text: "a webhook receiver with an https address, because the target refuses http (--webhook-url)",
  provide: "--webhook-listen HOST:PORT --webhook-url https://URL",
};

/** Returns the reason why a check is not applicable to a run; undefined if it is applicable. */
export function unmetNeed(
  { needs = [] }: Check,
  options: RunOptions,
  listening: boolean,
  limits: Declaration = options.declared ?? {},
): NotJudged | undefined {
  if (needs.includes("receiver") && listening && !permitsReceiver(options, limits)) return insecure;
  const { failingRecipient: phoneNumber } = options;
  const limit = needs.includes("failing-recipient") ? exceeded(limits, { phoneNumber }) : undefined;
  if (limit !== undefined) return { code: "target", text: `the target refuses ${limit}` };
  return needs.map((need) => unmet[need](options, listening)).find((reason) => reason);
}
