// Decides whether a run provides what a check needs from the target or the caller, and says what it lacks.
import type { Check, Need } from "../check.ts";
import type { RequirementId } from "../../generated/requirement-ids.ts";
import type { NotJudged } from "../results.ts";
import { checks } from "../topics/index.ts";
import { judgeable } from "../watch/rules.ts";
import type { Declaration } from "../allowances/declaration.ts";
import { exceeded } from "../allowances/table.ts";
import {
  allControls,
  allowsMadeUpNumbers,
  controls,
  hasControl,
  type Control,
  type RunOptions,
} from "../run-options.ts";

type Provision = {
  what: string;
  met(options: RunOptions, listening: boolean): boolean;
  /** What the caller adds to the command line. Undefined if the need is the target's to meet. */
  provide?: string;
  /** Why a check is not applicable to a target that does not meet the need. */
  lacking?: string;
};

const byControl = Object.fromEntries(
  allControls.map((name): [Control, Provision] => [
    name,
    { what: controls[name], met: (options) => hasControl(options, name) },
  ]),
) as Record<Control, Provision>;

export const needs: Record<Need, Provision> = {
  ...byControl,
  "finish-or-person": {
    what: `${controls.finish}, or a person (--interactive)`,
    met: (options) => hasControl(options, "finish") || options.interactive === true,
    lacking: `the target has no ${controls.finish}; with --interactive, a person can finish its checkouts`,
  },
  "forced-outcomes": {
    what: "a sandbox whose phone numbers force an outcome",
    met: (options) =>
      options.environment === "sandbox" || (hasControl(options, "clock") && allowsMadeUpNumbers(options)),
    lacking: "the target is not a sandbox whose phone numbers force an outcome",
  },
  "second-key": {
    what: "a second merchant's key (API_KEY_2)",
    met: ({ secondKey }) => secondKey !== undefined,
    provide: "API_KEY_2=KEY",
  },
  receiver: {
    what: "a webhook receiver (--webhook-listen, --webhook-url)",
    met: (_, listening) => listening,
    provide: "--webhook-listen HOST:PORT --webhook-url URL",
  },
  "webhook-secret": {
    what: "the webhook secret (WEBHOOK_SECRET)",
    met: (options) => options.webhookSecret !== undefined || hasControl(options, "secret"),
    provide: "WEBHOOK_SECRET=SECRET",
  },
  "failing-recipient": {
    what: "a recipient to whom payouts fail (--failing-recipient)",
    met: ({ failingRecipient }) => failingRecipient !== undefined,
    provide: "--failing-recipient PHONE",
  },
  "safe-numbers": {
    what: "a sandbox or a loopback target, because it pays to made-up phone numbers",
    met: allowsMadeUpNumbers,
    lacking: "payouts to made-up phone numbers are only made on a sandbox or a loopback target",
  },
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
  { needs: names = [] }: Check,
  options: RunOptions,
  listening: boolean,
  limits: Declaration = options.declared ?? {},
): NotJudged | undefined {
  if (names.includes("receiver") && listening && !permitsReceiver(options, limits)) return insecure;
  const { failingRecipient: phoneNumber } = options;
  const limit = names.includes("failing-recipient") ? exceeded(limits, { phoneNumber }) : undefined;
  if (limit !== undefined) return { code: "target", text: `the target refuses ${limit}` };
  const unmet = names.map((name) => needs[name]).find(({ met }) => !met(options, listening));
  if (unmet === undefined) return undefined;
  const { what, provide, lacking = `the target has no ${what}` } = unmet;
  return provide === undefined ? { code: "target", text: lacking } : { code: "caller", text: what, provide };
}

/** The requirements that checks of the payout in `--payout` judge in full, whatever `--effects` allows. */
export const judgedByReads = new Set<string>([
  "auth.record-hidden-without-key",
  "verify.found",
  "verify.record-shape",
  "verify.status-known",
  "verify.updated-not-before-created",
  "access.whole-reference",
] satisfies RequirementId[]);

/** The requirements that the payout in `--payout` helps to judge, in full or in part. */
const readable = new Set<string>([...judgedByReads, ...checks.flatMap(({ existing, ids }) => (existing ? ids : []))]);

/** Says what would let a requirement be judged whose checks `--effects` does not allow. */
export function lackOf({ effects, payout }: Pick<RunOptions, "effects" | "payout">, id: string): string {
  const ways = [
    ...(payout === undefined && readable.has(id) ? ["an existing payout (--payout REFERENCE)"] : []),
    ...(judgeable.has(id) ? ["the traffic of callers (certify watch)"] : []),
    `more than --effects ${effects}`,
  ];
  return `needs ${new Intl.ListFormat("en", { type: "disjunction" }).format(ways)}`;
}
