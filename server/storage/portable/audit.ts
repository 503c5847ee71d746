import { v7 } from "uuid";
import { actorName, type AuditEntry, type AuditLog, type NewEntry } from "../../domain/audit.ts";
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
export function* recordAction({ actor, action, merchantId, details }: NewEntry, id = entryId()): Work<void> {
  const session = typeof actor === "string" ? {} : { bySession: actor.session };
  const values = { actor: actorName(actor), details: JSON.stringify({ ...details, ...session }) };
  yield* run(INSERT_ENTRY, { merchant: merchantId, id, action, ...values });
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
    async listAudit({ merchantId: merchant, limit, cursor }) {
      const asked = { list: "audit", scope: merchant ?? "", start: { at_real: LAST, id: LEAST_UUID }, limit, cursor };
      const text = LIST(merchant === undefined ? "" : "merchant_id = :merchant AND");
      return toPage(asked, await read({ text, values: { ...placeOf(asked), merchant, limit: limit + 1 } }), toEntry);
    },
  };
}
