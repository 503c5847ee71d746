import type { ActorName, AuditAction, AuditEntry } from "../../domain/audit.ts";
import type { ApiKey } from "../../domain/keys.ts";
import type { English, Words } from "./words.ts";

const WORDS = {
  "merchant.create": "Created the merchant",
  "merchant.rename": "Renamed the merchant",
  "merchant.suspend": "Suspended the merchant",
  "merchant.reopen": "Reopened the merchant",
  "merchant.close": "Closed the merchant",
  "merchant.limit": "Set the limits of the merchant",
  "merchant.terms": "Set the fees and the rate limit of the merchant",
  "key.create": "Created the API key",
  "key.revoke": "Revoked the API key",
  "key.limit": "Set the limits of the API key",
  "secret.reveal": "Looked at the webhook secret",
  "secret.rotate": "Replaced the webhook secret",
  "delivery.replay": "Sent a webhook again",
  "replay.start": "Started a replay of webhooks",
  "replay.stop": "Stopped a replay of webhooks",
  "default-webhook.set": "Set the default address for webhooks",
  "default-webhook.remove": "Removed the default address for webhooks",
  "payments.export": "Exported payments",
  "payment.approve": "Approved a payout",
  "payment.reject": "Rejected a payout",
  "payment.ask": "Asked the rail again about a payment",
  "payment.propose": "Proposed to end a payment by hand",
  "payment.decide": "Ended a payment by hand",
  "payment.close-conflict": "Closed a conflict with a rail",
  "balance.propose": "Proposed a change of a balance",
  "balance.reject": "Rejected a change of a balance",
  "balance.top-up": "Added money to a balance",
  "balance.correct": "Booked what the balances lacked",
  "balance.withdraw": "Took money from a balance",
  "rail.pause": "Paused a rail",
  "rail.reconcile": "Compared the payments with a rail's",
  "rail.resume": "Resumed a rail",
  "sandbox.create": "Created a test payment",
  "sandbox.advance": "Moved the sandbox's clock",
  "sandbox.reset": "Deleted everything in the sandbox",
  "sandbox.balance": "Set a balance",
  "sandbox.chaos": "Changed the chaos switch",
  "dashboard.link": "Made a sign-in link",
  "dashboard.refuse": "Was refused, because the role does not permit it",
  "dashboard.sign-in": "Signed in",
  "dashboard.sign-out": "Signed out",
} as const satisfies Record<AuditAction, English>;

const ACTORS: Record<string, English> = {
  command: "{name}, on the command line",
  server: "the server’s start, as {name}",
  dashboard: "{name}, operator",
  merchant: "{name}",
};

/** Ids for programs. The command `keys audit` prints them. */
const IDS = new Set(["key", "replay", "delivery", "session", "bySession"]);
/** Details whose values are words of the service, and not texts that a person has typed. */
const CODED = new Set(["role", "status", "right", "list", "pace"]);
/** A detail that is a time, as the server writes it. */
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
/** Texts for people in place of details whose names are not plain English. */
const LABELS: Record<string, English> = {
  perPayment: "per payment",
  perDay: "per day",
  approvalFrom: "approval from",
  proposedBy: "proposed by",
  disbursementFee: "payout fee",
  checkoutFee: "checkout fee",
  rateLimit: "requests per second",
};

/** What people call a key of the merchant's. Undefined for a key that is not among these. */
export function keyName(keys: readonly ApiKey[], id: string | undefined, { t }: Words): string | undefined {
  const key = keys.find((each) => each.id === id);
  return key && (key.name === undefined ? `…${key.hint}` : t("“{name}”", { name: key.name }));
}

/** Describes an entry in words. @param keys the merchant's keys, which the words name */
export function inWords({ action, actor, details }: AuditEntry, keys: readonly ApiKey[], words: Words) {
  const nameOf = (id: string | undefined) => keyName(keys, id, words);
  const isAboutKey = action.startsWith("key.");
  const name = isAboutKey ? nameOf(details.key) : undefined;
  const who = (by: ActorName) => whoIs(by, words, nameOf);
  const shown = (label: string, value: string) => {
    if (label === "invitedBy") return who(value as ActorName);
    if (TIME.test(value)) return `${words.time(Date.parse(value))} UTC`;
    return CODED.has(label) ? words.said(value) : value;
  };
  const more = Object.entries(details)
    .filter(([label]) => !IDS.has(label) && !(isAboutKey && name !== undefined && label === "name"))
    .map(([label, value]) => {
      const labelled = LABELS[label] ? words.t(LABELS[label]) : words.said(label);
      return words.t("{label}: {value}", { label: labelled, value: shown(label, value) });
    });
  const what = name === undefined ? words.t(WORDS[action]) : `${words.t(WORDS[action])} ${name}`;
  const { delivery, replay, bySession: session } = details;
  return { what, more, who: who(actor), delivery, replay, session };
}

/** Who acted, in words. @param nameOf finds the name of an API key by its id */
export function whoIs(
  actor: ActorName,
  { t }: Words,
  nameOf: (id: string) => string | undefined = () => undefined,
): string {
  const [kind = "", name = ""] = actor.split(/ (.*)/s);
  if (kind === "key") return t("a program with the API key {key}", { key: nameOf(name) ?? name });
  return t(ACTORS[kind]!, { name });
}
