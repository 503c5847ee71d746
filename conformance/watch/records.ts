// Remembers what traffic stated about each payout and checkout.
import type { Fields, Kind } from "../history/history.ts";
import type { Store } from "./store.ts";
import type { Hashes } from "./tally.ts";
import type { Seen } from "./traffic.ts";

/** What an exchange or webhook said about a record that had not been said before. */
export type Said = {
  by: "create" | "verify" | "list" | "webhook";
  sentAt: number;
  endedAt: number;
  /** The status of the response. */
  status?: number | undefined;
  facts: Fields;
  /** The record's status. */
  state?: string;
};

export type Record = {
  key: number;
  kind: Kind;
  /** The service's reference. */
  reference: string;
  merchant: number;
  /** What was said, a response first. */
  said: Said[];
  /** The final statuses that webhooks announced, each with the webhook's id and the hash of its body. */
  notified: [status: string, id: string, body: number][];
  /** Set if another merchant has a record with this reference, so that webhooks may be about either. */
  isShared?: true;
  /** Set once a webhook named it. */
  isMentioned?: true;
  /** Set once its final status is to be notified. */
  isDue?: true;
};

/** Returns what first stated a fact; undefined if nothing did. */
export function sourceOf({ said }: Record, field: string): Said | undefined {
  for (const each of said) if (each.facts[field] !== undefined) return each;
  return undefined;
}
export const factOf = (record: Record, field: string) => sourceOf(record, field)?.facts[field];
export const createOf = ({ said }: Record) => said.find(({ by }) => by === "create");

/** Returns what was said, in the form of traffic, as evidence. */
export function evidenceOf(record: Record, said: Said): Seen {
  const { kind, reference } = record;
  const { by, sentAt, endedAt, status = 0, facts, state } = said;
  const body = JSON.stringify({ data: { ...facts, status: state } });
  const address = URL.parse(String(factOf(record, "webhookURL")));
  if (by === "webhook") return { kind: by, sentAt, path: address?.pathname ?? "", headers: {}, body, status };
  const path = by === "verify" ? `/v1/${kind}s/${reference}` : `/v1/${kind}s`;
  const method = by === "create" ? "POST" : "GET";
  return {
    kind: "exchange",
    sentAt,
    endedAt,
    method,
    path,
    headers: {},
    body: "",
    response: { status, headers: {}, body },
  };
}

export type Records = ReturnType<typeof createRecords>;

/** @param store has records, and the keys of records by values that no other record may have */
export function createRecords(store: Store<Record | number>, hashes: Hashes) {
  let resets = 0;
  const keyOf = (...parts: (string | number)[]) => hashes.keyOf(`${resets} ${parts.join(" ")}`);

  function load(key: number): Record | undefined {
    const value = store.get(key);
    return typeof value === "object" ? value : undefined;
  }
  /** Returns the first record with a reference. Two keys may be equal by chance. */
  function firstOf(kind: Kind, reference: string): Record | undefined {
    const record = load(keyOf(kind, reference));
    return record?.reference === reference ? record : undefined;
  }

  return {
    keyOf,
    /** Returns the record that webhooks with this reference are about; undefined if there is none or it is not clear. */
    about(kind: Kind, reference: string): Record | undefined {
      const record = firstOf(kind, reference);
      return record?.isShared ? undefined : record;
    },
    find(kind: Kind, merchant: number, reference: string): Record | undefined {
      const first = firstOf(kind, reference);
      return first && first.merchant !== merchant ? load(keyOf(kind, merchant, reference)) : first;
    },
    /** Starts to remember a record. Two merchants may have records with the same reference. */
    open(kind: Kind, merchant: number, reference: string): Record {
      const first = firstOf(kind, reference);
      if (first) store.set(first.key, Object.assign(first, { isShared: true as const }));
      const key = first ? keyOf(kind, merchant, reference) : keyOf(kind, reference);
      return { key, kind, reference, merchant, said: [], notified: [] };
    },
    changed: (record: Record) => store.set(record.key, record),
    /**
     * Returns the merchant's record that has a value which no other may have, such as a reference of the merchant's own.
     * If there is none, the value belongs to `record` from now on.
     */
    ownerOf(what: string, kind: Kind, merchant: number, value: string, record?: Record): Record | undefined {
      const key = keyOf(what, kind, merchant, value);
      const owner = store.get(key);
      const known = typeof owner === "number" ? load(owner) : undefined;
      if (!known && record) store.set(key, record.key);
      return known;
    },
    /** Forgets all records, as a sandbox does when it is reset. */
    reset: () => void (resets += 1),
  };
}
