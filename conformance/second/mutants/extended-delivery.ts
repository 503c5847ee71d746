// Mutants of webhooks, their delivery and lists that breach this project's decisions alone.
import { editing, type Mutant } from "../mutant.ts";

const webhooks = editing("webhooks.ts");
const lists = editing("lists.ts");
const merchant = editing("merchant.ts");

const from = "const from = query.cursor === undefined ? { list, before: items.length } : cursors.get(query.cursor);";

const signing: Mutant[] = [
  webhooks(
    "signature-without-time",
    "The timestamp is not signed.",
    "`${id}.${timestamp}.${this.#body}`",
    "`${id}.${this.#body}`",
  ),
  webhooks(
    "signature-of-text",
    "The secret is used as text.",
    'Buffer.from(secret.slice("whsec_".length), "base64")',
    "secret",
  ),
  webhooks("secret-replaced-at-once", "A replaced secret stops signing.", ".slice(0, 5)", ".slice(0, 0)"),
  webhooks("secret-kept", "Replaced secrets sign for ever.", "until > now", "until > 0"),
  webhooks("secret-sixth", "Six replaced secrets sign.", ".slice(0, 5)", ".slice(0, 6)"),
  webhooks(
    "time-of-sandbox",
    "The timestamp is sandbox time.",
    "String(Math.floor(sent / second))",
    "String(Math.floor(at / second))",
  ),
  webhooks(
    "id-new",
    "Each attempt has another id.",
    '"webhook-id": id,',
    '"webhook-id": id.slice(0, -1) + this.shown.attempts.length,',
  ),
];

const retries: Mutant[] = [
  webhooks("retries-fewer", "The last retry is left out.", ", 20 * hour, 24 * hour]", ", 20 * hour]"),
  webhooks("retry-late", "The second retry waits an hour.", "5 * second, 5 * minute", "5 * second, hour"),
  webhooks("gone-retried", "A webhook is retried after a 410.", '{ 410: "ended" }', "{}"),
  webhooks("retry-after-ignored", "Retry-After is ignored.", "Math.max(varied, askedWait(response))", "varied"),
  webhooks(
    "retry-after-unlimited",
    "A long Retry-After is obeyed.",
    "Math.min(Math.max(wait, 0), hour)",
    "Math.max(wait, 0)",
  ),
  webhooks("redirect-followed", "Redirects of receivers are followed.", 'redirect: "manual"', 'redirect: "follow"'),
  webhooks(
    "replay-concurrent",
    "A delivery can be replayed during an attempt.",
    "if (this.#isBusy) throw",
    "if (false) throw",
  ),
  webhooks(
    "body-varies",
    "The body of a retry differs.",
    "body: this.#body,",
    'body: this.#body + " ".repeat(this.shown.attempts.length),',
  ),
  merchant(
    "event-of-today",
    "The event shows the record as it is when it is sent.",
    "data: structuredClone(payment),",
    "data: { ...structuredClone(payment), updatedAt: payment.createdAt },",
  ),
];

const pages: Mutant[] = [
  lists(
    "list-oldest-first",
    "Lists start with the oldest.",
    "matching.toReversed().slice(0, limit)",
    "matching.slice(0, limit)",
  ),
  lists(
    "list-filter-ignored",
    "The filter merchantsReference is ignored.",
    "item.merchantsReference === merchantsReference)",
    "true)",
  ),
  lists("list-status-ignored", "The filter status is ignored.", "item.status === status)", "true)"),
  lists(
    "list-after-excluded",
    "createdAfter excludes its time.",
    "item.createdAt >= createdAfter",
    "item.createdAt > createdAfter",
  ),
  lists(
    "list-before-included",
    "createdBefore includes its time.",
    "item.createdAt < createdBefore",
    "item.createdAt <= createdBefore",
  ),
  lists(
    "cursor-any",
    "An unknown cursor returns the first page.",
    from,
    from.replace(";", " ?? { list, before: items.length };"),
  ),
  lists("cursor-skips", "Each page skips a record.", "{ list, before: last }", "{ list, before: last - 1 }"),
  lists("cursor-always", "The last page has a cursor, too.", "matching.length <= limit", "false"),
];

export const extendedDelivery: readonly Mutant[] = [...signing, ...retries, ...pages];
