// Servers that pay a reference twice, confuse references or merchants, or do not let a client recover (§2.1, §7, D3 to
// D5).
import { unescape } from "node:querystring";
import { also, forEach, type Call, type Faults } from "../../broken/fault.ts";
import { caches, confuses, paysAgain, refusesNamesakes, reserves } from "../../broken/memory.ts";
import { dataOf, isAccepted, refusal, withData, withHeader } from "../../broken/replies.ts";
import { disbursementIn, everyNth, extraIn, isOf, isOfSecond, keyOf, sent, type Fields } from "../../broken/calls.ts";
import { handles, opens, records, refuses, responses } from "../../broken/changes.ts";

const others = ["amount", "phoneNumber", "country", "currency", "webhookURL"];
const differing = (now: Fields, before: Fields) => others.filter((name) => now[name] !== before[name]);

const text = ({ body }: Call) => String(body);
/** What a service may compare besides the reference, by the kind of repetition that it then takes for a new request. */
const forms: [what: string, form: (call: Call) => unknown][] = [
  ["escaped letters", (call) => text(call).includes("\\u00")],
  ["its fields in another order", (call) => Object.keys(sent(call)).join()],
  ["its body in chunks", ({ chunked }) => chunked],
  ["a charset", ({ headers }) => headers["content-type"]],
  ["an unknown field", (call) => extraIn(sent(call))],
  ["an exponent in its amount", (call) => /"amount":[\d.]+e/.test(text(call))],
  ["more than 4 KiB", ({ body }) => body.length > 4096],
  ["another Idempotency-Key", ({ headers }) => headers["idempotency-key"]],
  ["another query", ({ path }) => path],
];

const isNumber = (reference: string) => /^\d+(\.\d+|e\d+)?$/.test(reference);
/** Returns what a spreadsheet shows for a text. */
const computed = (reference: string) =>
  reference.replace(/^=(\d+)\+(\d+)$/, (_, first: string, second: string) => String(BigInt(first) + BigInt(second)));
type Key = (reference: string) => string;
const keys: [what: string, key: Key][] = [
  ["as numbers, so that 7 is 007", (reference) => (isNumber(reference) ? String(Number(reference)) : reference)],
  ["without punctuation", (reference) => reference.replaceAll(/[^\p{L}\p{N}]/gu, "")],
  ["as dates", (reference) => reference.replaceAll(/-0?(\d)\b/g, "-$1")],
  ["as a spreadsheet computes them", computed],
  ["by their first 20 characters", (reference) => reference.slice(0, 20)],
  ["by their last 24 characters", (reference) => reference.slice(-24)],
  ["in Latin-1, cut off", (reference) => Buffer.from(reference, "latin1").toString("latin1")],
  ["without characters beyond the first plane", (reference) => reference.replaceAll(/[^\0-\uffff]/gu, "?")],
  ["after percent-decoding", unescape],
  ["up to a slash, a question mark or a number sign", (reference) => reference.replace(/(.)[/?#].*/s, "$1")],
  ["with a single space for several", (reference) => reference.replaceAll(/ +/g, " ")],
  ["without HTML tags", (reference) => reference.replaceAll(/<[^>]*>/g, "")],
];
/** Keys with which databases compare texts. */
const collations: [what: string, key: Key][] = [
  ["without regard to case", (reference) => reference.toLowerCase()],
  ["without spaces at their end", (reference) => reference.trimEnd()],
  ["in Unicode NFKC", (reference) => reference.normalize("NFKC")],
  ["without accents", (reference) => reference.normalize("NFD").replaceAll(/\p{M}/gu, "")],
  ["without characters that have no width", (reference) => reference.replaceAll("\u200b", "")],
];

const isFinal = ({ status }: Fields) => status === "success" || status === "failed";
const asPending = (record: Fields) => ({ ...record, status: "pending" });

export const faults: Faults = {
  "create.duplicate-refused: A duplicate reference returns 200 and the existing record.": handles(
    async (call, ask, { key }) => {
      const reply = await ask(call);
      if (!isOf(call, "createDisbursement") || reply?.status !== 409 || keyOf(call) !== key) return reply;
      return ask({ ...call, method: "GET", path: String(reply.headers["location"]), body: Buffer.alloc(0) });
    },
  ),
  "create.duplicate-refused: A duplicate reference is paid again.": also(
    "create.model",
    paysAgain(() => true),
  ),
  ...forEach(others, (name) => [
    `create.duplicate-any-field: A duplicate reference with only another ${name} is paid again.`,
    paysAgain((fields, first) => differing(fields, first.fields).join() === name),
  ]),
  ...forEach(forms, ([what, form]) => [
    `create.duplicate-any-field: A duplicate reference is paid again if its request has ${what}.`,
    paysAgain((_, first, call) => form(call) !== form(first.call)),
  ]),
  "create.duplicate-invalid-refused: An invalid request with a duplicate reference returns 200 and the existing record.":
    caches("createDisbursement", (call) => String(sent(call)["reference"]), [400, 422]),
  "create.duplicate-race: Uniqueness is checked before the insert without a lock, so that two concurrent creates are both paid.":
    paysAgain((_, first) => first.isUnderWay),
  "create.duplicate-race: Two creates within 1 ms with the same reference are both paid.": paysAgain(
    (_, first) => Date.now() - first.at <= 1,
  ),
  "create.duplicate-race: The loser of a race between duplicates gets 500.": () => {
    const underWay = new Set<unknown>();
    return handles(async (call, ask) => {
      const reference = disbursementIn(call)?.["reference"];
      if (reference !== undefined && underWay.has(reference)) return refusal(500);
      underWay.add(reference);
      return ask(call).finally(() => underWay.delete(reference));
    });
  },
  "create.duplicate-race-any-field: Concurrent requests with the same reference are all paid if they differ in currency.":
    paysAgain((fields, first) => first.isUnderWay && differing(fields, first.fields).includes("currency")),
  ...forEach(keys, ([what, key]) => [`create.references-apart: References are compared ${what}.`, confuses(key)]),
  ...forEach(collations, ([what, key]) => [
    `create.references-apart: References are collated ${what}.`,
    also("limits.reference-as-sent", confuses(key)),
  ]),
  ...forEach(["null", "0", "constructor"], (word) => [
    `create.references-apart: The reference "${word}" is refused as missing.`,
    refuses(({ reference }) => reference === word),
  ]),
  "create.references-apart: Every tenth payout is made, but refused with 429.": () => {
    const isTenth = everyNth(10);
    return responses("createDisbursement", (reply) =>
      isAccepted(reply) && isTenth() ? withHeader(refusal(429), "retry-after", "0") : reply,
    );
  },
  "uniqueness.failed-counts: The reference of a failed payout can be used again.": paysAgain((_, first) =>
    String(first.fields["phoneNumber"]).endsWith("089"),
  ),
  "uniqueness.refused-leaves-none: A refused request reserves its reference.": reserves(
    (_, { status }) => status === 400 || status === 422,
  ),
  "uniqueness.per-merchant: References must be unique across all merchants.": refusesNamesakes(
    (call) => disbursementIn(call)?.["reference"],
    keyOf,
  ),
  ...forEach(
    ["verifyDisbursement", "verifyCheckout", "finishCheckout", "replayDelivery", "listEvents", "listDeliveries"],
    (operation) => [
      `uniqueness.merchants-apart: The operation ${operation} is open to another merchant.`,
      opens(operation, isOfSecond),
    ],
  ),
  "recovery.location: A 409 has no Location.": also(
    "recovery.lost-answer",
    responses("createDisbursement", (reply) => withHeader(reply, "location")),
  ),
  "recovery.lost-answer: Location points to another payout.": () => {
    let first: string | undefined;
    return responses("createDisbursement", (reply) => {
      if (isAccepted(reply)) first ??= `/v1/disbursements/${String(dataOf(reply)["reference"])}`;
      return reply.status === 409 ? withHeader(reply, "location", first) : reply;
    });
  },
  "recovery.lost-answer: A payout whose response was lost is not recorded.": also(
    "forced.504-answer-lost",
    handles(async (call, ask) =>
      String(disbursementIn(call)?.["phoneNumber"]).endsWith("504") ? undefined : ask(call),
    ),
  ),
  "status.final-stays: A stale replica serves all concurrent verifies of a record except the first.": also(
    "life.final-status",
    () => {
      const underWay = new Map<string, number>();
      return handles(async (call, ask) => {
        const before = underWay.get(call.path) ?? 0;
        underWay.set(call.path, before + 1);
        const reply = await ask(call);
        underWay.set(call.path, (underWay.get(call.path) ?? 1) - 1);
        const isStale = before > 0 && reply && isOf(call, "verifyDisbursement") && isFinal(dataOf(reply));
        return isStale ? withData(reply, asPending(dataOf(reply))) : reply;
      });
    },
  ),
  "life.final-status: One in 20 verifies returns pending after the outcome.": () => {
    const isTwentieth = everyNth(20);
    return records((record) => (isFinal(record) && isTwentieth() ? asPending(record) : record));
  },
  "status.updated-at-moves: updatedAt is the time of the verify request.": records((record) => ({
    ...record,
    updatedAt: new Date().toISOString(),
  })),
  "status.settles: Payouts never settle.": records(asPending),
  "status.settles: A payout settles as reversed instead of success.": records((record) =>
    record["status"] === "success" ? { ...record, status: "reversed" } : record,
  ),
};
