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
/** What the caller is told, in English. */
const TEXTS = {
  "recorded.nothing": "Nothing was recorded.",
  "recorded.certain": "Recorded before this error: {changes}.",
  "recorded.unknown": "It is not known whether this was recorded: {changes}.",
  "recorded.unnamed": "what you asked for, or a part of it",
  "recorded.more": "{number} more",
} as const;
type Text = keyof typeof TEXTS;
/** The largest number of changes that a text names. */
const MOST_NAMED = 3;

/** How people are told about changes. */
interface Language {
  t(text: Text, values?: Readonly<Record<string, string | number>>): string;
  /** Names a change; empty for a change without a name. */
  nameOf(change: Change): string;
}

/** For programs and for the command line: in English, with the names of the audit trail. */
const PLAIN: Language = {
  t: (text, values = {}) => TEXTS[text].replaceAll(/\{(\w+)\}/g, (_, name: string) => String(values[name])),
  nameOf: ({ action, details }) =>
    [...(action ? [action] : []), ...Object.entries(details).map((pair) => pair.join(" "))].join(" "),
};

/** Says what was recorded before an error. */
export function describeChanges(changes: readonly Change[], { t, nameOf }: Language = PLAIN): string {
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
export function truthful(error: ServiceError, changes: readonly Change[] | undefined, next: string): ServiceError {
  const { code, message, details } = error;
  if (!changes) return error;
  if (changes.length > 0) return new ServiceError("internal_error", `${message} ${describeChanges(changes)} ${next}`);
  return PROMISING.has(code) ? new ServiceError(code, `${message} ${describeChanges([])}`, details) : error;
}
