import { ServiceError } from "../domain/errors.ts";

/** The refusal of work that was not begun, because too much work waits or because it has waited too long. */
export const overloaded = (): ServiceError =>
  new ServiceError("unavailable", "The server is overloaded.", { retryAfterSeconds: 1 });
