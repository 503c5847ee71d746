import type { AuditEntry } from "../domain/audit.ts";
import { actorOf, type DashboardSession } from "../domain/dashboard.ts";
import type { Row } from "./rows.ts";

/** How often the use of a session is recorded. */
export const RECORD_USE_MS = 60_000;

/** The column `merchant_id` of operators is empty. */
export const scopeOf = ({ merchantId }: { merchantId?: string }): string => merchantId ?? "";

export function toSession(row: Row): DashboardSession {
  const merchantId = row.merchant_id as string;
  return {
    id: row.id as string,
    ...(merchantId === "" ? {} : { merchantId }),
    name: row.name as string,
    createdAt: row.created_real as number,
    usedAt: row.used_real as number,
    expiresAt: row.expires_real as number,
  };
}

type Entry = Omit<AuditEntry, "at">;

export const signInEntry = (session: DashboardSession): Entry => ({
  actor: actorOf(session),
  action: "dashboard.sign-in",
  merchantId: scopeOf(session),
  details: { session: session.id },
});

export const signOutEntry = (session: DashboardSession, everywhere: boolean): Entry => ({
  ...signInEntry(session),
  action: "dashboard.sign-out",
  details: { session: everywhere ? "all" : session.id },
});
