import { ServiceError } from "../../domain/errors.ts";
import type { Storage } from "../../domain/storage.ts";
import type { Emit } from "../../domain/telemetry.ts";
import { wrapped } from "../wrapped.ts";
import { isOutage, isUnavailable } from "./errors.ts";

const MESSAGE = "The server's database is not available.";
const RETRY_AFTER_SECONDS = 1;

/**
 * Returns a storage that converts the errors of an unavailable database into an error that a caller understands.
 * Reports when the database stops or starts working. Any other error is unchanged: an unknown outcome is not
 * "unavailable", which promises that nothing was recorded.
 */
export function watchHealth(storage: Storage, emit: Emit): Storage {
  let failing = false;

  function worked() {
    if (failing) emit("storage", { working: true, message: "The server's database works again." });
    failing = false;
  }

  function failed(error: unknown): never {
    if (!isUnavailable(error)) throw error;
    if (isOutage(error) && !failing) {
      emit("storage", { working: false, message: MESSAGE, error });
      failing = true;
    }
    throw new ServiceError("unavailable", MESSAGE, { retryAfterSeconds: RETRY_AFTER_SECONDS });
  }

  return wrapped(storage, { failed, worked });
}
