// Compares what exchanges and webhooks state about a record with what was stated before.
import { type Fields, isExact, isFinal, type Kind, lasting, optional } from "../history/history.ts";
import { comparable } from "../history/webhooks.ts";
import type { Exchange } from "../results.ts";
import { textOf } from "../target/values.ts";
import type { Call } from "./calls.ts";
import { type Record, type Records, type Said, sayingOf } from "./records.ts";
import { rules } from "./rules.ts";
import { type Hash, markOf, shownExchange, type Tally, valueAt } from "./tally.ts";
import type { Seen } from "./traffic.ts";

/** Numbers are remembered as hashes. */
const phoneNumber = "customer.phoneNumber";
/** A merchant may change its name, and a service erases customers after a while, down to the code of their country. */
const kept = lasting.filter((field) => field !== "merchant.name");
const isErased = (field: string, value: unknown) => field === phoneNumber && /^\d{3}0+$/.test(textOf(value));

/** The fields of a create and the facts that they state. */
const facts = Object.entries({
  reference: "merchantsReference",
  amount: "amount",
  country: "country",
  currency: "currency",
  phoneNumber,
  webhookURL: "webhookURL",
  redirectURL: "redirectURL",
});

/** Returns the facts that a valid create states. An address that it lacks may come from the merchant's settings. */
export function factsSent({ sent, faults }: Call): Fields {
  const given =
    faults.length > 0 ? [] : facts.filter(([field]) => typeof sent[field] === "string" || field === "amount");
  return Object.fromEntries(given.map(([field, fact]) => [fact, sent[field]]));
}

/** Returns the facts of a create and its response. What differs between the two, the rules for responses judge. */
export function factsOfCreate(call: Call): Fields {
  const { reference, merchantsReference, amount, fee } = call.data;
  const known = Object.entries(factsSent(call)).filter(([, value]) => value !== undefined);
  return { reference, merchantsReference, amount, fee, ...Object.fromEntries(known) };
}

/** Returns the facts of a record. The record of a verify has no address if it shows none; items of lists are shorter. */
export function factsOfRecord(record: Fields, kind: Kind, by: Said["by"]): Fields {
  const found = kept.map((field) => [field, valueAt(record, field)] as const);
  const addresses = optional[kind].map(
    (field) => [field, record[field] ?? (by === "verify" ? null : undefined)] as const,
  );
  return Object.fromEntries([...found, ...addresses]);
}

/** Returns the facts in a webhook of any shape that can be recognised. */
export const factsRecognised = (object: Fields): Fields =>
  Object.fromEntries(comparable.map(([field, fact, read]) => [fact, read(object[field])]));

/** A replica that nobody has read since may be as far behind a webhook. */
const leastWebhookLagMs = 15_000;

type Deps = {
  tally: Tally;
  hashOf: Hash;
  records: Records;
  /** For how long a response may show an earlier state, in milliseconds. */
  staleMs: number;
  webhookClockMs: number;
};

export type Statements = ReturnType<typeof createStatements>;

export function createStatements({ tally, hashOf, records, staleMs, webhookClockMs }: Deps) {
  const webhookLagMs = Math.max(webhookClockMs, leastWebhookLagMs);

  /** Returns a value as it is remembered; undefined if it states nothing that could be compared. */
  function remembered(field: string, value: unknown): unknown {
    if (value === null && field.endsWith("URL")) return null;
    if (!isExact(value) || isErased(field, value)) return undefined;
    return field === phoneNumber ? hashOf(textOf(value)) : value;
  }
  const shown = (field: string, value: unknown) =>
    field === phoneNumber ? markOf(value) : tally.shownValue(field, value);

  /** Returns what was said about a record, as evidence. */
  function evidenceOf(record: Record, said: Said): Exchange {
    const { by, state } = said;
    const path = `/v1/${record.kind}s`;
    const method = by === "create" || by === "webhook" ? "POST" : "GET";
    const url = by === "webhook" ? "(webhook)" : by === "verify" ? `${path}/${record.reference}` : path;
    const values = Object.entries(said.facts).map(([field, value]) => [`data.${field}`, shown(field, value)]);
    const body = Object.fromEntries([...values, ...(state === undefined ? [] : [["data.status", state]])]) as object;
    return by === "webhook"
      ? shownExchange({ ...said, method, url }, body, undefined)
      : shownExchange({ ...said, method, url }, undefined, body);
  }

  function contradictFact(record: Record, first: Said, field: string, value: unknown, by: Said["by"], seen: Seen) {
    const its = rules[record.kind];
    const agrees =
      { fee: its.agreesInFee, [phoneNumber]: its.agreesInRecipient, webhookURL: its.agreesInAddress }[field] ??
      its.agrees;
    const isOf = (side: Said["by"]) => first.by === side || by === side;
    const ofWebhook = field === "amount" ? its.notifiedAmount : its.notifiedFact;
    const ids = isOf("webhook") ? ofWebhook : isOf("create") ? [...its.kept, ...agrees] : its.kept;
    tally.contradicted(
      ids,
      `${field} ${textOf(shown(field, value))}`,
      () => [evidenceOf(record, first), seen],
      `${field} ${textOf(shown(field, first.facts[field]))} of ${record.reference}, as stated before`,
    );
  }

  /** States facts. Returns true if none contradicts an earlier one. */
  function stateFacts(record: Record, stated: Fields, said: Said, seen: Seen): boolean {
    let isTrue = true;
    for (const field in stated) {
      const value = remembered(field, stated[field]);
      if (value === undefined) continue;
      const first = sayingOf(record, field);
      if (!first) said.facts[field] = value;
      else if (first.facts[field] !== value) {
        isTrue = false;
        contradictFact(record, first, field, value, said.by, seen);
      }
    }
    return isTrue;
  }

  /** States a status. Only final ones that differ contradict each other at once; webhooks state only these. */
  function stateStatus(record: Record, state: string, said: Said, seen: Seen) {
    if (said.by === "webhook" && !isFinal(state)) return;
    const final = record.said.find((each) => isFinal(each.state));
    if (!record.said.some((each) => each.state === state)) said.state = state;
    if (!final) return;
    const hasWebhook = final.by === "webhook" || said.by === "webhook";
    const ids = rules[record.kind][hasWebhook ? "notifiedEnd" : "final"];
    const lateMs = staleMs + (hasWebhook ? webhookLagMs : 0);
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
    evidenceOf,
    /** States what a response or webhook says. Returns true if the facts contradict nothing. */
    state(record: Record, by: Said["by"], seen: Seen, stated: Fields, status: unknown): boolean {
      const { sentAt } = seen;
      const ofExchange = seen.kind === "exchange";
      const said: Said = {
        by,
        sentAt,
        endedAt: ofExchange ? seen.endedAt : sentAt,
        status: ofExchange ? seen.response?.status : seen.status,
        facts: {},
      };
      const isTrue = stateFacts(record, stated, said, seen);
      if (typeof status === "string") stateStatus(record, status, said, seen);
      if (said.state !== undefined || Object.keys(said.facts).length > 0) {
        record.said.push(said);
        records.changed(record);
      }
      return isTrue;
    },
  };
}
