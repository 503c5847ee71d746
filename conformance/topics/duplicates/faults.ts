// Servers that pay a reference twice, confuse references or merchants, or do not let a client recover (§2.1, §7, D3 to
// D5).
import { also, caughtOnlyBy, forEach, type Call, type Faults, type How, type Reply } from "../../broken/fault.ts";
import { confuses, paysAgain, refusesNamesakes, reserves } from "../../broken/memory.ts";
import { dataOf, isAccepted, refusal, withData, withHeader } from "../../broken/replies.ts";
import {
  disbursementIn,
  everyNth,
  extraIn,
  isOf,
  isOfSecond,
  keyOf,
  sent,
  withFields,
  withKey,
  type Fields,
} from "../../broken/calls.ts";
import { handles, opens, records, refuses, responses } from "../../broken/changes.ts";

const others = ["amount", "phoneNumber", "country", "currency", "webhookURL"];
const differing = (now: Fields, before: Fields) => others.filter((name) => now[name] !== before[name]);
/** Pays a duplicate if it differs from the first request with its reference in exactly these fields. */
const paysIfDifferent = (...names: string[]) =>
  paysAgain((fields, first) => differing(fields, first.fields).join() === names.join());
/** Pays a duplicate that arrives while the first request is under way, if at least these fields differ. */
const racesOn = (...names: string[]) =>
  paysAgain(
    (fields, first) => first.isUnderWay && names.every((name) => differing(fields, first.fields).includes(name)),
  );
const isUnderWay = (_: Fields, first: { isUnderWay: boolean }) => first.isUnderWay;

/** Refuses the loser of a race between duplicates with this status. */
const losesRace =
  (status: number): How =>
  () => {
    const underWay = new Set<unknown>();
    return handles(async (call, ask) => {
      const reference = disbursementIn(call)?.["reference"];
      if (reference !== undefined && underWay.has(reference)) return refusal(status);
      underWay.add(reference);
      return ask(call).finally(() => underWay.delete(reference));
    });
  };

/** Looks for a reference first, and remembers the reference later, as a server without a unique index does. */
const remembersAfter =
  (ms: number): How =>
  () => {
    const used = new Set<string>();
    let count = 0;
    return handles(async (call, ask, { sleep }) => {
      const fields = disbursementIn(call);
      const reference = String(fields?.["reference"]);
      if (!fields || used.has(reference)) return ask(call);
      await sleep(ms);
      const isRaced = used.has(reference);
      used.add(reference);
      return ask(isRaced ? withFields(call, { ...fields, reference: `raced-${(count += 1)}` }) : call);
    });
  };

const text = ({ body }: Call) => String(body);
const names = (call: Call) => Object.keys(sent(call));
/** What a service may compare besides the reference, by the kind of repetition that it then takes for a new request. */
const forms: [what: string, form: (call: Call) => unknown][] = [
  ["escaped letters", (call) => text(call).includes("\\u00")],
  ["white space around its fields", (call) => /^\s*\{\s/.test(text(call))],
  ["its fields in another order", (call) => names(call).indexOf("reference") < names(call).indexOf("amount")],
  ["its body in chunks", ({ chunked }) => chunked],
  ["a charset", ({ headers }) => headers["content-type"]],
  ["a charset in capitals", ({ headers }) => String(headers["content-type"]).includes("UTF-8")],
  ["an unknown field", (call) => extraIn(sent(call)) !== undefined],
  ["an exponent in its amount", (call) => /"amount":[\d.]+e/.test(text(call))],
  ["more than 4 KiB", ({ body }) => body.length > 4096],
  ["an Expect header", ({ headers }) => headers["expect"]],
  ["another Accept header", ({ headers }) => headers["accept"]],
  ["another Idempotency-Key", ({ headers }) => headers["idempotency-key"]],
  ["another query", ({ path }) => path],
];

const isNumber = (reference: string) => /^\d+(\.\d+|e\d+)?$/.test(reference);
/** Returns what a spreadsheet shows for a text. */
const computed = (reference: string) => {
  const [, first, second] = /^=(\d+)\+(\d+)$/.exec(reference) ?? [];
  return first && second ? String(BigInt(first) + BigInt(second)) : reference;
};
const decoded = (reference: string) => {
  try {
    return decodeURIComponent(reference);
  } catch {
    return reference;
  }
};
type Key = (reference: string) => string;
const keys: [what: string, key: Key][] = [
  ["as numbers, so that 7 is 007", (reference) => (isNumber(reference) ? String(Number(reference)) : reference)],
  ["by their digits alone", (reference) => reference.replaceAll(/\D/g, "")],
  ["without punctuation", (reference) => reference.replaceAll(/[^\p{L}\p{N}]/gu, "")],
  ["as dates", (reference) => reference.replaceAll(/-0?(\d)\b/g, "-$1")],
  ["as a spreadsheet computes them", computed],
  ["as phone numbers", (reference) => reference.replace(/^(\+|00)(?=\d{10})/, "")],
  ["by their first 20 characters", (reference) => reference.slice(0, 20)],
  ["by their last 24 characters", (reference) => reference.slice(-24)],
  ["in Latin-1, with question marks", (reference) => reference.replaceAll(/[^\0-\u00ff]/g, "?")],
  ["in Latin-1, cut off", (reference) => Buffer.from(reference, "latin1").toString("latin1")],
  ["without characters beyond the first plane", (reference) => reference.replaceAll(/[^\0-\uffff]/gu, "?")],
  ["after percent-decoding", decoded],
  ["up to a slash, a question mark or a number sign", (reference) => reference.replace(/(.)[/?#].*/s, "$1")],
  ["by the characters that they contain", (reference) => [...reference].toSorted().join("")],
  ["with a single space for several", (reference) => reference.replaceAll(/ +/g, " ")],
  ["without HTML tags", (reference) => reference.replaceAll(/<[^>]*>/g, "")],
  ["without backslashes", (reference) => reference.replaceAll("\\", "")],
  [
    "with plain hyphens and quotation marks",
    (reference) => reference.replaceAll("\u2013", "-").replaceAll("\u2019", "'"),
  ],
];
/** Keys with which databases compare texts. */
const collations: [what: string, key: Key][] = [
  ["without regard to case", (reference) => reference.toLowerCase()],
  [
    "without regard to case outside of ASCII",
    (reference) => reference.replaceAll(/[^\0-\u007f]/g, (each) => each.toLowerCase()),
  ],
  ["without spaces at their end", (reference) => reference.trimEnd()],
  ["without spaces at their start", (reference) => reference.trimStart()],
  ["in Unicode NFC", (reference) => reference.normalize("NFC")],
  ["after compatibility normalisation", (reference) => reference.normalize("NFKC")],
  ["without accents", (reference) => reference.normalize("NFD").replaceAll(/\p{M}/gu, "")],
  ["without characters that have no width", (reference) => reference.replaceAll("\u200b", "")],
  ["with a space for a space that does not break", (reference) => reference.replaceAll("\u00a0", " ")],
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
  "create.duplicate-refused: A duplicate reference with another amount is paid again.": paysAgain(
    (fields, first) => fields["amount"] !== first.fields["amount"],
  ),
  "create.duplicate-any-field: A duplicate reference with only another country is paid again.": caughtOnlyBy(
    ["create.duplicate-any-field", "create.duplicate-refused", "create.model", "life.references-used"],
    paysIfDifferent("country"),
  ),
  ...forEach(["phoneNumber", "currency", "webhookURL"], (name) => [
    `create.duplicate-any-field: A duplicate reference with only another ${name} is paid again.`,
    paysIfDifferent(name),
  ]),
  "create.duplicate-any-field: A duplicate reference is paid again if every other field differs.": paysIfDifferent(
    ...others,
  ),
  ...forEach(forms, ([what, form]) => [
    `create.duplicate-any-field: A duplicate reference is paid again if its request has ${what}.`,
    paysAgain((_, first, call) => form(call) !== form(first.call)),
  ]),
  "create.duplicate-invalid-refused: An invalid request with a duplicate reference returns 200 and the existing record.":
    () => {
      const made = new Map<unknown, Reply>();
      return responses("createDisbursement", (reply, call) => {
        const { reference } = sent(call);
        if (isAccepted(reply)) made.set(reference, reply);
        return [400, 422].includes(reply.status) ? (made.get(reference) ?? reply) : reply;
      });
    },
  "create.duplicate-race: Uniqueness is checked before the insert without a lock, so that two concurrent creates are both paid.":
    paysAgain(isUnderWay),
  ...forEach([1, 3, 10], (ms) => [
    `create.duplicate-race: Two creates within ${ms} ms with the same reference are both paid.`,
    remembersAfter(ms),
  ]),
  ...forEach([500, 400], (status) => [
    `create.duplicate-race: The loser of a race between duplicates gets ${status}.`,
    losesRace(status),
  ]),
  "create.duplicate-race-any-field: Concurrent requests with the same reference are all paid if they differ in phone number and amount.":
    racesOn("amount", "phoneNumber"),
  ...forEach(["currency", "webhookURL"], (name) => [
    `create.duplicate-race-any-field: Concurrent requests with the same reference are all paid if they differ in ${name}.`,
    racesOn(name),
  ]),
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
  "uniqueness.merchants-apart: A merchant can verify another merchant's payout.": handles(async (call, ask, world) => {
    const own = await ask(call);
    const isOther = isOf(call, "verifyDisbursement") && own?.status === 404 && isOfSecond(call, world);
    return isOther ? ask(withKey(call, world.key)) : own;
  }),
  ...forEach(["verifyCheckout", "finishCheckout", "replayDelivery", "listEvents", "listDeliveries"], (operation) => [
    `uniqueness.merchants-apart: The operation ${operation} is open to another merchant.`,
    opens(operation, isOfSecond),
  ]),
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
  "status.final-stays: A final status reverts to pending on the third verify.": () => {
    const reads = new Map<unknown, number>();
    return records((record) => {
      if (!isFinal(record)) return record;
      const count = (reads.get(record["id"]) ?? 0) + 1;
      reads.set(record["id"], count);
      return count === 3 ? asPending(record) : record;
    });
  },
  "status.final-stays: A stale replica serves all concurrent verifies of a record except the first.": caughtOnlyBy(
    ["status.final-stays", "status.updated-at-moves", "life.final-status"],
    also("life.final-status", () => {
      const underWay = new Map<string, number>();
      return handles(async (call, ask) => {
        const before = underWay.get(call.path) ?? 0;
        underWay.set(call.path, before + 1);
        const reply = await ask(call);
        underWay.set(call.path, (underWay.get(call.path) ?? 1) - 1);
        const isStale = before > 0 && reply && isOf(call, "verifyDisbursement") && isFinal(dataOf(reply));
        return isStale ? withData(reply, asPending(dataOf(reply))) : reply;
      });
    }),
    "extended",
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
