import { ServiceError } from "./errors.ts";
import type { Page } from "./pages.ts";

export interface AuditLog {
  /**
   * Lists the newest first: all entries, or a merchant's.
   * @throws InvalidCursorError if the list with this `merchantId` never returned the cursor
   */
  listAudit(query: { merchantId?: string; limit: number; cursor?: string }): Promise<Page<AuditEntry>>;
  /** Records an action that changes nothing in the storage, such as an export. */
  recordAction(entry: NewEntry): Promise<void>;
}

/**
 * Who acts: a person at the command line (`command USER@HOST`), a starting server (`server USER@HOST`), or a merchant's
 * program (`key KEY_ID`). In the dashboard, who is signed in: an operator (`dashboard NAME`) or a merchant's person
 * (`merchant NAME`).
 */
export type ActorName = `${"command" | "server" | "key" | "dashboard" | "merchant"} ${string}`;

/** Who acts. For a person at the dashboard also the id of the session, which is no secret. */
export type Actor = ActorName | { name: ActorName; session: string };

export const actorName = (actor: Actor): ActorName => (typeof actor === "string" ? actor : actor.name);

/** The name of the person or program without the place where it acts: `NAME` of `dashboard NAME`. */
export const personOf = (name: ActorName): string => name.slice(name.indexOf(" ") + 1);

/**
 * The part of a name that is compared: without what follows an @, so that `command ada@host` is `dashboard Ada`. A person
 * who may be the same does not count as a second person.
 */
const ownName = (name: ActorName) => personOf(name).replace(/(?<=.)@.*$/s, "");

/**
 * The name of who acts, then the name of who let this person in, and so on. Whoever lets a person in can act under this
 * person's name.
 */
export type AccessChain = string;
/** What is between the names of a chain. No name contains it. */
export const CHAIN_SEPARATOR = "\n";

export const nameOf = (chain: AccessChain): ActorName => chain.split(CHAIN_SEPARATOR, 1)[0] as ActorName;

/**
 * True if two people count as two: neither let the other in, and nobody let both in. An operator may let in several people
 * of a merchant, who count as several.
 */
export function areTwoPeople(one: AccessChain, other: AccessChain): boolean {
  const ofMerchant = [one, other].every((chain) => chain.startsWith("merchant "));
  const namesIn = (chain: AccessChain) =>
    (chain.split(CHAIN_SEPARATOR) as ActorName[])
      .filter((name) => !ofMerchant || !name.startsWith("dashboard "))
      .map(ownName);
  return !namesIn(one).some((name) => namesIn(other).some((each) => looksSame(name, each)));
}

/** What was done: the name of a form's action, or of something without a form, such as `dashboard.sign-in`. */
export type AuditAction = `${string}.${string}`;

/** An entry of the audit trail (D41), written in the same transaction as the action. */
export interface AuditEntry {
  /** Real time. */
  at: number;
  actor: ActorName;
  action: AuditAction;
  /** Empty for what concerns all merchants, such as an operator's sign-in or a rail. */
  merchantId: string;
  /** Details of the action, such as the id of a key, and the session of the actor. Never contains a secret. */
  details: Readonly<Record<string, string>>;
}

export type NewEntry = Omit<AuditEntry, "at" | "actor"> & { actor: Actor };

const LONGEST_REASON = 500;

/**
 * Returns a person's reason, for the audit trail.
 * @throws ServiceError `invalid_value` if it is empty or too long
 */
export function checkedReason(text: string): string {
  const reason = text.replaceAll(/\s+/g, " ").trim();
  if (reason !== "" && reason.length <= LONGEST_REASON && !/\p{C}/u.test(reason)) return reason;
  throw new ServiceError("invalid_value", `Give a reason of 1 to ${LONGEST_REASON} characters.`);
}

const LONGEST_NAME = 100;
/**
 * Control and format characters, such as U+200B and U+202E, line and paragraph separators, surrogates, unassigned and
 * other invisible characters. With them, two names look the same, or a name changes the text around it.
 */
const INVISIBLE = /[\p{C}\p{Zl}\p{Zp}[\p{Default_Ignorable_Code_Point}--\p{M}]]/v;
/**
 * What a comparison of names ignores: marks without a shape of their own, such as the selector of an emoji's colours, and
 * the blank Braille pattern.
 */
const IGNORED = /[\p{Default_Ignorable_Code_Point}\u2800]/gu;

/** True if two names look the same to people. */
export const looksSame = (one: string, other: string): boolean => folded(one) === folded(other);
const folded = (name: string) => name.normalize("NFKC").replace(IGNORED, "").toLowerCase().replace(/\s+/g, " ").trim();

/**
 * Returns the name that people give a person, a key or a merchant, without spaces around it.
 * @throws ServiceError `invalid_value` if it is empty, too long or has invisible characters
 */
export function checkedName(text: string): string {
  const name = text.trim();
  if (name !== "" && name.length <= LONGEST_NAME && !INVISIBLE.test(name)) return name;
  const message = `A name has 1 to ${LONGEST_NAME} characters, and no control or invisible characters.`;
  throw new ServiceError("invalid_value", message, { fields: [{ path: "name", code: "pattern", message }] });
}
