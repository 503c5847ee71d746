import { checkedName, type Actor, type ActorName } from "./audit.ts";
import type { Random } from "./ids.ts";
import { hashKey, type SecretHash } from "./keys.ts";
import type { MerchantContext } from "./merchants.ts";

/**
 * Access is found by the SHA-256 of its token, which is stored nowhere. Storing access also deletes what has expired. All
 * times are real time.
 */
export interface SignInStore {
  /**
   * Stores a link. A link by the same maker for the same person ends.
   * @throws ServiceError `unauthorized` if the actor's session has ended; `invalid_value` if the actor has a session and
   *   somebody else already has access under the link's name; `merchant_suspended` if the merchant is closed
   */
  insertLink(link: NewAccess, actor: Actor): Promise<void>;
  /**
   * Makes a link a session, which has another token. Resolves with undefined, and writes nothing, if the link is unknown,
   * was used or has expired.
   */
  signIn(linkHash: SecretHash, session: Secret): Promise<Access | undefined>;
  /**
   * Stores a session of somebody who signed in at an OpenID provider.
   * @throws ServiceError `merchant_suspended` if the merchant is closed
   */
  signInFrom(provider: string, session: NewAccess): Promise<Access>;
  /**
   * The session with this hash, unless it has expired or was not used for `IDLE_MS`. Records a person's use, at most once a minute.
   * @param isByPerson false for a request that a page's script sends, so that the session ends if nobody is there
   */
  useSession(hash: SecretHash, isByPerson: boolean): Promise<Access | undefined>;
  /** Lists the people of a merchant, or the operators, who can see the dashboard; at most `TEAM_SHOWN`. */
  listTeam(merchantId?: string): Promise<Access[]>;
  /** Ends access. Resolves with the number of ended sessions and links. */
  endSessions(which: EndedAccess, actor: Actor): Promise<number>;
}

export interface Person {
  /** The only merchant that the person may see; absent for an operator, who may see all. */
  merchantId?: string;
  name: string;
  role: Role;
}

/** What a token gives access with, and for how long. */
export interface Secret {
  hash: SecretHash;
  lifetimeMs: number;
}
export type NewAccess = Person & Secret & { id: string };

/** A link, and once it is used the session that it became. */
export interface Access extends Person {
  id: string;
  createdAt: number;
  /** When the session was last used, to within a minute; absent for a link that nobody has used yet. */
  usedAt?: number;
  expiresAt: number;
  /** Who made the link at the dashboard; absent for a link of the command line. */
  invitedBy?: ActorName;
}

/**
 * One session or link, or all of a person. With `invited`, also those of everybody whom this person let in, directly or
 * indirectly. Without `merchantId`, the person is an operator.
 */
export type EndedAccess = { merchantId?: string } & ({ id: string } | { name: string; invited?: true });

/**
 * Returns who acts in a session, for the audit trail. A merchant's people choose each other's names, so they must not
 * look like operators there.
 */
export const actorOf = ({ merchantId, name }: Pick<Person, "merchantId" | "name">): ActorName =>
  `${merchantId === undefined ? "dashboard" : "merchant"} ${name}`;

/** How long a link works: of the command line, and of a person for a colleague. */
export const LINK_MS = 10 * 60_000;
export const INVITATION_MS = 24 * 3_600_000;
/** How long a session lasts, and how long it may stay unused. */
const SESSION_MS = 12 * 3_600_000;
export const IDLE_MS = 2 * 3_600_000;
const TOKEN_BYTES = 32;
/** The largest number of people that a list of the team shows. */
export const TEAM_SHOWN = 1_000;

export interface SignInContext extends Pick<MerchantContext, "clock" | "ids" | "random"> {
  storage: SignInStore;
}

export const newToken = (random: Random): string => Buffer.from(random(TOKEN_BYTES)).toString("base64url");

const secretOf = (token: string, lifetimeMs: number): Secret => ({ hash: hashKey(token), lifetimeMs });

/** @throws ServiceError `invalid_value` if the name is empty, too long or has invisible characters */
const accessOf = ({ clock, ids }: SignInContext, person: Person, token: string, lifetimeMs: number): NewAccess => ({
  ...person,
  name: checkedName(person.name),
  id: ids.record(clock.now()),
  ...secretOf(token, lifetimeMs),
});

/**
 * Creates a link, for an operator or with a `merchantId` for a merchant, and returns its token.
 * @throws ServiceError as `accessOf`
 */
export async function createLink(
  context: SignInContext,
  person: Person,
  actor: Actor,
  lifetimeMs: number = LINK_MS,
): Promise<string> {
  const token = newToken(context.random);
  await context.storage.insertLink(accessOf(context, person, token, lifetimeMs), actor);
  return token;
}

export const linkAddress = (publicUrl: string, token: string): string =>
  `${publicUrl}/dashboard/sign-in?token=${token}`;

/** Uses up a link. Returns the token of a new session, or undefined if the link does not work (any more). */
export async function signIn({ storage, random }: SignInContext, link: string): Promise<string | undefined> {
  const token = newToken(random);
  return (await storage.signIn(hashKey(link), secretOf(token, SESSION_MS))) && token;
}

/**
 * Begins a session for somebody who signed in at an OpenID provider, and returns its token.
 * @throws ServiceError as `accessOf`
 */
export async function signInFrom(context: SignInContext, provider: string, person: Person): Promise<string> {
  const token = newToken(context.random);
  await context.storage.signInFrom(provider, accessOf(context, person, token, SESSION_MS));
  return token;
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
  "change settings": [],
} as const satisfies Record<string, readonly Role[]>;
export type Right = keyof typeof RIGHTS;

export const hasRight = (role: Role, right: Right): boolean =>
  role === "administrator" || (RIGHTS[right] as readonly Role[]).includes(role);

export const roleOf = (name: string): Role | undefined => ROLES.find((role) => role === name);
