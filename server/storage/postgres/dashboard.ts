import type { Actor } from "../../domain/audit.ts";
import { actorOf, type EndedSessions, type Person } from "../../domain/dashboard.ts";
import type { DashboardStore } from "../../domain/storage.ts";
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
import type { Row } from "../rows.ts";
import { recordAction } from "./executor.ts";
import type { Context } from "./context.ts";
import type { Query } from "./database.ts";

const SELECT_SESSION = `SELECT *, :now AS now FROM dashboard_sessions
  WHERE hash = $1 AND expires_real > :now AND used_real > :now - $2::bigint`;
const RECORD_USE = "UPDATE dashboard_sessions SET used_real = :now WHERE merchant_id = $1 AND id = $2 RETURNING *";
const INSERT_SESSION = `INSERT INTO dashboard_sessions
    (merchant_id, id, hash, name, invited_by, created_real, used_real, expires_real)
  SELECT $1, $2, $3, $4, $6, t.now, t.now, t.now + $5::bigint FROM (SELECT :now AS now) t RETURNING *`;

const SELECT_SESSIONS = `SELECT * FROM dashboard_sessions
  WHERE expires_real > :now AND used_real > :now - $1::bigint ORDER BY merchant_id, id LIMIT $2`;
const SELECT_SESSIONS_OF = `SELECT * FROM dashboard_sessions
  WHERE merchant_id = $1 AND expires_real > :now AND used_real > :now - $2::bigint ORDER BY id LIMIT $3`;
const SELECT_LINKS = `SELECT * FROM dashboard_links WHERE expires_real > :now ORDER BY merchant_id, hash LIMIT $1`;
const SELECT_LINKS_OF = `SELECT * FROM dashboard_links
  WHERE merchant_id = $1 AND expires_real > :now ORDER BY hash LIMIT $2`;

export function dashboard({ db }: Context): DashboardStore {
  const rowOf = async (hash: Uint8Array, idleMs: number) =>
    (await db.read(SELECT_SESSION, [Buffer.from(hash), idleMs])).rows[0];

  return {
    insertLink: ({ hash, lifetimeMs, ...person }, actor) =>
      db.transaction(async (query) => {
        await query("DELETE FROM dashboard_links WHERE expires_real <= :now", []);
        await query("DELETE FROM dashboard_sessions WHERE expires_real <= :now", []);
        const merchantId = scopeOf(person);
        await query(
          `INSERT INTO dashboard_links (merchant_id, hash, name, invited_by, expires_real)
           VALUES ($1, $2, $3, $5, :now + $4::bigint)`,
          [merchantId, Buffer.from(hash), person.name, lifetimeMs, await invitedBy(query, person, actor)],
        );
        await recordAction(query, { actor, action: "dashboard.link", merchantId, details: { name: person.name } });
      }),
    async signIn(linkHash, { id, hash, lifetimeMs }) {
      const found = await db.read("SELECT 1 FROM dashboard_links WHERE hash = $1 AND expires_real > :now", [
        Buffer.from(linkHash),
      ]);
      if (found.rows.length === 0) return undefined;
      return db.transaction(async (query) => {
        const links = await query("DELETE FROM dashboard_links WHERE hash = $1 AND expires_real > :now RETURNING *", [
          Buffer.from(linkHash),
        ]);
        const [link] = links.rows;
        // Another request may have used it meanwhile.
        if (!link) return undefined;
        const values = [link.merchant_id, id, Buffer.from(hash), link.name, lifetimeMs, link.invited_by];
        const { rows } = await query(INSERT_SESSION, values);
        const session = toSession(rows[0]!);
        await recordAction(query, signInEntry(session));
        return session;
      });
    },
    async useSession(hash, idleMs) {
      const row = await rowOf(hash, idleMs);
      if (!row) return undefined;
      if ((row.used_real as number) > (row.now as number) - RECORD_USE_MS) return toSession(row);
      const used = await db.transaction((query) => query(RECORD_USE, [row.merchant_id, row.id]), { repeatable: true });
      return used.rows[0] && toSession(used.rows[0]);
    },
    async findSession(hash, idleMs) {
      const row = await rowOf(hash, idleMs);
      return row && toSession(row);
    },
    async listTeam({ merchantId, idleMs, limit }) {
      const [sessions, links] =
        merchantId === undefined
          ? [await db.read(SELECT_SESSIONS, [idleMs, limit]), await db.read(SELECT_LINKS, [limit])]
          : [
              await db.read(SELECT_SESSIONS_OF, [merchantId, idleMs, limit]),
              await db.read(SELECT_LINKS_OF, [merchantId, limit]),
            ];
      return { sessions: sessions.rows.map(toSession), links: links.rows.map(toLink) };
    },
    endSessions: (which, actor) =>
      db.transaction(async (query) => {
        const ended = await endSessions(query, which);
        if (ended[0]) await recordAction(query, signOutEntry(which, nameIn(which, ended[0]), actor));
        return ended.length;
      }),
  };
}

/** Locks the session, so that its end waits for the link, and ends the link too. */
const SELECT_INVITER = "SELECT invited_by FROM dashboard_sessions WHERE merchant_id = $1 AND id = $2 FOR SHARE";
const SELECT_NAMES = `SELECT name FROM dashboard_sessions WHERE merchant_id = $1
  UNION ALL SELECT name FROM dashboard_links WHERE merchant_id = $1`;

/** Returns who let the person of a new link in. Expired links and sessions have been deleted. */
async function invitedBy(query: Query, person: Person, actor: Actor): Promise<string> {
  if (typeof actor === "string") return "";
  const merchantId = scopeOf(person);
  const [inviter] = (await query(SELECT_INVITER, [scopeOfMaker(actor.name, merchantId), actor.session])).rows;
  if (!inviter) throw sessionEnded();
  const { rows } = await query(SELECT_NAMES, [merchantId]);
  requireFreeName(
    person,
    actor.name,
    rows.map(({ name }) => name as string),
  );
  return invitedIn(inviter.invited_by as string, actor.name);
}

/** Returns the names of the sessions and links that it has deleted. */
async function endSessions(query: Query, which: EndedSessions): Promise<readonly Row[]> {
  const scope = scopeOf(which);
  if ("id" in which) {
    const sql = "DELETE FROM dashboard_sessions WHERE merchant_id = $1 AND id = $2 RETURNING name";
    return (await query(sql, [scope, which.id])).rows;
  }
  const invited = "invited" in which ? invitedMark(actorOf(which)) : null;
  const ended: Row[] = [];
  // Links first: this waits for a sign-in in progress, whose session is then deleted too. A session that is deleted may
  // just have made a link, so look again until there is nothing more.
  for (let before = -1; before < ended.length;) {
    before = ended.length;
    for (const table of ["dashboard_links", "dashboard_sessions"]) {
      const sql = `DELETE FROM ${table} WHERE (merchant_id = $1 AND name = $2)
        OR ($1 IN ('', merchant_id) AND position($3 IN invited_by) > 0) RETURNING name`;
      ended.push(...(await query(sql, [scope, which.name, invited])).rows);
    }
  }
  return ended;
}
