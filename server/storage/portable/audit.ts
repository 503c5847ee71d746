import { v7 } from "uuid";
import { storedEntry, type AuditEntry, type AuditLog, type NewEntry } from "../../domain/audit.ts";
import { fields } from "../rows.ts";
import { placeOf, toPage } from "./pages.ts";
import { LAST, LEAST_UUID, run, type Executor, type Work } from "./query.ts";

const INSERT_ENTRY = `INSERT INTO audit (merchant_id, at_real, id, actor, action, details)
  VALUES (:merchant, :now, :id, :actor, :action, :details)`;
const LIST = (which: string) => `SELECT * FROM audit WHERE ${which} (at_real, id) < (:at_real, :id::uuid)
  ORDER BY at_real DESC, id DESC LIMIT :limit`;
const RECORDED = "SELECT 1 AS found FROM audit WHERE merchant_id = :merchant AND id = :id";

const toEntry = fields<AuditEntry>("at_real actor action merchant_id details");

/** UUIDs of one process increase, so that its entries of the same millisecond are in order. */
export const entryId = (): string => v7();

/** Records an action inside its transaction. @param id of the entry, for `wasRecorded` */
export function* recordAction(entry: NewEntry, id = entryId()): Work<void> {
  const { actor, action, merchantId, details } = storedEntry(entry);
  yield* run(INSERT_ENTRY, { merchant: merchantId, id, actor, action, details: JSON.stringify(details) });
}

/**
 * True if an earlier run of this transaction was committed. What the transaction changed may have changed again since,
 * so a repeat must not check conditions again. Ask once the merchant is locked, because the earlier run may still be in progress.
 */
export function* wasRecorded(merchant: string, id: string): Work<boolean> {
  return (yield* run(RECORDED, { merchant, id })).count > 0;
}

export function auditLog({ read, write }: Executor): AuditLog {
  return {
    recordAction: (entry) => write(() => recordAction(entry), { isAside: true }),
    async listAudit({ merchantId: merchant, keyId, limit, cursor }) {
      const scope = [merchant, keyId].filter((id) => id !== undefined).join(" ");
      const asked = { list: "audit", scope, start: { at_real: LAST, id: LEAST_UUID }, limit, cursor };
      const which = [
        ...(merchant === undefined ? [] : ["merchant_id = :merchant AND"]),
        ...(keyId === undefined ? [] : ["details LIKE :aboutKey AND"]),
      ].join(" ");
      // The JSON that `recordAction` writes. An id contains no wildcards of LIKE.
      const values = { ...placeOf(asked), merchant, aboutKey: `%"key":"${keyId}"%`, limit: limit + 1 };
      return toPage(asked, await read({ text: LIST(which), values }), toEntry);
    },
  };
}
