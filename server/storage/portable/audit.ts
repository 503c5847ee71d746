import { v7 } from "uuid";
import { storedEntry, type AuditEntry, type NewEntry, type AuditLog } from "../../domain/audit.ts";
import { fromUuid, openCursor, sealCursor, toUuid } from "../cursor.ts";
import type { Row } from "../rows.ts";
import { toPage } from "./pages.ts";
import { run, type Executor, type Work } from "./query.ts";

/**
 * SQLite numbers the entries. PostgreSQL, where several processes write, gives them UUIDs; the UUIDs of one process
 * increase, so that entries of the same millisecond are in order.
 */
export const INSERT_ENTRY = {
  sqlite: `INSERT INTO audit (merchant_id, at_real, actor, action, details)
    VALUES (:merchant, :now, :actor, :action, :details)`,
  postgres: `INSERT INTO audit (merchant_id, at_real, id, actor, action, details)
    VALUES (:merchant, :now, :id, :actor, :action, :details)`,
};
const ORDERS = {
  sqlite: {
    end: "seq < :at ORDER BY seq DESC LIMIT :limit",
    position: ({ seq }: Row) => [seq as number],
    length: 1,
  },
  postgres: {
    end: "(at_real, id) < (:at, :id::uuid) ORDER BY at_real DESC, id DESC LIMIT :limit",
    position: ({ at_real, id }: Row) => [at_real as number, ...fromUuid(id as string)],
    length: 4,
  },
};

/** SQLite has no ids, because it repeats no transaction that was committed. */
const RECORDED = {
  sqlite: "SELECT 1 AS found WHERE false",
  postgres: "SELECT 1 AS found FROM audit WHERE merchant_id = :merchant AND id = :id",
};

export const entryId = (): string => v7();

/** Records an action inside its transaction. @param id of the entry, for `wasRecorded` */
export function* recordAction(entry: NewEntry, id = entryId()): Work<void> {
  const { actor, action, merchantId, details } = storedEntry(entry);
  yield* run(INSERT_ENTRY, { merchant: merchantId, id, actor, action, details: JSON.stringify(details) });
}

/**
 * True if an earlier run of this transaction was committed. What the transaction changed may have changed again since,
 * so a repeat must judge nothing. Ask once the merchant is locked, because the earlier run may still be in progress.
 */
export function* wasRecorded(merchant: string, id: string): Work<boolean> {
  return (yield* run(RECORDED, { merchant, id })).count > 0;
}

export function auditLog({ database, read, write }: Executor): AuditLog {
  const { end, position, length } = ORDERS[database];
  return {
    recordAction: (entry) => write(() => recordAction(entry), { isAside: true }),
    async listAudit({ merchantId, keyId, limit, cursor }) {
      const scope = [merchantId, keyId].filter((id) => id !== undefined).join(" ");
      const [at, ...id] = cursor === undefined ? [Number.MAX_SAFE_INTEGER] : openCursor("audit", scope, cursor, length);
      const which = [
        ...(merchantId === undefined ? [] : ["merchant_id = :merchant AND"]),
        ...(keyId === undefined ? [] : ["details LIKE :aboutKey AND"]),
      ].join(" ");
      const found = await read({
        text: `SELECT * FROM audit WHERE ${which} ${end}`,
        values: {
          merchant: merchantId ?? "",
          // What `recordAction` writes. An id contains no wildcards of LIKE.
          aboutKey: `%"key":"${keyId}"%`,
          at: at!,
          id: toUuid(id),
          limit: limit + 1,
        },
      });
      return toPage(found, limit, toEntry, (last) => sealCursor("audit", scope, position(last)));
    },
  };
}

function toEntry(row: Row): AuditEntry {
  return {
    at: row.at_real,
    actor: row.actor,
    action: row.action,
    merchantId: row.merchant_id,
    details: JSON.parse(row.details) as AuditEntry["details"],
  };
}
