// Compares what exchanges and webhooks state about a record with what was stated before.
import { titleOf } from "../check.ts";
import { isExact, isFinal, type Kind, optional } from "../history/history.ts";
import { textOf } from "../target/values.ts";
import type { Fields } from "./calls.ts";
import { factOf, fields, indexOf, isStated, type Record, type Records, type Source } from "./records.ts";
import type { Exchange } from "../results.ts";
import { type Hash, isPersonal, markOf, shownExchange, type Tally, valueAt } from "./tally.ts";
import type { RequirementId } from "../../generated/requirement-ids.ts";

/** A statement: where it was made, and the exchange or webhook as evidence. */
export type Stated = { source: Source; evidence: () => Exchange };

/** What a record contradicts that differs from its create, beside that facts stay as they are. */
function agreements(kind: Kind, field: string): RequirementId[] {
  if (kind === "checkout") return ["checkout-record.agrees"];
  if (field === "customer.phoneNumber") return ["verify.customer", "records.as-requested", "records.phone-digits"];
  if (field === "webhookURL") return ["verify.webhook-address", "addresses.kept", "records.as-requested"];
  return ["verify.agrees-with-create", field === "fee" ? "fee.on-top" : "records.as-requested"];
}

/** What a 409 contradicts whose Location leads to a record with another reference of the merchant. */
export const ofLocation: { [kind in Kind]: RequirementId[] } = {
  disbursement: ["recovery.location", "recovery.lost-answer"],
  checkout: ["checkout-request.reference-unique"],
};
const ofFacts: { [kind in Kind]: RequirementId } = { disbursement: "life.facts-kept", checkout: "life.checkouts-kept" };
const ofEnds: { [kind in Kind]: RequirementId[] } = {
  disbursement: ["life.final-status", "status.final-stays"],
  checkout: ["life.checkouts-kept", "checkout-states.final"],
};
const ofWebhooks: RequirementId[] = ["life.webhooks-true", "events.data-is-the-record", "life.events-agree"];
const ofNotifiedEnds: RequirementId[] = ["life.ends-as-notified", "webhook.truth", "life.events-agree"];

/** A replica that nobody has read since may be as far behind a webhook. */
const leastWebhookLagMs = 15_000;

const exact = (value: unknown) => (isExact(value) ? value : undefined);

/** Returns the values of a record by the index of their field. An address that the record lacks is null. */
export const valuesIn = (record: Fields, kind: Kind): unknown[] =>
  fields.map((field) => {
    if (optional[kind].includes(field)) return record[field] ?? null;
    if (field === "failure.code" && record["status"] === "failed") return valueAt(record, field) ?? null;
    return field.endsWith("URL") ? undefined : exact(valueAt(record, field));
  });

/** Returns values that have the names of fields by the index of their field. */
export function valuesOf(stated: Fields): unknown[] {
  const values: unknown[] = fields.map(() => undefined);
  for (const [field, value] of Object.entries(stated)) values[indexOf(field)] = value === null ? null : exact(value);
  return values;
}

type Deps = {
  tally: Tally;
  hashOf: Hash;
  records: Records;
  /** For how long a response may show an earlier state, in milliseconds. */
  staleMs: number;
  /** By how much the clocks of exchanges and webhooks may differ. */
  webhookClockMs: number;
};

export type Statements = ReturnType<typeof createStatements>;

export function createStatements({ tally, hashOf, records, staleMs, webhookClockMs }: Deps) {
  const remembered = (field: string, value: unknown) => (isPersonal(field) ? hashOf(textOf(value)) : value);
  const shown = (field: string, value: unknown) => (isPersonal(field) ? markOf(value) : tally.shownValue(field, value));

  /** Returns what a source stated about a record, as evidence. */
  function evidenceOf(record: Record, place: number): Exchange {
    const { kind, reference, sources, facts, statedBy, statuses } = record;
    const [by, sentAt, endedAt, status] = sources[place]!;
    const values = facts.flatMap((fact, index) =>
      statedBy[index] === place ? [[`data.${fields[index]!}`, shown(fields[index]!, fact)] as const] : [],
    );
    const said = statuses.filter((each) => each[1] === place).map((each) => ["data.status", each[0]] as const);
    const body = Object.fromEntries([...values, ...said]);
    const at = new Date(sentAt).toISOString();
    if (by === "webhook") {
      const url = URL.parse(textOf(factOf(record, "webhookURL")));
      return shownExchange({ at, method: "POST", url: url?.pathname ?? "", status, requestBody: body });
    }
    const path = by === "verify" ? `/v1/${kind}s/${reference}` : `/v1/${kind}s`;
    const method = by === "create" || by === "refusal" ? "POST" : "GET";
    return shownExchange({ at, durationMs: endedAt - sentAt, method, url: path, status, responseBody: body });
  }

  /** Notes that a statement contradicts an earlier one of the record. */
  function contradict(
    ids: readonly RequirementId[],
    record: Record,
    place: number,
    { evidence }: Stated,
    text: () => { expected?: string; actual: string },
  ) {
    for (const id of ids)
      tally.contradicted(id, () => ({
        expected: titleOf(id),
        ...text(),
        exchanges: [...(record.sources[place] ? [evidenceOf(record, place)] : []), evidence()],
      }));
  }

  function contradictFact(record: Record, index: number, value: unknown, stated: Stated) {
    const { kind, facts, sources, statedBy, reference } = record;
    const [first, place] = [facts[index], statedBy[index]!];
    const field = fields[index]!;
    const sides = new Set([stated.source[0], sources[place]![0]]);
    const ofRecord = [ofFacts[kind], ...(sides.has("create") ? agreements(kind, field) : [])];
    const ofWebhook = field === "amount" ? [...ofWebhooks, "webhook.amount" as const] : ofWebhooks;
    const ids = sides.has("refusal") ? ofLocation[kind] : sides.has("webhook") ? ofWebhook : ofRecord;
    contradict(field === "failure.code" ? ["failure.same-everywhere"] : ids, record, place, stated, () => ({
      expected: `${field} ${textOf(shown(field, first))} of ${reference}, as stated before`,
      actual: `${field} ${textOf(shown(field, remembered(field, value)))}`,
    }));
  }

  /** States facts by the index of their field; undefined ones are ignored. Returns true if none contradicts another. */
  function stateFacts(record: Record, values: readonly unknown[], stated: Stated): boolean {
    let place = -1;
    let isTrue = true;
    for (const [index, given] of values.entries()) {
      if (given === undefined) continue;
      const value = remembered(fields[index]!, given);
      if (!isStated(record, index)) {
        if (place < 0) place = record.sources.push(stated.source) - 1;
        record.facts[index] = value;
        record.statedBy[index] = place;
      } else if (record.facts[index] !== value) {
        isTrue = false;
        contradictFact(record, index, given, stated);
      }
    }
    if (place >= 0) records.changed(record);
    return isTrue;
  }

  function contradictStatus(record: Record, status: string, place: number, stated: Stated) {
    const isOfWebhook = stated.source[0] === "webhook" || record.sources[place]![0] === "webhook";
    contradict(isOfWebhook ? ofNotifiedEnds : ofEnds[record.kind], record, place, stated, () => ({
      expected: `status ${record.statuses.find((each) => each[1] === place)![0]} of ${record.reference}, as stated before`,
      actual: `status ${status.slice(0, 40)}`,
    }));
  }

  /** Returns true if what the second source found cannot be older than what the first one found. */
  function isLater([by, , endedAt]: Source, [other, sentAt]: Source): boolean {
    const isMixed = (by === "webhook") !== (other === "webhook");
    const toleranceMs = staleMs + (isMixed ? Math.max(webhookClockMs, leastWebhookLagMs) : 0);
    return sentAt > endedAt + toleranceMs;
  }

  /** States a status. Only finals that differ contradict each other in any order. */
  function stateStatus(record: Record, value: unknown, updatedAt: unknown, stated: Stated) {
    if (typeof value !== "string") return;
    const { statuses, sources, kind } = record;
    const [by, sentAt] = stated.source;
    const final = statuses.find(([each]) => isFinal(each));
    const open = statuses.find(([each]) => !isFinal(each));
    if (isFinal(value)) {
      if (final && final[0] !== value) contradictStatus(record, value, final[1], stated);
      else if (final) for (const id of by === "webhook" ? ofNotifiedEnds : ofEnds[kind]) tally.held(id);
      else if (open && isLater(stated.source, ["verify", record.openAt, 0, 200]))
        contradictStatus(record, value, open[1], stated);
    } else if (by !== "webhook") {
      record.openAt = Math.max(record.openAt, sentAt);
      if (final && isLater(sources[final[1]]!, stated.source)) contradictStatus(record, value, final[1], stated);
    }
    const known = statuses.find(([each]) => each === value);
    if (!known) {
      statuses.push([value, sources.push(stated.source) - 1, updatedAt]);
      records.changed(record);
    } else if (updatedAt !== undefined && kind === "disbursement") {
      known[2] ??= updatedAt;
      if (known[2] === updatedAt) tally.held("status.updated-at-moves");
      else
        contradict(["status.updated-at-moves"], record, known[1], stated, () => ({
          expected: `updatedAt ${textOf(known[2])} of ${record.reference} while its status is ${value}`,
          actual: `updatedAt ${textOf(updatedAt)}`,
        }));
    }
  }

  return {
    remembered,
    evidenceOf,
    contradict,
    facts: stateFacts,
    status: stateStatus,
    /** States a record as verify, a list or an event shows it. Returns true if its facts contradict nothing. */
    record(record: Record, value: Fields, stated: Stated): boolean {
      const isTrue = stateFacts(record, valuesIn(value, record.kind), stated);
      stateStatus(record, value["status"], value["updatedAt"], stated);
      if (stated.source[0] !== "webhook") record.shownAt ||= stated.source[2];
      if (isTrue) tally.held(stated.source[0] === "webhook" ? "life.webhooks-true" : ofFacts[record.kind]);
      return isTrue;
    },
  };
}

/** The requirements that statements can contradict. */
export const ofStatements: readonly RequirementId[] = [
  ...Object.values(ofFacts),
  ...Object.values(ofEnds).flat(),
  ...ofWebhooks,
  ...ofNotifiedEnds,
  ...["customer.phoneNumber", "webhookURL", "fee", "amount"].flatMap((field) => agreements("disbursement", field)),
  ...agreements("checkout", "amount"),
  "webhook.amount",
  "status.updated-at-moves",
  "failure.same-everywhere",
];
