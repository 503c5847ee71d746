// Compares what exchanges and webhooks state about a record with what was stated before.
import { type Fields, isExact, isFinal, type Kind, lasting, optional, valueAt } from "../history/history.ts";
import { comparable } from "../history/webhooks.ts";
import { textOf } from "../target/values.ts";
import type { Call } from "./calls.ts";
import { evidenceOf, type Record, type Records, type Said, sourceOf } from "./records.ts";
import { type Event, idsOf } from "./rules.ts";
import type { Hashes, Tally } from "./tally.ts";
import type { Seen } from "./traffic.ts";
import type { RequirementId } from "../../generated/requirement-ids.ts";

const phoneNumber = "customer.phoneNumber";
/** A merchant may change its name. */
const kept = lasting.filter((field) => field !== "merchant.name");

/** The fields of a create and the facts that they state. */
const fieldsSent = Object.entries({
  reference: "merchantsReference",
  amount: "amount",
  country: "country",
  currency: "currency",
  phoneNumber,
  webhookURL: "webhookURL",
  redirectURL: "redirectURL",
});
/** What a record contradicts that differs from its create in this fact. */
const agreements: { [fact: string]: Event } = { fee: "fee", [phoneNumber]: "recipient", webhookURL: "address" };
const failureCode = "failure.code";
/** What contradicts a fact that only the end of a record states. */
const ofEnd: { [fact: string]: Event } = { updatedAt: "endedAt", [failureCode]: "failure" };

/** Returns what two statements about a fact keep or contradict. */
function idsOfFact(kind: Kind, field: string, sources: Said["by"][]): readonly RequirementId[] {
  const end = ofEnd[field];
  if (end) return idsOf(kind, end);
  if (sources.includes("webhook")) return idsOf(kind, field === "amount" ? "notifiedAmount" : "notifiedFact");
  const agrees = sources.includes("create") ? idsOf(kind, agreements[field] ?? "agrees") : [];
  return [...idsOf(kind, "kept"), ...agrees];
}

/** Returns the facts that a valid create states. An address that it lacks may come from the merchant's settings. */
export function factsSent({ sent, faults }: Call): Fields {
  const stated: Fields = {};
  for (const [field, fact] of faults.length > 0 ? [] : fieldsSent) if (isExact(sent[field])) stated[fact] = sent[field];
  return stated;
}

/** Returns the facts of a create and its response. What differs between the two, the rules for responses judge. */
export function factsOfCreate(call: Call): Fields {
  const { reference, merchantsReference, amount, fee } = call.data;
  return { reference, merchantsReference, amount, fee, ...factsSent(call) };
}

/** Returns the facts of a record. In the record of a verify, an address that is missing is null. */
export function factsOfRecord(record: Fields, kind: Kind, by: Said["by"]): Fields {
  const stated: Fields = {};
  for (const field of kept) stated[field] = valueAt(record, field);
  for (const field of optional[kind]) stated[field] = record[field] ?? (by === "verify" ? null : undefined);
  if (isFinal(record["status"])) stated["updatedAt"] = record["updatedAt"];
  if (record["status"] === "failed") stated[failureCode] = valueAt(record, failureCode) ?? null;
  return stated;
}

/** Returns the facts in a webhook of any shape that can be recognised. */
export const factsRecognised = (object: Fields): Fields =>
  Object.fromEntries(comparable.map(([field, fact, read]) => [fact, read(object[field])]));

/** A replica that nobody has read since may be as far behind a webhook. */
const leastWebhookLagMs = 15_000;

type Deps = {
  tally: Tally;
  hashes: Hashes;
  records: Records;
  /** For how long a response may show an earlier state, in milliseconds. */
  staleMs: number;
  webhookClockMs: number;
};

export type Statements = ReturnType<typeof createStatements>;

export function createStatements({ tally, hashes, records, staleMs, webhookClockMs }: Deps) {
  /** Returns a value as it is remembered; undefined if it states nothing that could be compared. */
  function remembered(field: string, value: unknown): unknown {
    if (value === null && (field.endsWith("URL") || field === failureCode)) return null;
    if (!isExact(value)) return undefined;
    if (field !== phoneNumber) return value;
    // A service erases customers after a while, down to the code of their country.
    return /^\d{3}0+$/.test(textOf(value)) ? undefined : hashes.markOf(textOf(value));
  }

  function stateFacts(record: Record, stated: Fields, said: Said, seen: Seen): boolean {
    const { kind, reference } = record;
    let isTrue = true;
    for (const field in stated) {
      const value = remembered(field, stated[field]);
      if (value === undefined) continue;
      const first = sourceOf(record, field);
      if (!first) said.facts[field] = value;
      const isOfEnd = ofEnd[field] !== undefined;
      const isSame = first?.facts[field] === value;
      if (!first || (isSame && !isOfEnd)) continue;
      const ids = idsOfFact(kind, field, [first.by, said.by]);
      if (isSame) tally.held(ids);
      else {
        isTrue &&= isOfEnd;
        const [known, given] = [first.facts[field], value].map((each) => textOf(tally.shownValue(field, each)));
        tally.contradicted(
          ids,
          `${field} ${given}`,
          () => [evidenceOf(record, first), seen],
          `${field} ${known} of ${reference}, as stated before`,
        );
      }
    }
    return isTrue;
  }

  /** States a status. Only final ones that differ contradict each other at once; webhooks state only these. */
  function stateStatus(record: Record, state: string, said: Said, seen: Seen) {
    if (said.by === "webhook" && !isFinal(state)) return;
    // A response is the better witness: a webhook may come before replicas show what it says.
    const ends = record.said.filter((each) => isFinal(each.state));
    const final = ends.find(({ by }) => by !== "webhook") ?? ends[0];
    const isKnown = (each: Said) => each.state === state && (each.by !== "webhook" || said.by === "webhook");
    if (!record.said.some(isKnown)) said.state = state;
    if (!final) return;
    const hasWebhook = final.by === "webhook" || said.by === "webhook";
    const isNotified = record.notified.some(([each]) => each === final.state);
    const ids = [
      ...(hasWebhook ? [] : idsOf(record.kind, "final")),
      ...(hasWebhook || isNotified ? idsOf(record.kind, "notifiedEnd") : []),
    ];
    const lateMs = staleMs + (hasWebhook ? Math.max(webhookClockMs, leastWebhookLagMs) : 0);
    if (final.state === state) tally.held(ids);
    else if (isFinal(state) || said.sentAt > final.endedAt + lateMs)
      tally.contradicted(
        ids,
        `status ${state.slice(0, 40)}`,
        () => [evidenceOf(record, final), seen],
        `status ${final.state} of ${record.reference}, as stated before`,
      );
  }

  return {
    remembered,
    /** States what a response or webhook says of a record. Returns true if its facts contradict nothing. */
    state(record: Record, by: Said["by"], seen: Seen, stated: Fields, status: unknown): boolean {
      const { sentAt } = seen;
      const [endedAt, code] = seen.kind === "exchange" ? [seen.endedAt, seen.response?.status] : [sentAt, seen.status];
      const said: Said = { by, sentAt, endedAt, status: code, facts: {} };
      const isTrue = stateFacts(record, stated, said, seen);
      if (typeof status === "string") stateStatus(record, status, said, seen);
      if (said.state === undefined && Object.keys(said.facts).length === 0) return isTrue;
      record.said.push(said);
      records.changed(record);
      return isTrue;
    },
  };
}
