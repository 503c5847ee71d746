import { v7 } from "uuid";
import { storedEntry, type ActorName, type AuditEntry, type NewEntry } from "../../domain/audit.ts";
import type { AuditLog } from "../../domain/storage.ts";
import { openCursor, sealCursor } from "../cursor.ts";
import type { Row } from "../rows.ts";
import type { Context } from "./context.ts";
import type { Query } from "./database.ts";
import { fromUuid, toUuid } from "./uuid.ts";

/** Records an action inside its transaction. */
export async function recordAction(query: Query, entry: NewEntry): Promise<void> {
  const { actor, action, merchantId, details } = storedEntry(entry);
  // The ids of one process increase, so that the entries of one millisecond are in order.
  await query(
    "INSERT INTO audit (merchant_id, at_real, id, actor, action, details) VALUES ($1, :now, $2, $3, $4, $5)",
    [merchantId, v7(), actor, action, JSON.stringify(details)],
  );
}

const END = "(at_real, id) < ($1, $2::uuid) ORDER BY at_real DESC, id DESC LIMIT $3";

export function auditLog({ db }: Context): AuditLog {
  return {
    recordAction: (entry) => db.transaction((query) => recordAction(query, entry)),
    async listAudit({ merchantId, limit, cursor }) {
      const scope = merchantId ?? "";
      const [before, ...id] = cursor === undefined ? [Number.MAX_SAFE_INTEGER] : openCursor("audit", scope, cursor, 4);
      // One extra row shows whether another page follows.
      const range = [before, toUuid(id), limit + 1];
      const { rows: found } =
        merchantId === undefined
          ? await db.read(`SELECT * FROM audit WHERE ${END}`, range)
          : await db.read(`SELECT * FROM audit WHERE merchant_id = $4 AND ${END}`, [...range, merchantId]);
      const rows = found.slice(0, limit);
      const last = found.length > limit ? rows.at(-1) : undefined;
      return {
        items: rows.map(toEntry),
        ...(last && { cursor: sealCursor("audit", scope, [last.at_real as number, ...fromUuid(last.id as string)]) }),
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
