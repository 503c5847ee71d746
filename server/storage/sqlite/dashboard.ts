import type { DashboardStore } from "../../domain/storage.ts";
import { RECORD_USE_MS, scopeOf, signInEntry, signOutEntry, toSession } from "../dashboard-rows.ts";
import type { Context } from "./context.ts";

export function dashboard({ db, write, now, audit }: Context): DashboardStore {
  const insertLink = db.prepare(
    "INSERT INTO dashboard_links (merchant_id, hash, name, expires_real) VALUES (?, ?, ?, ?)",
  );
  const useLink = db.prepare("DELETE FROM dashboard_links WHERE hash = ? AND expires_real > ? RETURNING *");
  const forgetLinks = db.prepare("DELETE FROM dashboard_links WHERE expires_real <= ?");
  const forgetSessions = db.prepare("DELETE FROM dashboard_sessions WHERE expires_real <= ?");
  const insertSession = db.prepare(
    `INSERT INTO dashboard_sessions (merchant_id, id, hash, name, created_real, used_real, expires_real)
     VALUES (:merchant, :id, :hash, :name, :now, :now, :now + :lifetime) RETURNING *`,
  );
  const selectSession = db.prepare(
    "SELECT * FROM dashboard_sessions WHERE hash = :hash AND expires_real > :now AND used_real > :now - :idle",
  );
  const recordUse = db.prepare("UPDATE dashboard_sessions SET used_real = ? WHERE hash = ? RETURNING *");
  const endSession = db.prepare("DELETE FROM dashboard_sessions WHERE merchant_id = ? AND id = ?");
  const endAll = ["dashboard_sessions", "dashboard_links"].map((table) =>
    db.prepare(`DELETE FROM ${table} WHERE merchant_id = ? AND name = ?`),
  );

  return {
    insertLink: ({ hash, lifetimeMs, ...person }, actor) =>
      write(() => {
        forgetLinks.run(now());
        forgetSessions.run(now());
        const merchantId = scopeOf(person);
        insertLink.run(merchantId, hash, person.name, now() + lifetimeMs);
        audit.record({ actor, action: "dashboard.link", merchantId, details: { name: person.name } });
      }),
    signIn: (linkHash, { id, hash, lifetimeMs }) =>
      write(() => {
        const link = useLink.get(linkHash, now());
        if (!link) return undefined;
        const person = { merchant: link.merchant_id!, name: link.name! };
        const session = toSession(insertSession.get({ ...person, id, hash, now: now(), lifetime: lifetimeMs })!);
        audit.record(signInEntry(session));
        return session;
      }),
    async useSession(hash, idle) {
      const row = selectSession.get({ hash, now: now(), idle });
      if (!row) return undefined;
      if ((row.used_real as number) > now() - RECORD_USE_MS) return toSession(row);
      const used = await write(() => recordUse.get(now(), hash));
      return used && toSession(used);
    },
    signOut: (session, { everywhere }) =>
      write(() => {
        endSession.run(scopeOf(session), session.id);
        if (everywhere) for (const end of endAll) end.run(scopeOf(session), session.name);
        audit.record(signOutEntry(session, everywhere));
      }),
  };
}
