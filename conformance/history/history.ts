// The history of one payout or checkout: statements about it, and later responses that contradict them.
import type { TargetResponse } from "../target/exchange.ts";
import { equal } from "../target/values.ts";

export type Fields = Record<string, unknown>;
export type Kind = "disbursement" | "checkout";
export type Merchant = "own" | "second";

export type History = {
  kind: Kind;
  merchant: Merchant;
  /** The service's reference. */
  reference: string;
  /** The facts by field, each with the first response that stated it. */
  facts: Map<string, { value: unknown; response: TargetResponse }>;
  /** The statuses that responses stated, in order and without repetitions. */
  statuses: { status: string; at: number; response: TargetResponse }[];
  /** The last response that stated that the record is not final; undefined if no response stated that. */
  open?: TargetResponse;
  /** The latest record that verify returned; undefined if it has not returned a record yet. */
  record?: Fields;
  /** The response that contained the record. */
  read?: TargetResponse;
};

/** A response that contradicts an earlier response. */
export type Contradiction = {
  kind: Kind;
  what: "fact" | "existence" | "final-status";
  expected: string;
  actual: string;
  evidence: TargetResponse[];
};

/** The fields of a record that never change. */
const lasting = [
  "id",
  "userId",
  "reference",
  "merchantsReference",
  "amount",
  "fee",
  "country",
  "currency",
  "createdAt",
  "customer.id",
  "customer.phoneNumber",
  "merchant.name",
];
/** Fields that a record may lack. If such a field is missing or null, it must stay missing or null. */
const optional = { disbursement: ["webhookURL"], checkout: ["webhookURL", "redirectURL"] };
const finals = new Set(["success", "failed", "cancelled"]);

export const isFinal = (status: unknown) => finals.has(status as string);

const valueAt = (fields: Fields, path: string): unknown =>
  path.split(".").reduce<unknown>((value, name) => (value as Fields | null | undefined)?.[name], fields);

/** Describes a field for people. Phone numbers are not shown. */
const shown = (field: string, value: unknown) =>
  field.endsWith("phoneNumber") ? field : `${field} ${JSON.stringify(value)}`;

export const describeRequest = ({ request }: TargetResponse) => `${request.method} ${request.path.slice(0, 80)}`;

export const sentAt = ({ exchange }: TargetResponse) => Date.parse(exchange.at);

function stateFact(history: History, field: string, value: unknown, response: TargetResponse): Contradiction[] {
  const first = history.facts.get(field);
  if (!first) history.facts.set(field, { value, response });
  if (!first || equal(first.value, value)) return [];
  const seconds = ((sentAt(response) - sentAt(first.response)) / 1000).toFixed(1);
  const changed = `${field.endsWith("phoneNumber") ? "another " : ""}${shown(field, value)}`;
  return [
    {
      kind: history.kind,
      what: "fact",
      expected: `${shown(field, first.value)}, as in ${describeRequest(first.response)}`,
      actual: `${changed} in ${describeRequest(response)}, ${seconds} s later`,
      evidence: [first.response, response],
    },
  ];
}

/** Adds facts to a history. Returns the facts that contradict earlier facts. Facts that are undefined are ignored. */
export const stateFacts = (history: History, facts: Fields, response: TargetResponse): Contradiction[] =>
  Object.entries(facts)
    .filter(([, value]) => value !== undefined)
    .flatMap(([field, value]) => stateFact(history, field, value, response));

/** Adds a status to a history. `at` is the time at which the response was received. */
export function stateStatus(history: History, status: unknown, response: TargetResponse, at: number): Contradiction[] {
  const { statuses, kind } = history;
  if (!isFinal(status)) history.open = response;
  const last = statuses.at(-1);
  // Concurrent responses may overtake each other, so ignore a response that was requested before the last status was
  // received.
  if (typeof status !== "string" || last?.status === status || (last && sentAt(response) <= last.at)) return [];
  statuses.push({ status, at, response });
  const final = statuses.find((seen) => isFinal(seen.status));
  if (!final || final.status === status) return [];
  return [
    {
      kind,
      what: "final-status",
      expected: `status ${final.status} for ever, after ${describeRequest(final.response)} returned it`,
      actual: `status ${status} in ${describeRequest(response)}`,
      evidence: [final.response, response],
    },
  ];
}

/** Adds a complete record to a history. */
export function stateRecord(history: History, record: Fields, response: TargetResponse, at: number): Contradiction[] {
  history.record = record;
  history.read = response;
  const facts = {
    ...Object.fromEntries(lasting.map((field) => [field, valueAt(record, field)])),
    ...Object.fromEntries(optional[history.kind].map((field) => [field, record[field] ?? null])),
  };
  return [...stateFacts(history, facts, response), ...stateStatus(history, record["status"], response, at)];
}
