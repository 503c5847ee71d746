import { ServiceError } from "../domain/errors.ts";

/** Refuses work that was not begun, because too much waits or it has waited for too long. */
export const overloaded = (): ServiceError =>
  new ServiceError("unavailable", "The server is overloaded. Nothing was recorded.", { retryAfterSeconds: 1 });
