import { ServiceError } from "../domain/errors.ts";

/** The storage is not usable, so the process cannot start. The message says what to do. */
export class StorageError extends Error {
  override name = "StorageError";
}

/** The storage cannot be used at the moment. The reason may pass without a change of the configuration. */
export class StorageAway extends StorageError {}

/** The connection or the disk failed during a commit, so the transaction may or may not have been recorded. */
export class UnknownOutcome extends Error {
  override name = "UnknownOutcome";
}

/** The refusal of work that was not begun, because too much work waits or because it has waited too long. */
export const overloaded = (): ServiceError =>
  new ServiceError("unavailable", "The server is overloaded.", { retryAfterSeconds: 1 });
