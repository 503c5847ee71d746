import type { DashboardStore } from "../../domain/storage.ts";
import type { Actor } from "../../domain/audit.ts";
import { actorOf, type Person } from "../../domain/dashboard.ts";
import {
  invitedIn,
  invitedMark,
  nameIn,
  requireFreeName,
  scopeOfMaker,
  sessionEnded,
  RECORD_USE_MS,
  scopeOf,
  signInEntry,
  signOutEntry,
  toLink,
  toSession,
} from "../dashboard-rows.ts";
import type { Context } from "./context.ts";

export function dashboard({ db, write, now, audit }: Context): DashboardStore {
  const insertLink = db.prepare(
    "INSERT INTO dashboard_links (merchant_id, hash, name, expires_real, invited_by) VALUES (?, ?, ?, ?, ?)",
  );
  const selectLink = db.prepare("SELECT 1 FROM dashboard_links WHERE hash = ? AND expires_real > ?");
  const useLink = db.prepare("DELETE FROM dashboard_links WHERE hash = ? AND expires_real > ? RETURNING *");
  const forgetLinks = db.prepare("DELETE FROM dashboard_links WHERE expires_real <= ?");
  const forgetSessions = db.prepare("DELETE FROM dashboard_sessions WHERE expires_real <= ?");
  const insertSession = db.prepare(
    `INSERT INTO dashboard_sessions (merchant_id, id, hash, name, invited_by, created_real, used_real, expires_real)
     VALUES (:merchant, :id, :hash, :name, :invitedBy, :now, :now, :now + :lifetime) RETURNING *`,
  );
  const selectSession = db.prepare(
    "SELECT * FROM dashboard_sessions WHERE hash = :hash AND expires_real > :now AND used_real > :now - :idle",
  );
  const recordUse = db.prepare("UPDATE dashboard_sessions SET used_real = ? WHERE hash = ? RETURNING *");
  const live = "expires_real > :now AND used_real > :now - :idle ORDER BY merchant_id, id LIMIT :limit";
  const selectSessions = db.prepare(`SELECT * FROM dashboard_sessions WHERE ${live}`);
  const selectSessionsOf = db.prepare(`SELECT * FROM dashboard_sessions WHERE merchant_id = :merchant AND ${live}`);
  const unused = "expires_real > :now ORDER BY merchant_id, hash LIMIT :limit";
  const selectLinks = db.prepare(`SELECT * FROM dashboard_links WHERE ${unused}`);
  const selectLinksOf = db.prepare(`SELECT * FROM dashboard_links WHERE merchant_id = :merchant AND ${unused}`);
  const endSession = db.prepare("DELETE FROM dashboard_sessions WHERE merchant_id = ? AND id = ? RETURNING name");
  const endAll = ["dashboard_sessions", "dashboard_links"].map((table) =>
    db.prepare(`DELETE FROM ${table} WHERE merchant_id = ? AND name = ? RETURNING name`),
  );

  const endInvited = ["dashboard_sessions", "dashboard_links"].map((table) =>
    db.prepare(`DELETE FROM ${table} WHERE ? IN ('', merchant_id) AND instr(invited_by, ?) > 0 RETURNING name`),
  );
  const selectInviter = db.prepare("SELECT invited_by FROM dashboard_sessions WHERE merchant_id = ? AND id = ?");
  const selectNames = db.prepare(
    `SELECT name FROM dashboard_sessions WHERE merchant_id = ?1 UNION ALL SELECT name FROM dashboard_links WHERE merchant_id = ?1`,
  );

  /** Returns who let the person of a new link in. Expired links and sessions have been deleted. */
  function invitedBy(person: Person, actor: Actor): string {
    if (typeof actor === "string") return "";
    const merchantId = scopeOf(person);
    const inviter = selectInviter.get(scopeOfMaker(actor.name, merchantId), actor.session);
    if (!inviter) throw sessionEnded();
    const names = selectNames.all(merchantId).map(({ name }) => name as string);
    requireFreeName(person, actor.name, names);
    return invitedIn(inviter.invited_by as string, actor.name);
  }

  const rowOf = (hash: Uint8Array, idle: number) => selectSession.get({ hash, now: now(), idle });

  return {
    insertLink: ({ hash, lifetimeMs, ...person }, actor) =>
      write(() => {
        forgetLinks.run(now());
        forgetSessions.run(now());
        const merchantId = scopeOf(person);
        insertLink.run(merchantId, hash, person.name, now() + lifetimeMs, invitedBy(person, actor));
        audit.record({ actor, action: "dashboard.link", merchantId, details: { name: person.name } });
      }),
    async signIn(linkHash, { id, hash, lifetimeMs }) {
      if (!selectLink.get(linkHash, now())) return undefined;
      return write(() => {
        const link = useLink.get(linkHash, now());
        // Another request may have used it meanwhile.
        if (!link) return undefined;
        const person = { merchant: link.merchant_id!, name: link.name!, invitedBy: link.invited_by! };
        const session = toSession(insertSession.get({ ...person, id, hash, now: now(), lifetime: lifetimeMs })!);
        audit.record(signInEntry(session));
        return session;
      });
    },
    async useSession(hash, idle) {
      const row = rowOf(hash, idle);
      if (!row) return undefined;
      if ((row.used_real as number) > now() - RECORD_USE_MS) return toSession(row);
      const used = await write(() => recordUse.get(now(), hash));
      return used && toSession(used);
    },
    async findSession(hash, idle) {
      const row = rowOf(hash, idle);
      return row && toSession(row);
    },
    async listTeam({ merchantId, idleMs, limit }) {
      const range = { now: now(), limit };
      const [sessions, links] =
        merchantId === undefined
          ? [selectSessions.all({ ...range, idle: idleMs }), selectLinks.all(range)]
          : [
              selectSessionsOf.all({ ...range, idle: idleMs, merchant: merchantId }),
              selectLinksOf.all({ ...range, merchant: merchantId }),
            ];
      return { sessions: sessions.map(toSession), links: links.map(toLink) };
    },
    endSessions: (which, actor) =>
      write(() => {
        const scope = scopeOf(which);
        const ended =
          "id" in which ? endSession.all(scope, which.id) : endAll.flatMap((end) => end.all(scope, which.name));
        if ("invited" in which) {
          ended.push(...endInvited.flatMap((end) => end.all(scope, invitedMark(actorOf(which)))));
        }
        if (ended[0]) audit.record(signOutEntry(which, nameIn(which, ended[0]), actor));
        return ended.length;
      }),
  };
}
