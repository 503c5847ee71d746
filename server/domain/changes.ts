import { AsyncLocalStorage } from "node:async_hooks";
import { ServiceError, type ErrorCode } from "./errors.ts";

/**
 * A transaction of a request or of a command that has recorded something, or may have, because the outcome of its commit is
 * not known. The storage notes each, whatever code asked for it, so that no later error claims that nothing was recorded
 * (D111).
 */
export type Change = "certain" | "unknown";

const current = new AsyncLocalStorage<Change[]>();

/** Runs `work`, and adds what it records to `changes`. */
export const collectChanges = <T>(changes: Change[], work: () => T): T => current.run(changes, work);

/** The changes of the request or command that calls this; undefined if nobody asks for them, as in a worker. */
export const currentChanges = (): Change[] | undefined => current.getStore();

/** Codes that promise programs that nothing was recorded. The message then says so to people. */
const PROMISING = new Set<ErrorCode>([
  "merchant_suspended",
  "insufficient_funds",
  "limit_exceeded",
  "not_served",
  "internal_error",
  "unavailable",
]);

/** Returns a text in the language of who is told. */
type Tell = (text: `recorded.${"nothing" | Change}`) => string;

/** Says whether something was recorded before an error. */
export const describeChanges = (changes: readonly Change[], t: Tell): string =>
  t(`recorded.${changes.includes("certain") ? "certain" : (changes[0] ?? "nothing")}`);

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
