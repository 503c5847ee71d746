import type { ErrorRequestHandler, RequestHandler } from "express";
import type { Logger } from "pino";
import { ConnectionDropped, ServiceError } from "../domain/errors.ts";
import { truthful } from "../domain/changes.ts";
import { english } from "../texts/index.ts";
import { toHttpError } from "./http-error.ts";
import { stateOf } from "./request-state.ts";

export const noSuchPath: RequestHandler = () => {
  throw new ServiceError("unknown_path", "This path does not exist.");
};

/** Sends every error in the shape of §7. An unexpected error is logged with the request id; its response is generic. */
export function sendErrors(log: Logger): ErrorRequestHandler {
  return (error, req, res, next) => {
    if (error instanceof ConnectionDropped) return void req.socket.destroy();
    if (res.headersSent) return next(error);
    const known = toServiceError(error);
    const { requestId, changes } = stateOf(res);
    const sent = truthful(known, changes, "Look up what exists before you repeat the request.", english);
    if (known !== error && known.code === "internal_error") log.error({ err: error, requestId }, "unexpected error");
    else if (changes?.length) log.warn({ err: error, requestId }, "failed after a change was recorded");
    const { status, headers, body } = toHttpError(sent);
    stateOf(res).returned = body;
    res.status(status).set(headers).json(body);
  };
}

function toServiceError(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  // The path contains a malformed escape such as %zz.
  if (error instanceof URIError) return new ServiceError("unknown_path", "This path does not exist.");
  return new ServiceError(
    "internal_error",
    "The server failed to process the request. Include the x-request-id when you report this.",
  );
}
