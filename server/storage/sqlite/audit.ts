import type { DatabaseSync } from "node:sqlite";
import { storedEntry, type ActorName, type AuditEntry, type NewEntry } from "../../domain/audit.ts";
import type { AuditLog } from "../../domain/storage.ts";
import { openCursor, sealCursor } from "../cursor.ts";
import { insertInto, type Context, type Row } from "./context.ts";

export interface AuditWriter {
  /** Records an action inside its transaction. */
  record(entry: NewEntry): void;
}

export function auditWriter(db: DatabaseSync, now: () => number): AuditWriter {
  const insert = insertInto(db, "audit", ["at_real", "actor", "action", "merchant_id", "details"]);
  return {
    record(entry) {
      const { actor, action, merchantId, details } = storedEntry(entry);
      insert({ at_real: now(), actor, action, merchant_id: merchantId, details: JSON.stringify(details) });
    },
  };
}

export function auditLog({ db, write, audit }: Context): AuditLog {
  const select = db.prepare("SELECT * FROM audit WHERE seq < ? ORDER BY seq DESC LIMIT ?");
  const selectOf = db.prepare("SELECT * FROM audit WHERE merchant_id = ? AND seq < ? ORDER BY seq DESC LIMIT ?");
  return {
    recordAction: (entry) => write(() => audit.record(entry)),
    async listAudit({ merchantId, limit, cursor }) {
      const scope = merchantId ?? "";
      const before = cursor === undefined ? Number.MAX_SAFE_INTEGER : openCursor("audit", scope, cursor, 1)[0]!;
      // One extra row shows whether another page follows.
      const range = [before, limit + 1] as const;
      const found = merchantId === undefined ? select.all(...range) : selectOf.all(merchantId, ...range);
      const rows = found.slice(0, limit);
      const isLast = found.length <= limit;
      return {
        items: rows.map(toEntry),
        ...(isLast ? {} : { cursor: sealCursor("audit", scope, [rows.at(-1)!.seq as number]) }),
      };
    },
  };
}

function toEntry(row: Row): AuditEntry {
  return {
    at: row.at_real as number,
    actor: row.actor as ActorName,
    action: row.action as AuditEntry["action"],
    merchantId: row.merchant_id as string,
    details: JSON.parse(row.details as string) as AuditEntry["details"],
  };
}
