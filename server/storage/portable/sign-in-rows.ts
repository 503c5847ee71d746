import { looksSame, type Actor, type ActorName, type Eyes, type NewEntry } from "../../domain/audit.ts";
import {
  actorOf,
  type Access,
  type Session,
  type EndedSessions,
  type Person,
  type UnusedLink,
} from "../../domain/sign-in.ts";
import { ServiceError } from "../../domain/errors.ts";
import type { Row } from "../rows.ts";

/** How often the use of a session is recorded. */
export const RECORD_USE_MS = 60_000;

/** The column `merchant_id` of operators is empty. */
export const scopeOf = ({ merchantId }: { merchantId?: string }): string => merchantId ?? "";

/** This character stands before and after each name of the people who let a person in. No name contains it. */
const BETWEEN = "\n";

/** The part of `invited_by` by which the people are found whom this actor let in, directly or indirectly. */
export const invitedMark = (actor: ActorName): string => BETWEEN + actor + BETWEEN;

/** Returns `invited_by` of a link. @param before `invited_by` of the session in which the link is made */
export const invitedIn = (before: string, actor: ActorName): string =>
  before === "" ? invitedMark(actor) : before + actor + BETWEEN;

/** Returns the eyes of a person. @param before `invited_by` of the person's session */
export const eyesIn = (name: ActorName, before: string): Eyes => name + before.replace(/\n$/, "");

/** The scope of the session of an actor who makes a link. */
export const scopeOfMaker = (actor: ActorName, merchantId: string): string =>
  actor.startsWith("dashboard ") ? "" : merchantId;

export const sessionEnded = () => new ServiceError("unauthorized", "Your session has ended. Sign in again.");

/**
 * Refuses a name in use, because whoever makes a link in a colleague's name could act as this colleague.
 * @param names the names of everyone who has access
 * @throws ServiceError `invalid_value` if somebody other than the maker has access under the link's name
 */
export function requireFreeName(person: Person, maker: ActorName, names: readonly string[]): void {
  const { name } = person;
  if (actorOf(person) === maker || !names.some((other) => looksSame(other, name))) return;
  throw new ServiceError(
    "invalid_value",
    `${name} has access already, or somebody whose name looks the same. Only ${name} can make another link in this name, ` +
      "or an operator at the command line, with dashboard-link. Give another name, or end this person's access first.",
  );
}

function toAccess(row: Row): Access & { invitedBy?: string } {
  const merchantId = row.merchant_id;
  const invitedBy = row.invited_by.split(BETWEEN).at(-2);
  return {
    ...(merchantId === "" ? {} : { merchantId }),
    name: row.name,
    role: row.role,
    ...(invitedBy !== undefined && { invitedBy }),
  };
}

export const toLink = (row: Row): UnusedLink => ({ ...toAccess(row), expiresAt: row.expires_real });

export function toSession(row: Row): Session {
  return {
    ...toAccess(row),
    id: row.id,
    createdAt: row.created_real,
    usedAt: row.used_real,
    expiresAt: row.expires_real,
  };
}

export const signInEntry = (session: Session): NewEntry => ({
  actor: actorOf(session),
  action: "dashboard.sign-in",
  merchantId: scopeOf(session),
  details: { session: session.id, ...(session.invitedBy !== undefined && { invitedBy: session.invitedBy }) },
});

/** Returns the name of the person whose access was ended. @param ended the first session or link that was ended */
export const nameIn = (which: EndedSessions, ended: Row): string => ("name" in which ? which.name : ended.name);

/** @param name whose session was ended */
export const signOutEntry = (which: EndedSessions, name: string, actor: Actor): NewEntry => ({
  actor,
  action: "dashboard.sign-out",
  merchantId: scopeOf(which),
  details: { name, session: "id" in which ? which.id : "all" },
});
