// The history of every payout and checkout of a run: what responses stated about it, and later responses that contradict
// them.
import { operationOf } from "../contract/documented.ts";
import { dataOf, isAccepted, type TargetRequest, type TargetResponse } from "../target/exchange.ts";
import { fieldsOf } from "../target/ledger.ts";
import { decoded, equal, textOf } from "../target/values.ts";

export type Fields = Record<string, unknown>;
export type Kind = "disbursement" | "checkout";
type Merchant = "own" | "second";

export type History = {
  kind: Kind;
  merchant: Merchant;
  reference: string;
  /** The facts by field, each with the first response that stated it. */
  facts: Map<string, { value: unknown; response: TargetResponse }>;
  /** The statuses that responses stated, in order and without repetitions. */
  statuses: { status: string; at: number; response: TargetResponse }[];
  /** The last response that stated that the record is not final; undefined if no response stated that. */
  open?: TargetResponse;
  /** The latest record that verify or a list returned, and its response; undefined if there is none yet. */
  record?: Fields;
  read?: TargetResponse;
};

export type Contradiction = {
  kind: Kind;
  what: "fact" | "existence" | "final-status";
  expected: string;
  actual: string;
  evidence: TargetResponse[];
};

/** The fields of a record that never change. */
export const lasting = [
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
export const optional = { disbursement: ["webhookURL"], checkout: ["webhookURL", "redirectURL"] };
const finals = new Set(["success", "failed", "cancelled"]);

export const isFinal = (status: unknown) => finals.has(status as string);

export const valueAt = (fields: Fields, path: string): unknown =>
  path.split(".").reduce<unknown>((value, name) => (value as Fields | null | undefined)?.[name], fields);

/** Describes a field for people. Phone numbers are not shown. */
const shown = (field: string, value: unknown) =>
  field.endsWith("phoneNumber") ? field : `${field} ${JSON.stringify(value)}`;

export const describeRequest = ({ request }: TargetResponse) => `${request.method} ${request.path.slice(0, 80)}`;

export const sentAt = ({ exchange }: TargetResponse) => Date.parse(exchange.at);

export type Histories = ReturnType<typeof createHistories>;

/** Returns what an operation does, and with which kind of record; undefined if it returns no records. */
export function meaningOf(operation: string): { does: string; kind: Kind } | undefined {
  const [, does, kind] = /^(create|verify|list)(Disbursement|Checkout)s?$/.exec(operation) ?? [];
  return does === undefined ? undefined : { does, kind: kind === "Checkout" ? "checkout" : "disbursement" };
}

/** Returns the merchant whose records a request can see; undefined if the request has another key, or no key. */
export function merchantOf({ request: { key = "own", headers = {} } }: TargetResponse): Merchant | undefined {
  const overridden = Object.keys(headers).some((name) => name.toLowerCase() === "x-api-key");
  return !overridden && (key === "own" || key === "second") ? key : undefined;
}

/** Returns true if a request and its response represent the value without loss. */
export const isExact = (value: unknown) =>
  typeof value === "number" ? Number.isSafeInteger(value) : typeof value === "string" && value.isWellFormed();

/** Returns the facts that a valid request states about the record it creates. */
function factsSent({ request }: TargetResponse): Fields {
  if (request.effect !== "moves-money") return {};
  const { reference, amount, country, currency, phoneNumber } = fieldsOf(request);
  const facts = { merchantsReference: reference, amount, country, currency, "customer.phoneNumber": phoneNumber };
  return Object.fromEntries(Object.entries(facts).filter(([, value]) => isExact(value)));
}

export const lastSegment = ({ request }: TargetResponse) =>
  decoded(request.path.split("?")[0]?.split("/").at(-1) ?? "");

/** Returns true for a GET as every client sends it. A sound target may refuse a query, extra headers or a body. */
const isUsual = ({ path, headers, json, body }: TargetRequest) =>
  !path.includes("?") && headers === undefined && json === undefined && body === undefined;

/** Returns true if the response shows that the record does not exist, or that its owner cannot see it. */
const denies = ({ status = 0, request }: TargetResponse) =>
  isUsual(request) && status !== 0 && status !== 429 && status < 500;

const nameOf = (...parts: [Merchant, Kind, string]) => parts.join(" ");

export function createHistories(now: () => Date) {
  const histories = new Map<string, History>();
  const contradictions: Contradiction[] = [];

  function open(merchant: Merchant, kind: Kind, reference: string): History {
    const name = nameOf(merchant, kind, reference);
    const history = histories.get(name) ?? { kind, merchant, reference, facts: new Map(), statuses: [] };
    histories.set(name, history);
    return history;
  }

  /** Adds facts to a history. Notes the facts that contradict earlier facts. Facts that are undefined are ignored. */
  function stateFacts({ kind, facts }: History, stated: Fields, response: TargetResponse) {
    for (const [field, value] of Object.entries(stated)) {
      if (value === undefined) continue;
      const first = facts.get(field);
      if (!first) facts.set(field, { value, response });
      if (!first || equal(first.value, value)) continue;
      const seconds = ((sentAt(response) - sentAt(first.response)) / 1000).toFixed(1);
      const changed = `${field.endsWith("phoneNumber") ? "another " : ""}${shown(field, value)}`;
      contradictions.push({
        kind,
        what: "fact",
        expected: `${shown(field, first.value)}, as in ${describeRequest(first.response)}`,
        actual: `${changed} in ${describeRequest(response)}, ${seconds} s later`,
        evidence: [first.response, response],
      });
    }
  }

  function stateStatus(history: History, status: unknown, response: TargetResponse) {
    const { statuses, kind } = history;
    if (!isFinal(status)) history.open = response;
    const last = statuses.at(-1);
    // Concurrent responses may overtake each other, so ignore a response that was requested before the last status was
    // received.
    if (typeof status !== "string" || last?.status === status || (last && sentAt(response) <= last.at)) return;
    statuses.push({ status, at: now().getTime(), response });
    const final = statuses.find((seen) => isFinal(seen.status));
    if (!final || final.status === status) return;
    contradictions.push({
      kind,
      what: "final-status",
      expected: `status ${final.status} for ever, after ${describeRequest(final.response)} returned it`,
      actual: `status ${status} in ${describeRequest(response)}`,
      evidence: [final.response, response],
    });
  }

  function stateRecord(history: History, record: Fields, response: TargetResponse) {
    history.record = record;
    history.read = response;
    const facts = [
      ...lasting.map((field) => [field, valueAt(record, field)] as const),
      ...optional[history.kind].map((field) => [field, record[field] ?? null] as const),
    ];
    stateFacts(history, Object.fromEntries(facts), response);
    stateStatus(history, record["status"], response);
  }

  function created(merchant: Merchant, kind: Kind, response: TargetResponse) {
    const { reference, merchantsReference, amount, fee, status } = dataOf(response);
    if (typeof reference !== "string") return;
    const history = open(merchant, kind, reference);
    stateFacts(history, factsSent(response), response);
    stateFacts(history, { reference, merchantsReference, amount, fee }, response);
    stateStatus(history, status, response);
  }

  function verified(merchant: Merchant, kind: Kind, response: TargetResponse) {
    const known = histories.get(nameOf(merchant, kind, lastSegment(response)));
    const record = dataOf(response);
    const { reference } = record;
    // The path may contain the merchant's reference instead of the service's.
    const history = known ?? (typeof reference === "string" ? open(merchant, kind, reference) : undefined);
    if (response.status === 200 && history) stateRecord(history, record, response);
    else if (known?.record && denies(response))
      contradictions.push({
        kind,
        what: "existence",
        expected: `200 with the record that ${describeRequest(response)} returned before`,
        actual: `${response.status}`,
        evidence: [response],
      });
  }

  function listed(merchant: Merchant, kind: Kind, response: TargetResponse) {
    const { items } = dataOf(response);
    for (const record of Array.isArray(items) ? (items as (Fields | null)[]) : []) {
      const known = histories.get(nameOf(merchant, kind, textOf(record?.["reference"])));
      if (record && known) stateRecord(known, record, response);
    }
  }

  return {
    get all(): readonly History[] {
      return [...histories.values()];
    },
    contradictions: contradictions as readonly Contradiction[],
    /** Returns the history of a merchant's record; undefined if the run has not met it. */
    find: (...which: Parameters<typeof nameOf>) => histories.get(nameOf(...which)),
    see(response: TargetResponse) {
      const operation = meaningOf(operationOf(response));
      const merchant = merchantOf(response);
      if (!operation || merchant === undefined) return;
      const { does, kind } = operation;
      if (does === "verify") verified(merchant, kind, response);
      else if (does === "create" && isAccepted(response)) created(merchant, kind, response);
      else if (does === "list" && response.status === 200) listed(merchant, kind, response);
    },
  };
}
