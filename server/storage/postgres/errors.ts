import { DatabaseError } from "pg";

/** The connection failed or could not be made. Unless it is an `UnknownOutcome`, nothing was recorded. */
export class ConnectionLost extends Error {
  override name = "ConnectionLost";
}

/** The connection failed during a commit, so the transaction may or may not have been recorded. */
export class UnknownOutcome extends Error {
  override name = "UnknownOutcome";
}

/** The server is shutting down, restarting after a crash, or starting; class 08 are connection exceptions. */
const SHUTDOWN = /^(08...|57P0[1-5])$/;
/** The transaction lost against a concurrent one and was rolled back (serialization failure, deadlock). */
const CONFLICT = /^(40001|40P01)$/;
/** Nothing was recorded, for a reason that passes: locked, timed out, out of resources, read-only. */
const UNAVAILABLE = /^(55P03|57014|53...|58030|25006)$/;

const has = (error: unknown, codes: RegExp) => error instanceof DatabaseError && codes.test(error.code ?? "");

export const isConflict = (error: unknown): boolean => has(error, CONFLICT);

export const isUnavailable = (error: unknown): boolean =>
  error instanceof ConnectionLost || isConflict(error) || has(error, UNAVAILABLE);

/** Returns an error of the driver as a `ConnectionLost` if it is not the database's refusal of a statement. */
export function classified(error: unknown): unknown {
  if (error instanceof DatabaseError && !has(error, SHUTDOWN)) return error;
  return new ConnectionLost((error as Error).message, { cause: error });
}
