import type { DashboardStore } from "../../domain/storage.ts";
import { RECORD_USE_MS, scopeOf, signInEntry, signOutEntry, toSession } from "../dashboard-rows.ts";
import { recordAction } from "./audit.ts";
import type { Context } from "./context.ts";

const SELECT_SESSION = `SELECT *, :now AS now FROM dashboard_sessions
  WHERE hash = $1 AND expires_real > :now AND used_real > :now - $2::bigint`;
const RECORD_USE = "UPDATE dashboard_sessions SET used_real = :now WHERE merchant_id = $1 AND id = $2 RETURNING *";
const INSERT_SESSION = `INSERT INTO dashboard_sessions
    (merchant_id, id, hash, name, created_real, used_real, expires_real)
  SELECT $1, $2, $3, $4, t.now, t.now, t.now + $5::bigint FROM (SELECT :now AS now) t RETURNING *`;

export function dashboard({ db }: Context): DashboardStore {
  return {
    insertLink: ({ hash, lifetimeMs, ...person }, actor) =>
      db.transaction(async (query) => {
        await query("DELETE FROM dashboard_links WHERE expires_real <= :now", []);
        await query("DELETE FROM dashboard_sessions WHERE expires_real <= :now", []);
        const merchantId = scopeOf(person);
        await query(
          "INSERT INTO dashboard_links (merchant_id, hash, name, expires_real) VALUES ($1, $2, $3, :now + $4::bigint)",
          [merchantId, Buffer.from(hash), person.name, lifetimeMs],
        );
        await recordAction(query, { actor, action: "dashboard.link", merchantId, details: { name: person.name } });
      }),
    signIn: (linkHash, { id, hash, lifetimeMs }) =>
      db.transaction(async (query) => {
        const links = await query("DELETE FROM dashboard_links WHERE hash = $1 AND expires_real > :now RETURNING *", [
          Buffer.from(linkHash),
        ]);
        const [link] = links.rows;
        if (!link) return undefined;
        const values = [link.merchant_id, id, Buffer.from(hash), link.name, lifetimeMs];
        const { rows } = await query(INSERT_SESSION, values);
        const session = toSession(rows[0]!);
        await recordAction(query, signInEntry(session));
        return session;
      }),
    async useSession(hash, idleMs) {
      const { rows } = await db.read(SELECT_SESSION, [Buffer.from(hash), idleMs]);
      const [row] = rows;
      if (!row) return undefined;
      if ((row.used_real as number) > (row.now as number) - RECORD_USE_MS) return toSession(row);
      const used = await db.transaction((query) => query(RECORD_USE, [row.merchant_id, row.id]), { repeatable: true });
      return used.rows[0] && toSession(used.rows[0]);
    },
    signOut: (session, { everywhere }) =>
      db.transaction(async (query) => {
        const scope = scopeOf(session);
        await query("DELETE FROM dashboard_sessions WHERE merchant_id = $1 AND id = $2", [scope, session.id]);
        // Links first: this waits for a sign-in in progress, whose session is then deleted too.
        for (const table of everywhere ? ["dashboard_links", "dashboard_sessions"] : []) {
          await query(`DELETE FROM ${table} WHERE merchant_id = $1 AND name = $2`, [scope, session.name]);
        }
        await recordAction(query, signOutEntry(session, everywhere));
      }),
  };
}
