import { AsyncLocalStorage } from "node:async_hooks";
import type { AuditAction } from "./audit.ts";
import { ServiceError, type ErrorCode } from "./errors.ts";

/**
 * What a transaction of a request or of a command has recorded. The storage notes each change, whatever code asked for
 * it, so that no later error claims that nothing was recorded (D111).
 */
export interface Change {
  /** False if the outcome of the commit is not known. */
  isCertain: boolean;
  /** As in the audit trail; absent for a change without an entry there. */
  action?: AuditAction;
  /** What the change is about, such as the id of a key. Never contains a secret. */
  details: Readonly<Record<string, string>>;
}

const current = new AsyncLocalStorage<Change[]>();

/** Runs `work`, and adds what it records to `changes`. */
export const noteChanges = <T>(changes: Change[], work: () => T): T => current.run(changes, work);

/** The changes of the request or command that calls this; undefined if nobody asks for them, as in a worker. */
export const notedChanges = (): Change[] | undefined => current.getStore();

/** Codes of refusals that promise that nothing was recorded, also to people. */
const PROMISING = new Set<ErrorCode>([
  "merchant_suspended",
  "insufficient_funds",
  "limit_exceeded",
  "not_served",
  "internal_error",
  "unavailable",
]);
/** The largest number of changes that a text names. */
const MOST_NAMED = 3;

/** Returns a text in the language of who is told. */
type Tell = (
  text: `recorded.${"nothing" | "certain" | "unknown" | "unnamed" | "more"}`,
  values?: Readonly<Record<string, string | number>>,
) => string;

const plainName = ({ action, details }: Change) =>
  [...(action ? [action] : []), ...Object.entries(details).map((pair) => pair.join(" "))].join(" ");

/** Says what was recorded before an error. @param nameOf names a change, by default as in the audit trail */
export function describeChanges(changes: readonly Change[], t: Tell, nameOf = plainName): string {
  if (changes.length === 0) return t("recorded.nothing");
  const listed = (among: readonly Change[]) => {
    const names = [...new Set(among.map(nameOf).filter((name) => name !== ""))];
    if (names.length === 0) return t("recorded.unnamed");
    const more = names.length - MOST_NAMED;
    return [...names.slice(0, MOST_NAMED), ...(more > 0 ? [t("recorded.more", { number: more })] : [])].join("; ");
  };
  const { true: certain, false: unknown } = Object.groupBy(changes, ({ isCertain }) => String(isCertain));
  const texts = [
    ...(certain ? [t("recorded.certain", { changes: listed(certain) })] : []),
    ...(unknown ? [t("recorded.unknown", { changes: listed(unknown) })] : []),
  ];
  return texts.join(" ");
}

/**
 * Returns the error as the caller must see it: with what was recorded before it, or with the promise that nothing was.
 * After a change the code is `internal_error`, the only code that leaves open whether anything was recorded.
 * @param next says how to see what was recorded
 */
export function truthful(
  error: ServiceError,
  changes: readonly Change[] | undefined,
  next: string,
  t: Tell,
): ServiceError {
  const { code, message, details } = error;
  if (!changes) return error;
  const described = `${message} ${describeChanges(changes, t)}`;
  if (changes.length > 0) return new ServiceError("internal_error", `${described} ${next}`);
  return PROMISING.has(code) ? new ServiceError(code, described, details) : error;
}
