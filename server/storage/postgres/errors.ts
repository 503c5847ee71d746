import { DatabaseError } from "pg";
import { ServiceError } from "../../domain/errors.ts";
import type { Emit } from "../../domain/telemetry.ts";
import { UnknownOutcome } from "../storage-error.ts";

/** The connection failed or could not be made. Unless it is an `UnknownOutcome`, nothing was recorded. */
export class ConnectionLost extends Error {
  override name = "ConnectionLost";
}

/**
 * The server is shutting down, restarting after a crash, or starting, or has ended the session because a transaction took
 * too long. The codes of class 08 are connection exceptions.
 */
const ENDED = /^(08...|57P0[1-5]|25P0[34])$/;
/** The transaction lost against a concurrent one and was rolled back (serialization failure, deadlock). */
const CONFLICT = /^(40001|40P01)$/;
/** A statement waited too long for a lock, or took too long. */
const TIMEOUT = /^(55P03|57014)$/;
/** The server is out of resources, cannot write to its disk, or is read-only. */
const OUTAGE = /^(53...|58030|25006)$/;

const has = (error: unknown, codes: RegExp) => error instanceof DatabaseError && codes.test(error.code ?? "");

export const isConflict = (error: unknown): boolean => has(error, CONFLICT);

/** True if the database does not work. */
export const isOutage = (error: unknown): boolean => error instanceof ConnectionLost || has(error, OUTAGE);

/** True if nothing was recorded, for a temporary reason. */
export const isUnavailable = (error: unknown): boolean => isOutage(error) || isConflict(error) || has(error, TIMEOUT);

/**
 * True if another process has migrated a table since this connection prepared the statement. A new connection prepares
 * the statement again.
 */
const isPlanStale = (error: DatabaseError) => error.routine === "RevalidateCachedQuery";

/** Wraps a driver's error in a `ConnectionLost`, unless the database has refused the statement itself. */
export function classified(error: unknown): unknown {
  if (error instanceof DatabaseError && !has(error, ENDED) && !isPlanStale(error)) return error;
  return new ConnectionLost((error as Error).message, { cause: error });
}

/** Network errors while a database restarts, moves or has not started yet. */
const UNREACHABLE =
  /^(ECONNREFUSED|ECONNRESET|ECONNABORTED|EPIPE|ETIMEDOUT|EHOSTUNREACH|EHOSTDOWN|ENETUNREACH|EAI_AGAIN)$/;
/** The driver's messages about a connection that ended or does not respond. */
const SILENT = /timeout|terminated|too slow/i;
/** PgBouncer uses one code for its own configuration errors and for a database that it cannot reach. */
const PGBOUNCER = "08P01";
const PGBOUNCER_AWAY = /cannot connect to server|server login has been failing|query_wait_timeout|shutting down/;

/** True if the database cannot be used at the moment, and waiting may help; false for wrong credentials or a wrong URL. */
export function mayRecover(error: unknown): boolean {
  const isWrapped = error instanceof ConnectionLost || error instanceof UnknownOutcome;
  if (isWrapped && error.cause !== undefined) return mayRecover(error.cause);
  const { code = "", message, syscall } = error as NodeJS.ErrnoException;
  if (error instanceof DatabaseError) {
    return code === PGBOUNCER ? PGBOUNCER_AWAY.test(message) : has(error, ENDED) || has(error, OUTAGE);
  }
  // The socket of a local server that has not started does not exist.
  return (
    UNREACHABLE.test(code) || (code === "ENOENT" && syscall === "connect") || (code === "" && SILENT.test(message))
  );
}

const STATEMENT_MODE =
  "PgBouncer runs in statement mode, which has no transactions. Set its pool_mode to session or transaction.";

/**
 * Says why a database cannot be used, and what to do. Contains no URL, which may have a password.
 * @param variable the environment variable that has the URL
 */
export function explanation(error: NodeJS.ErrnoException, variable: string): string {
  const reason = error.message || error.code || String(error);
  if (/statement pooling/.test(reason)) return STATEMENT_MODE;
  const isTransient = error instanceof DatabaseError && (isUnavailable(error) || mayRecover(error));
  return `${reason.replace(/\.$/, "")}. ${isTransient ? "Try again later." : `Check ${variable}.`}`;
}

const MESSAGE = "The server's database is not available.";
const RETRY_AFTER_SECONDS = 1;

/**
 * Converts the errors of an unavailable database into an error that a caller understands. Reports when the database stops
 * or starts working. Any other error is unchanged: an unknown outcome is not "unavailable", which promises that nothing
 * was recorded.
 */
export function watchHealth(emit: Emit) {
  let failing = false;
  return {
    worked() {
      if (failing) emit("storage", { working: true, message: "The server's database works again." });
      failing = false;
    },
    explain(error: unknown): unknown {
      if (!isUnavailable(error)) return error;
      if (isOutage(error) && !failing) {
        emit("storage", { working: false, message: MESSAGE, error });
        failing = true;
      }
      return new ServiceError("unavailable", MESSAGE, { retryAfterSeconds: RETRY_AFTER_SECONDS });
    },
  };
}
