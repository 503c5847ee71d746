import { v7 } from "uuid";
import { storedEntry, type AuditEntry, type NewEntry, type AuditLog } from "../../domain/audit.ts";
import { fromUuid, openCursor, sealCursor, toUuid } from "../cursor.ts";
import type { Row } from "../rows.ts";
import { toPage } from "./pages.ts";
import { run, type Executor, type Work } from "./query.ts";

export const INSERT_ENTRY = `INSERT INTO audit (merchant_id, at_real, id, actor, action, details)
  VALUES (:merchant, :now, :id, :actor, :action, :details)`;
const LIST = (which: string) => `SELECT * FROM audit WHERE ${which} (at_real, id) < (:at, :id::uuid)
  ORDER BY at_real DESC, id DESC LIMIT :limit`;
const RECORDED = "SELECT 1 AS found FROM audit WHERE merchant_id = :merchant AND id = :id";

/** UUIDs of one process increase, so that its entries of the same millisecond are in order. */
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

export function auditLog({ read, write }: Executor): AuditLog {
  return {
    recordAction: (entry) => write(() => recordAction(entry), { isAside: true }),
    async listAudit({ merchantId, keyId, limit, cursor }) {
      const scope = [merchantId, keyId].filter((id) => id !== undefined).join(" ");
      const [at, ...id] = cursor === undefined ? [Number.MAX_SAFE_INTEGER] : openCursor("audit", scope, cursor, 4);
      const which = [
        ...(merchantId === undefined ? [] : ["merchant_id = :merchant AND"]),
        ...(keyId === undefined ? [] : ["details LIKE :aboutKey AND"]),
      ].join(" ");
      const found = await read({
        text: LIST(which),
        values: {
          merchant: merchantId ?? "",
          // What `recordAction` writes. An id contains no wildcards of LIKE.
          aboutKey: `%"key":"${keyId}"%`,
          at: at!,
          id: toUuid(id),
          limit: limit + 1,
        },
      });
      return toPage(found, limit, toEntry, (last) => sealCursor("audit", scope, [last.at_real, ...fromUuid(last.id)]));
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
