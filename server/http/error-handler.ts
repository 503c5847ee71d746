import type { ErrorRequestHandler, RequestHandler } from "express";
import type { Logger } from "pino";
import { ApiError, ConnectionDropped } from "../domain/errors.ts";

export const noSuchPath: RequestHandler = () => {
  throw new ApiError("not-found", "There is nothing at this path.");
};

/** Answers every error in the shape of §7. What nobody foresaw is logged with the request's id, and generic outside. */
export function answerErrors(log: Logger): ErrorRequestHandler {
  return (error, req, res, next) => {
    if (error instanceof ConnectionDropped) return void req.socket.destroy();
    if (res.headersSent) return next(error);
    const refusal = toApiError(error);
    if (refusal.status >= 500 && refusal !== error) {
      log.error({ err: error, requestId: res.locals.requestId }, "an unforeseen error");
    }
    const { status, phrase, message, headers } = refusal;
    res.status(status).set(headers).json({ statusCode: status, error: phrase, message });
  };
}

function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  // An escape such as %zz in a path names nothing.
  if (error instanceof URIError) return new ApiError("not-found", "There is nothing at this path.");
  return new ApiError("internal", "Something went wrong. Quote the x-request-id when you ask for help.");
}
