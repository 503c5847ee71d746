import type { Actor, AuditEntry } from "../domain/audit.ts";
import {
  actorOf,
  type DashboardSession,
  type EndedSessions,
  type Person,
  type UnusedLink,
} from "../domain/dashboard.ts";
import type { Row } from "./rows.ts";

/** How often the use of a session is recorded. */
export const RECORD_USE_MS = 60_000;

/** The column `merchant_id` of operators is empty. */
export const scopeOf = ({ merchantId }: { merchantId?: string }): string => merchantId ?? "";

function toPerson(row: Row): Person {
  const merchantId = row.merchant_id as string;
  return { ...(merchantId === "" ? {} : { merchantId }), name: row.name as string };
}

export const toLink = (row: Row): UnusedLink => ({ ...toPerson(row), expiresAt: row.expires_real as number });

export function toSession(row: Row): DashboardSession {
  return {
    ...toPerson(row),
    id: row.id as string,
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

/** @param name whose session was ended */
export const signOutEntry = (which: EndedSessions, name: string, actor: Actor): Entry => ({
  actor,
  action: "dashboard.sign-out",
  merchantId: scopeOf(which),
  details: { name, session: "id" in which ? which.id : "all" },
});
