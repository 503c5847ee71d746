// Remembers what traffic stated about each payout and checkout.
import { type Kind, lasting } from "../history/history.ts";
import type { Merchants } from "./merchants.ts";
import type { Table } from "./store.ts";
import type { Hash } from "./tally.ts";

/** Where a statement was made: by what, from when until when, and with which status. */
export type Source = [
  by: "create" | "refusal" | "verify" | "list" | "webhook",
  sentAt: number,
  endedAt: number,
  status: number,
];

export type Record = {
  /** Its key in the table of records. */
  key: number;
  kind: Kind;
  /** The service's reference. */
  reference: string;
  /** The number of the key that first saw it, and how often its merchant's records had been forgotten; -1 without a key. */
  merchant: number;
  epoch: number;
  sources: Source[];
  /** Values by the index of their field. */
  facts: unknown[];
  /** The index of the first source that stated each fact; -1 if none did. */
  statedBy: number[];
  /** Each status with the first source that stated it, and the record's updatedAt. */
  statuses: [status: string, source: number, updatedAt?: unknown][];
  /** When the last request began whose response said that the record is not final; 0 if there was none. */
  openAt: number;
  /** When the first response ended that showed the record; 0 if there was none. */
  shownAt: number;
  /** The events that were sent about it: status, webhook-id and a hash of the body. */
  events: [status: string, id: string, body: number][];
  /** Set once the final status is to be notified. */
  isDue?: true;
};

/** The fields of facts. A personal fact is remembered as a hash. */
export const fields: readonly string[] = [...lasting, "webhookURL", "redirectURL", "failure.code"];
const indexes = new Map(fields.map((field, index) => [field, index]));
export const indexOf = (field: string) => indexes.get(field)!;

export const isStated = ({ statedBy }: Record, index: number) => statedBy[index]! >= 0;

/** Returns a fact; undefined if none was stated. */
export function factOf(record: Record, field: string): unknown {
  const index = indexOf(field);
  return isStated(record, index) ? record.facts[index] : undefined;
}

export type Records = ReturnType<typeof createRecords>;

type Deps = {
  hashOf: Hash;
  merchants: Merchants;
  records: Table<Record>;
  /** The key of a record, by the hash of a value that no other record of its merchant may have. */
  links: Table<number>;
  webhookClockMs: number;
};

export function createRecords({ hashOf, merchants, records, links, webhookClockMs }: Deps) {
  /** Two merchants may have records with the same reference. The key of the second record contains its merchant. */
  const firstKey = (kind: Kind, reference: string) => hashOf(`${kind} ${reference}`);
  const secondKey = (kind: Kind, reference: string, merchant: number) =>
    hashOf(`${kind} ${merchants.root(merchant)} ${reference}`);

  /** @param reference what the record must have, as two keys may be equal by chance */
  function load(key: number | undefined, reference?: string): Record | undefined {
    const record = key === undefined ? undefined : records.get(key);
    if (!record || (reference !== undefined && record.reference !== reference)) return undefined;
    const isForgotten = record.merchant >= 0 && record.epoch !== merchants.epochOf(record.merchant);
    return isForgotten ? undefined : record;
  }

  return {
    /** Returns the record that webhooks with this reference are about; undefined if there is none or it is not clear. */
    about: (kind: Kind, reference: string) => load(firstKey(kind, reference), reference),
    /** Returns the merchant's record, or another merchant's record with this reference. */
    find(kind: Kind, reference: string, merchant: number): { record?: Record; foreign?: Record } {
      const first = load(firstKey(kind, reference), reference);
      if (first?.merchant === -1) {
        // A webhook that was on its way when the merchant's records were deleted.
        if ((first.sources[0]?.[1] ?? Infinity) < merchants.forgottenAt(merchant) + webhookClockMs) return {};
        Object.assign(first, { merchant, epoch: merchants.epochOf(merchant) });
      }
      if (first && merchants.root(first.merchant) === merchants.root(merchant)) return { record: first };
      const second = first && load(secondKey(kind, reference, merchant), reference);
      return { ...(second ? { record: second } : {}), ...(first ? { foreign: first } : {}) };
    },
    /** Starts to remember a record, which replaces a forgotten one. */
    open(kind: Kind, reference: string, merchant: number, isSecond = false): Record {
      const epoch = merchant === -1 ? 0 : merchants.epochOf(merchant);
      const key = isSecond ? secondKey(kind, reference, merchant) : firstKey(kind, reference);
      const record: Record = {
        key,
        kind,
        reference,
        merchant,
        epoch,
        sources: [],
        statuses: [],
        openAt: 0,
        shownAt: 0,
        events: [],
        facts: fields.map(() => null),
        statedBy: fields.map(() => -1),
      };
      records.set(key, record);
      return record;
    },
    /** Notes that the record was changed. */
    changed: (record: Record) => records.changed(record.key),
    /**
     * Returns the record of the merchant that has this value, such as a reference of the merchant's own. If there is
     * none, the value belongs to `record` from now on.
     */
    ownerOf(what: string, kind: Kind, merchant: number, value: string, record?: Record): Record | undefined {
      for (const member of merchants.members(merchant)) {
        const owner = load(links.get(hashOf(`${what} ${kind} ${member} ${value}`)));
        if (owner) return owner;
      }
      if (record) links.set(hashOf(`${what} ${kind} ${merchant} ${value}`), record.key);
      return undefined;
    },
  };
}
