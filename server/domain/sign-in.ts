import { checkedName, type Actor, type ActorName } from "./audit.ts";
import type { Clock } from "./clock.ts";
import type { Ids, Random } from "./ids.ts";
import { hashKey, type SecretHash } from "./keys.ts";

/** Links and sessions are found by the SHA-256 of their tokens, which are stored nowhere. All times are real time. */
export interface SignInStore {
  /**
   * Stores a link, unless it is stored. Also deletes the links and sessions that have expired.
   * @throws ServiceError `unauthorized` if the actor's session has ended; `invalid_value` if the actor has a session and
   *   somebody else already has access under the link's name; `merchant_suspended` if the merchant is closed
   */
  insertLink(link: SignInLink, actor: Actor): Promise<void>;
  /**
   * Uses up a link and begins a session with the link's merchant, name and role. Resolves with undefined, and writes nothing,
   * if the link is unknown, was used or has expired.
   */
  signIn(linkHash: SecretHash, session: NewSession): Promise<Session | undefined>;
  /**
   * Begins a session for somebody who signed in at an OpenID provider. Also deletes the links and sessions that have
   * expired.
   * @throws ServiceError `merchant_suspended` if the merchant is closed
   */
  signInFrom(provider: string, access: Access, session: NewSession): Promise<Session>;
  /**
   * The session with this hash, unless it has expired or was not used for `IDLE_MS`. Records a person's use, at most once a minute.
   * @param isByPerson false for a request that a page's script sends, so that the session ends if nobody is there
   */
  useSession(hash: SecretHash, isByPerson: boolean): Promise<Session | undefined>;
  /**
   * Lists who can see the dashboard, by merchant: the people of one merchant, or all people, operators first. Lists at most
   * `TEAM_SHOWN` sessions, and as many links.
   */
  listTeam(merchantId?: string): Promise<{ sessions: Session[]; links: UnusedLink[] }>;
  /**
   * Ends one session, or all sessions and unused links of a person. Resolves with the number of ended sessions and
   * links.
   */
  endSessions(which: EndedSessions, actor: Actor): Promise<number>;
}

export interface Person {
  /** The only merchant that the person may see; absent for an operator, who may see all. */
  merchantId?: string;
  name: string;
}
export type Access = Person & { role: Role };

interface Secret {
  hash: SecretHash;
  lifetimeMs: number;
}
export type SignInLink = Access & Secret;
export type NewSession = { id: string } & Secret;

export interface Session extends Access {
  id: string;
  createdAt: number;
  /** When it was last used, to within a minute. */
  usedAt: number;
  expiresAt: number;
  /** Who made the link at the dashboard; absent for a link of the command line. */
  invitedBy?: string;
}

/** A link that nobody has used yet. */
export type UnusedLink = Omit<Session, "id" | "createdAt" | "usedAt">;

/**
 * One session, or all sessions and unused links of a person. With `invited`, also the sessions and links of everybody
 * whom this person let in, directly or indirectly. Without `merchantId`, the person is an operator.
 */
export type EndedSessions = { merchantId?: string } & ({ id: string } | { name: string; invited?: true });

/**
 * Returns who acts in a session, for the audit trail. A merchant's people choose each other's names, so they must not
 * look like operators there.
 */
export const actorOf = ({ merchantId, name }: Person): ActorName =>
  `${merchantId === undefined ? "dashboard" : "merchant"} ${name}`;

/** How long a link may wait to be used, and for how long if its maker chooses, by the words of the choice. */
export const LINK_MS = 10 * 60_000;
export const LINK_LIFETIMES = { "10 minutes": LINK_MS, "1 day": 24 * 3_600_000, "3 days": 72 * 3_600_000 } as const;
export const LONGEST_LINK_MS = LINK_LIFETIMES["3 days"];
/** How long a session lasts, and how long it may stay unused. */
const SESSION_MS = 12 * 3_600_000;
export const IDLE_MS = 2 * 3_600_000;
const TOKEN_BYTES = 32;
/** The largest number of sessions, and of links, that a list of the team shows. */
export const TEAM_SHOWN = 500;

export interface SignInContext {
  storage: SignInStore;
  clock: Clock;
  ids: Ids;
  random: Random;
}

export const newToken = (random: Random): string => Buffer.from(random(TOKEN_BYTES)).toString("base64url");

/**
 * Creates a link, for an operator or with a `merchantId` for a merchant, and returns its token.
 * @throws ServiceError `invalid_value` if the name is empty, too long or has invisible characters
 */
export async function createLink(
  { storage, random }: Pick<SignInContext, "storage" | "random">,
  person: Access,
  actor: Actor,
  lifetimeMs: number = LINK_MS,
): Promise<string> {
  const name = checkedName(person.name);
  const token = newToken(random);
  await storage.insertLink({ ...person, name, hash: hashKey(token), lifetimeMs }, actor);
  return token;
}

export const linkAddress = (publicUrl: string, token: string): string =>
  `${publicUrl}/dashboard/sign-in?token=${token}`;

/** Uses up a link. Returns the token of a new session, or undefined if the link does not work (any more). */
export async function signIn(context: SignInContext, link: string): Promise<string | undefined> {
  const { token, session } = newSession(context);
  return (await context.storage.signIn(hashKey(link), session)) && token;
}

/**
 * Begins a session for somebody who signed in at an OpenID provider, and returns its token.
 * @throws ServiceError `invalid_value` if the name is empty, too long or has invisible characters
 */
export async function signInFrom(context: SignInContext, provider: string, access: Access): Promise<string> {
  const { token, session } = newSession(context);
  await context.storage.signInFrom(provider, { ...access, name: checkedName(access.name) }, session);
  return token;
}

function newSession({ clock, ids, random }: SignInContext): { token: string; session: NewSession } {
  const token = newToken(random);
  return { token, session: { id: ids.record(clock.now()), hash: hashKey(token), lifetimeMs: SESSION_MS } };
}

/** What a person may do in the dashboard. Every role may look at everything of its merchant, or of all merchants. */
export const ROLES = ["viewer", "support", "finance", "administrator"] as const;
export type Role = (typeof ROLES)[number];

/** The actions of people in the dashboard, each with the roles that may do it. An administrator may do everything. */
export const RIGHTS = {
  "replay webhooks": ["support"],
  "use the sandbox": ["support", "finance"],
  "pause a rail": ["support", "finance"],
  "decide about payments": ["finance"],
  "change balances": ["finance"],
  "reset the sandbox": [],
  "change settings": [],
  "manage people": [],
  "manage merchants": [],
} as const satisfies Record<string, readonly Role[]>;
export type Right = keyof typeof RIGHTS;

export const hasRight = (role: Role, right: Right): boolean =>
  role === "administrator" || (RIGHTS[right] as readonly Role[]).includes(role);

export const roleOf = (name: string): Role | undefined => ROLES.find((role) => role === name);
