import { looksSame, type Actor, type ActorName, type Eyes } from "../../domain/audit.ts";
import { ServiceError } from "../../domain/errors.ts";
import { requireActive } from "../../domain/merchants.ts";
import {
  actorOf,
  IDLE_MS,
  TEAM_SHOWN,
  type Access,
  type EndedSessions,
  type NewSession,
  type Person,
  type Session,
  type SignInStore,
  type UnusedLink,
} from "../../domain/sign-in.ts";
import { bytesOf, fields, type Row } from "../rows.ts";
import { recordAction } from "./audit.ts";
import { lockMerchant } from "./locked-merchant.ts";
import { run, type Executor, type Query, type Work } from "./query.ts";

const TABLES = ["dashboard_links", "dashboard_sessions"];
const FORGET = TABLES.map((table) => ({ text: `DELETE FROM ${table} WHERE expires_real <= :now` }));
const INSERT_LINK = `INSERT INTO dashboard_links (merchant_id, hash, name, role, invited_by, expires_real)
  VALUES (:merchant, :hash, :name, :role, :invitedBy, :now + :lifetime::bigint)`;
const REPLACE_LINK =
  "DELETE FROM dashboard_links WHERE merchant_id = :merchant AND name = :name AND invited_by = :invitedBy";
const OF_LINK = "FROM dashboard_links WHERE hash = :hash AND expires_real > :now";
const INSERT_SESSION = `INSERT INTO dashboard_sessions
    (merchant_id, id, hash, name, role, invited_by, created_real, used_real, expires_real)
  SELECT :merchant, :id, :hash, :name, :role, :invitedBy, given.now, given.now, given.now + :lifetime::bigint FROM (SELECT :now AS now) AS given
  RETURNING *`;
const LIVE = "expires_real > :now AND used_real > :now - :idle::bigint";
const SELECT_SESSION = `SELECT *, :now AS now FROM dashboard_sessions WHERE hash = :hash AND ${LIVE}`;
const RECORD_USE =
  "UPDATE dashboard_sessions SET used_real = :now WHERE merchant_id = :merchant AND id = :id RETURNING *";
const SELECT_SESSIONS = (which: string) =>
  `SELECT * FROM dashboard_sessions WHERE ${which}${LIVE} ORDER BY merchant_id, id LIMIT :limit`;
const SELECT_LINKS = (which: string) =>
  `SELECT * FROM dashboard_links WHERE ${which}expires_real > :now ORDER BY merchant_id, hash LIMIT :limit`;
const END_SESSION = "DELETE FROM dashboard_sessions WHERE merchant_id = :scope AND id = :id RETURNING name";
const END_ACCESS = (table: string) => `DELETE FROM ${table} WHERE (merchant_id = :scope AND name = :name)
  OR (:scope IN ('', merchant_id) AND strpos(invited_by, :invited) > 0) RETURNING name`;
const END_ALL = (table: string) => `DELETE FROM ${table} WHERE merchant_id = :merchant RETURNING name`;
/** Locks the session, so that the end of the session waits for the link, and then ends the link too. */
const SELECT_INVITER = "SELECT invited_by FROM dashboard_sessions WHERE merchant_id = :scope AND id = :id FOR SHARE";
const SELECT_NAMES = TABLES.map((table) => `SELECT name FROM ${table} WHERE merchant_id = :merchant`).join(
  " UNION ALL ",
);

/** How often the use of a session is recorded. */
const RECORD_USE_MS = 60_000;
/** This character stands before and after each name in `invited_by`. No name contains it. */
const BETWEEN = "\n";

/** The column `merchant_id` of operators is empty. */
const scopeOf = ({ merchantId }: { merchantId?: string }): string => merchantId ?? "";

const linkOf = fields<UnusedLink>("name role expires_real");
const sessionOf = fields<Session>("id name role created_real used_real expires_real");
function withAccess<T extends Access>(row: Row, of: T): T {
  const invitedBy = row.invited_by.split(BETWEEN).at(-2);
  return {
    ...of,
    ...(row.merchant_id !== "" && { merchantId: row.merchant_id }),
    ...(invitedBy !== undefined && { invitedBy }),
  };
}
const toLink = (row: Row): UnusedLink => withAccess(row, linkOf(row));
const toSession = (row: Row): Session => withAccess(row, sessionOf(row));

/** The links and sessions with which people use the dashboard. */
export function signInStore({ read, write }: Executor): SignInStore {
  return {
    insertLink: ({ hash, lifetimeMs: lifetime, ...person }, actor) =>
      write(function* () {
        yield* requireOpen(person);
        yield FORGET;
        const merchant = scopeOf(person);
        const invitedBy = yield* inviters(person, actor);
        const { name, role } = person;
        yield* run(INSERT_LINK, { merchant, hash: bytesOf(hash), name, role, invitedBy, lifetime });
        yield* recordAction({ actor, action: "dashboard.link", merchantId: merchant, details: { name, role } });
      }),
    async signIn(linkHash, session) {
      const values = { hash: bytesOf(linkHash) };
      if ((await read({ text: `SELECT 1 ${OF_LINK}`, values })).length === 0) return undefined;
      return write(function* () {
        const [link] = (yield* run(`DELETE ${OF_LINK} RETURNING *`, values)).rows;
        // Another request may have used it meanwhile.
        return link && (yield* beginSession(link, session));
      });
    },
    signInFrom: (provider, person, session) =>
      write(function* () {
        yield* requireOpen(person);
        yield FORGET;
        const { name, role } = person;
        const access = { merchant_id: scopeOf(person), name, role, invited_by: "" };
        return yield* beginSession(access, session, { provider, role });
      }),
    async useSession(hash, isByPerson) {
      const [row] = await read({ text: SELECT_SESSION, values: { hash: bytesOf(hash), idle: IDLE_MS } });
      if (!row) return undefined;
      if (!isByPerson || row.used_real > row.now - RECORD_USE_MS) return toSession(row);
      const session = { merchant: row.merchant_id, id: row.id };
      const [used] = (await write(() => run(RECORD_USE, session), { repeatable: true, isAside: true })).rows;
      return used && toSession(used);
    },
    async listTeam(merchantId) {
      const which = merchantId === undefined ? "" : "merchant_id = :merchant AND ";
      const values = { merchant: merchantId, idle: IDLE_MS, limit: TEAM_SHOWN };
      const sessions = await read({ text: SELECT_SESSIONS(which), values });
      const links = await read({ text: SELECT_LINKS(which), values });
      return { sessions: sessions.map(toSession), links: links.map(toLink) };
    },
    endSessions: (which, actor) =>
      write(function* () {
        const ended = yield* endSessions(which);
        if (ended[0]) {
          const name = "name" in which ? which.name : ended[0].name;
          const details = { name, session: "id" in which ? which.id : "all" };
          yield* recordAction({ actor, action: "dashboard.sign-out", merchantId: scopeOf(which), details });
        }
        return ended.length;
      }),
  };
}

/** Stores a session, and records the sign-in. @param access a row of the person's link */
function* beginSession(
  { merchant_id: merchant, name, role, invited_by: invitedBy }: Row,
  { id, hash, lifetimeMs: lifetime }: NewSession,
  more?: Record<string, string>,
): Work<Session> {
  const values = { merchant, name, role, invitedBy, id, hash: bytesOf(hash), lifetime };
  const session = toSession((yield* run(INSERT_SESSION, values)).rows[0]!);
  const { invitedBy: inviter } = session;
  const details = { session: id, ...(inviter !== undefined && { invitedBy: inviter }), ...more };
  yield* recordAction({ actor: actorOf(session), action: "dashboard.sign-in", merchantId: merchant, details });
  return session;
}

/** The lock excludes the end of the merchant. @throws ServiceError `merchant_suspended` if the merchant is closed */
function* requireOpen({ merchantId }: Person): Work<void> {
  const merchant = merchantId === undefined ? undefined : yield* lockMerchant(merchantId, "shares");
  if (merchant?.state === "closed") requireActive(merchant);
}

/** Returns `invited_by` of the actor's session. @throws ServiceError `unauthorized` if the session has ended */
function* letIn({ name, session }: Exclude<Actor, string>, merchant: string): Work<string> {
  const scope = name.startsWith("dashboard ") ? "" : merchant;
  const [row] = (yield* run(SELECT_INVITER, { scope, id: session })).rows;
  if (!row) throw new ServiceError("unauthorized", "Your session has ended. Sign in again.");
  return row.invited_by;
}

/** Returns the eyes of who acts on this merchant. @throws ServiceError `unauthorized` if the actor's session has ended */
export function* eyesOf(actor: Actor, merchant: string): Work<Eyes> {
  if (typeof actor === "string") return actor;
  return actor.name + (yield* letIn(actor, merchant)).replace(/\n$/, "");
}

/**
 * Returns who let the person of a link in, which may be stored. Expired links and sessions have been deleted. A link in
 * place of one by the same maker ends that one: a form that was sent twice shows the second link only.
 */
function* inviters(person: Person, actor: Actor): Work<string> {
  if (typeof actor === "string") return "";
  const merchant = scopeOf(person);
  const before = yield* letIn(actor, merchant);
  const invitedBy = before === "" ? invitedMark(actor.name) : before + actor.name + BETWEEN;
  yield* run(REPLACE_LINK, { merchant, name: person.name, invitedBy });
  const { rows } = yield* run(SELECT_NAMES, { merchant });
  requireFreeName(
    person,
    actor.name,
    rows.map(({ name }) => name as string),
  );
  return invitedBy;
}

/** The part of `invited_by` by which the people are found whom this actor let in, directly or indirectly. */
const invitedMark = (actor: ActorName): string => BETWEEN + actor + BETWEEN;

/**
 * Refuses a name in use, because whoever makes a link in a colleague's name could act as this colleague.
 * @param names the names of everyone who has access
 * @throws ServiceError `invalid_value` if somebody other than the maker has access under the link's name
 */
function requireFreeName(person: Person, maker: ActorName, names: readonly string[]): void {
  const { name } = person;
  if (actorOf(person) === maker || !names.some((other) => looksSame(other, name))) return;
  throw new ServiceError(
    "invalid_value",
    `${name} has access already, or somebody whose name looks the same. Only ${name} can make another link in this name, ` +
      "or an operator at the command line, with dashboard-link. Give another name, or end this person's access first.",
  );
}

/** Returns the names of the sessions and links that it has deleted. */
function* endSessions(which: EndedSessions): Work<readonly Row[]> {
  const scope = scopeOf(which);
  if ("id" in which) return (yield* run(END_SESSION, { scope, id: which.id })).rows;
  const invited = "invited" in which ? invitedMark(actorOf(which)) : null;
  return yield* endUntilNone(END_ACCESS, { scope, name: which.name, invited });
}

/** Ends all sessions and unused links of a merchant's people. Returns the names. */
export const endSessionsOf = (merchant: string): Work<readonly Row[]> => endUntilNone(END_ALL, { merchant });

function* endUntilNone(statement: (table: string) => string, values: Query["values"]): Work<readonly Row[]> {
  const ended: Row[] = [];
  // Deletes links first: this waits for a sign-in in progress, whose session is then deleted too. A deleted session may
  // just have made a link, so search again until nothing is found.
  for (let before = -1; before < ended.length;) {
    before = ended.length;
    for (const table of TABLES) ended.push(...(yield* run(statement(table), values)).rows);
  }
  return ended;
}
