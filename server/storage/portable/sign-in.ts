import { CHAIN_SEPARATOR, looksSame, type AccessChain, type Actor, type ActorName } from "../../domain/audit.ts";
import { ServiceError } from "../../domain/errors.ts";
import { suspension } from "../../domain/merchants.ts";
import type { SecretHash } from "../../domain/keys.ts";
import {
  actorOf,
  IDLE_MS,
  TEAM_SHOWN,
  type Access,
  type EndedAccess,
  type NewAccess,
  type Person,
  type Secret,
  type SignInStore,
} from "../../domain/sign-in.ts";
import { bytesOf, fields, type Row } from "../rows.ts";
import { recordAction } from "./audit.ts";
import { lockMerchant } from "./locked-merchant.ts";
import { run, runAll, type Executor, type Query, type Work } from "./query.ts";

const FORGET = { text: "DELETE FROM dashboard_access WHERE expires_real <= :now" };
const INSERT = `INSERT INTO dashboard_access (merchant_id, id, hash, name, role, access_chain, created_real, expires_real)
  VALUES (:merchant, :id, :hash, :name, :role, :chain, :now, :now + :lifetime::bigint)`;
const REPLACE_LINK =
  "DELETE FROM dashboard_access WHERE merchant_id = :merchant AND access_chain = :chain AND used_real IS NULL";
const OF_LINK = "WHERE hash = :link AND used_real IS NULL AND expires_real > :now";
/** The row of a link becomes that of its session, so that the end of access that waits for the sign-in ends the session. */
const BEGIN_SESSION = `UPDATE dashboard_access
  SET hash = :hash, created_real = :now, used_real = :now, expires_real = :now + :lifetime::bigint
  ${OF_LINK} RETURNING *`;
const LIVE = "expires_real > :now AND (used_real IS NULL OR used_real > :now - :idle::bigint)";
const SELECT_SESSION = `SELECT *, :now AS now FROM dashboard_access
  WHERE hash = :hash AND used_real IS NOT NULL AND ${LIVE}`;
const RECORD_USE =
  "UPDATE dashboard_access SET used_real = :now WHERE merchant_id = :merchant AND id = :id RETURNING *";
const SELECT_TEAM = `SELECT * FROM dashboard_access WHERE merchant_id = :scope AND ${LIVE}
  ORDER BY id LIMIT ${TEAM_SHOWN}`;
const END = "DELETE FROM dashboard_access WHERE";
const ENDED = {
  one: `${END} merchant_id = :scope AND id = :id RETURNING name`,
  ofPerson: `${END} (merchant_id = :scope AND name = :name)
    OR (:scope IN ('', merchant_id) AND strpos(access_chain || :between, :invited) > 0)`,
  ofMerchant: `${END} merchant_id = :scope`,
};
/** Locks the session, so that the end of the session waits for the link, and then ends the link too. */
const SELECT_CHAIN = "SELECT access_chain FROM dashboard_access WHERE merchant_id = :scope AND id = :id FOR SHARE";
const SELECT_NAMES = "SELECT name FROM dashboard_access WHERE merchant_id = :merchant AND expires_real > :now";

/** How often the use of a session is recorded. */
const RECORD_USE_MS = 60_000;
/** The column `merchant_id` of operators is empty. */
const scopeOf = ({ merchantId }: { merchantId?: string }): string => merchantId ?? "";

const accessOf = fields<Access>("id name role created_real used_real expires_real");
function toAccess(row: Row): Access {
  const [, invitedBy] = row.access_chain.split(CHAIN_SEPARATOR);
  return {
    ...accessOf(row),
    ...(row.merchant_id !== "" && { merchantId: row.merchant_id }),
    ...(invitedBy !== undefined && { invitedBy }),
  };
}

/** The access of people to the dashboard. */
export function signInStore({ read, write }: Executor): SignInStore {
  return {
    insertLink: (link, actor) =>
      write(function* () {
        yield* requireOpen(link);
        const { name, role } = link;
        const merchantId = scopeOf(link);
        if (typeof actor === "string") yield* insert(link);
        else {
          const chain = actorOf(link) + CHAIN_SEPARATOR + (yield* chainOf(actor, merchantId));
          // A form that was sent twice shows the second link only.
          yield* run(REPLACE_LINK, { merchant: merchantId, chain });
          yield* requireFreeName(link, actor.name);
          yield* insert(link, chain);
        }
        yield* recordAction({ actor, action: "dashboard.link", merchantId, details: { name, role } });
      }),
    async signIn(linkHash, session) {
      // A guessed link must cost no transaction.
      const values = { link: bytesOf(linkHash) };
      if ((await read({ text: `SELECT 1 AS found FROM dashboard_access ${OF_LINK}`, values })).length === 0)
        return undefined;
      return write(() => beginSession(linkHash, session));
    },
    signInFrom: (provider, session) =>
      write(function* () {
        yield* requireOpen(session);
        yield* insert(session);
        return (yield* beginSession(session.hash, session, { provider, role: session.role }))!;
      }),
    async useSession(hash, isByPerson) {
      const [row] = await read({ text: SELECT_SESSION, values: { hash: bytesOf(hash), idle: IDLE_MS } });
      if (!row) return undefined;
      if (!isByPerson || row.used_real > row.now - RECORD_USE_MS) return toAccess(row);
      const session = { merchant: row.merchant_id, id: row.id };
      const [used] = (await write(() => run(RECORD_USE, session), { idempotent: true, isAside: true })).rows;
      return used && toAccess(used);
    },
    async listTeam(merchantId) {
      return (await read({ text: SELECT_TEAM, values: { scope: merchantId ?? "", idle: IDLE_MS } })).map(toAccess);
    },
    endSessions: (which, actor) =>
      write(function* () {
        const { name, count } = yield* endAccess(which);
        const details = { name, session: "id" in which ? which.id : "all" };
        const merchantId = scopeOf(which);
        if (count > 0) yield* recordAction({ actor, action: "dashboard.sign-out", merchantId, details });
        return count;
      }),
  };
}

function* insert(access: NewAccess, chain: AccessChain = actorOf(access)): Work<void> {
  const { id, hash, lifetimeMs: lifetime, name, role } = access;
  const values = { merchant: scopeOf(access), id, hash: bytesOf(hash), name, role, chain, lifetime };
  yield* runAll([FORGET, { text: INSERT, values }]);
}

/** Makes a link a session, and records the sign-in. */
function* beginSession(
  link: SecretHash,
  { hash, lifetimeMs: lifetime }: Secret,
  more?: Record<string, string>,
): Work<Access | undefined> {
  const [row] = (yield* run(BEGIN_SESSION, { link: bytesOf(link), hash: bytesOf(hash), lifetime })).rows;
  if (!row) return undefined;
  const session = toAccess(row);
  const { id, invitedBy } = session;
  const details = { session: id, ...(invitedBy !== undefined && { invitedBy }), ...more };
  yield* recordAction({ actor: actorOf(session), action: "dashboard.sign-in", merchantId: scopeOf(session), details });
  return session;
}

/** The lock excludes the end of the merchant. @throws ServiceError `merchant_suspended` if the merchant is closed */
function* requireOpen({ merchantId }: Person): Work<void> {
  const merchant = merchantId === undefined ? undefined : yield* lockMerchant(merchantId, "shares");
  if (merchant?.state === "closed") throw suspension(merchant)!;
}

/** The chain of who acts on this merchant. @throws ServiceError `unauthorized` if the actor's session has ended */
export function* chainOf(actor: Actor, merchant: string): Work<AccessChain> {
  if (typeof actor === "string") return actor;
  const scope = actor.name.startsWith("dashboard ") ? "" : merchant;
  const [row] = (yield* run(SELECT_CHAIN, { scope, id: actor.session })).rows;
  if (row) return row.access_chain;
  throw new ServiceError("unauthorized", "Your session has ended. Sign in again.");
}

/**
 * Refuses a name in use, because whoever makes a link in a colleague's name could act as this colleague.
 * @throws ServiceError `invalid_value` if somebody other than the maker has access under the link's name
 */
function* requireFreeName(link: Person, maker: ActorName): Work<void> {
  const { name } = link;
  const { rows } = yield* run(SELECT_NAMES, { merchant: scopeOf(link) });
  if (actorOf(link) === maker || !rows.some((row) => looksSame(row.name, name))) return;
  throw new ServiceError(
    "invalid_value",
    `${name} has access already, or somebody whose name looks the same. Only ${name} can make another link in this name, ` +
      "or an operator at the command line, with dashboard-link. Give another name, or end this person's access first.",
  );
}

/** Ends access. Returns how many sessions and links it has ended, and whose. */
function* endAccess(which: EndedAccess): Work<{ name: string; count: number }> {
  const scope = scopeOf(which);
  if ("id" in which) {
    const { rows, count } = yield* run(ENDED.one, { scope, id: which.id });
    return { name: rows[0]?.name, count };
  }
  const { name } = which;
  const invited = "invited" in which ? CHAIN_SEPARATOR + actorOf(which) + CHAIN_SEPARATOR : null;
  return { name, count: yield* endUntilNone(ENDED.ofPerson, { scope, name, invited, between: CHAIN_SEPARATOR }) };
}

/** Ends all sessions and unused links of a merchant's people. Returns their number. */
export const endAccessTo = (merchant: string): Work<number> => endUntilNone(ENDED.ofMerchant, { scope: merchant });

/** A deleted session may just have made a link, so this searches again until nothing is found. */
function* endUntilNone(text: string, values: Query["values"]): Work<number> {
  for (let ended = 0; ;) {
    const { count } = yield* run(text, values);
    if (count === 0) return ended;
    ended += count;
  }
}
