// Follows every payout and checkout through the run: finds the record that a response is about, and adds the response
// to its history.
import { operationOf } from "../contract/documented.ts";
import { fieldsOf } from "../target/ledger.ts";
import type { TargetRequest, TargetResponse } from "../target/exchange.ts";
import { describeRequest, stateFacts, stateRecord, stateStatus } from "./history.ts";
import type { Contradiction, Fields, History, Kind, Merchant } from "./history.ts";
import { textOf } from "../target/values.ts";

export type Histories = {
  readonly all: readonly History[];
  readonly contradictions: readonly Contradiction[];
  /** Returns the history of a merchant's record; undefined if the run has not met it. */
  find(merchant: Merchant, kind: Kind, reference: string): History | undefined;
  /** Adds a response. */
  see(response: TargetResponse): void;
};

/** Returns what an operation does, and with which kind of record; undefined if it returns no records. */
function meaningOf(operation: string): { does: string; kind: Kind } | undefined {
  const [, does, kind] = /^(create|verify|list)(Disbursement|Checkout)s?$/.exec(operation) ?? [];
  return does === undefined ? undefined : { does, kind: kind === "Checkout" ? "checkout" : "disbursement" };
}

const isObject = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function dataIn({ json }: TargetResponse): Fields {
  const data = isObject(json) ? json["data"] : undefined;
  return isObject(data) ? data : {};
}

/** Returns the merchant whose records a request can see; undefined if the request has another key, or no key. */
export function merchantOf({ request: { key = "own", headers = {} } }: TargetResponse): Merchant | undefined {
  const overridden = Object.keys(headers).some((name) => name.toLowerCase() === "x-api-key");
  return !overridden && (key === "own" || key === "second") ? key : undefined;
}

/** Returns true if a request and its response represent the value without loss. */
const isExact = (value: unknown) =>
  typeof value === "number" ? Number.isSafeInteger(value) : typeof value === "string" && value.isWellFormed();

/** Returns the facts that a valid request states about the record it creates. */
function factsSent({ request }: TargetResponse): Fields {
  if (request.effect !== "moves-money") return {};
  const { reference, amount, country, currency, phoneNumber } = fieldsOf(request);
  const facts = { merchantsReference: reference, amount, country, currency, "customer.phoneNumber": phoneNumber };
  return Object.fromEntries(Object.entries(facts).filter(([, value]) => isExact(value)));
}

/** Returns the last segment of the path, decoded. */
function lastSegment({ request }: TargetResponse): string {
  const text = request.path.split("?")[0]?.split("/").at(-1) ?? "";
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const gone = (history: History, response: TargetResponse): Contradiction => ({
  kind: history.kind,
  what: "existence",
  expected: `200 with the record that ${describeRequest(response)} returned before`,
  actual: `${response.status}`,
  evidence: [response],
});

/** Returns true for a GET as every client sends it. A sound target may refuse a request with a query or a body. */
const isUsual = ({ path, headers, json, body }: TargetRequest) =>
  !path.includes("?") && headers === undefined && json === undefined && body === undefined;

/** Returns true if the response shows that the record does not exist, or that its owner cannot see it. */
const denies = ({ status = 0, request }: TargetResponse) =>
  isUsual(request) && status !== 0 && status !== 429 && status < 500;

const nameOf = (...parts: [Merchant, Kind, string]) => parts.join(" ");

export function createHistories(now: () => Date): Histories {
  const histories = new Map<string, History>();
  const contradictions: Contradiction[] = [];

  function open(merchant: Merchant, kind: Kind, reference: string): History {
    const name = nameOf(merchant, kind, reference);
    const history = histories.get(name) ?? { kind, merchant, reference, facts: new Map(), statuses: [] };
    histories.set(name, history);
    return history;
  }

  function created(merchant: Merchant, kind: Kind, response: TargetResponse): Contradiction[] {
    const { reference, merchantsReference, amount, fee, status } = dataIn(response);
    if (typeof reference !== "string") return [];
    const history = open(merchant, kind, reference);
    return [
      ...stateFacts(history, factsSent(response), response),
      ...stateFacts(history, { reference, merchantsReference, amount, fee }, response),
      ...stateStatus(history, status, response, now().getTime()),
    ];
  }

  function verified(merchant: Merchant, kind: Kind, response: TargetResponse): Contradiction[] {
    const known = histories.get(nameOf(merchant, kind, lastSegment(response)));
    const record = dataIn(response);
    const { reference } = record;
    // The path may contain the merchant's reference instead of the service's.
    const history = known ?? (typeof reference === "string" ? open(merchant, kind, reference) : undefined);
    if (response.status === 200 && history) return stateRecord(history, record, response, now().getTime());
    return known?.record && denies(response) ? [gone(known, response)] : [];
  }

  function listed(merchant: Merchant, kind: Kind, response: TargetResponse): Contradiction[] {
    const { items } = dataIn(response);
    const records = Array.isArray(items) ? items.filter((item) => isObject(item)) : [];
    return records.flatMap((record) => {
      const known = histories.get(nameOf(merchant, kind, textOf(record["reference"])));
      return known ? stateRecord(known, record, response, now().getTime()) : [];
    });
  }

  return {
    get all() {
      return [...histories.values()];
    },
    contradictions,
    find: (...which) => histories.get(nameOf(...which)),
    see(response) {
      const operation = meaningOf(operationOf(response));
      const merchant = merchantOf(response);
      const { status = 0 } = response;
      if (!operation || merchant === undefined) return;
      const { does, kind } = operation;
      if (does === "verify") contradictions.push(...verified(merchant, kind, response));
      else if (does === "create" && status >= 200 && status < 300)
        contradictions.push(...created(merchant, kind, response));
      else if (does === "list" && status === 200) contradictions.push(...listed(merchant, kind, response));
    },
  };
}
