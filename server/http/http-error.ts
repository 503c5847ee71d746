import type { ErrorRequestHandler, RequestHandler } from "express";
import type { Logger } from "pino";
import type { components } from "../../generated/openapi.ts";
import { truthful } from "../domain/changes.ts";
import { ConnectionDropped, ServiceError, type ErrorCode } from "../domain/errors.ts";
import { english } from "../texts/index.ts";
import { stateOf } from "./request-state.ts";

/** The HTTP status of each error (§7, D1). */
export const STATUS: Readonly<Record<ErrorCode, number>> = {
  invalid_request: 400,
  unauthorized: 401,
  key_not_permitted: 403,
  merchant_suspended: 403,
  not_found: 404,
  unknown_path: 404,
  method_not_allowed: 405,
  duplicate_reference: 409,
  disbursement_final: 409,
  checkout_final: 409,
  approval_pending: 409,
  delivery_in_progress: 409,
  content_too_large: 413,
  unsupported_media_type: 415,
  invalid_value: 422,
  insufficient_funds: 422,
  limit_exceeded: 422,
  not_served: 422,
  rate_limited: 429,
  internal_error: 500,
  unavailable: 503,
};

// RFC 9110 renamed two statuses; Node still has the old names.
const PHRASES: Readonly<Record<number, string | undefined>> = {
  ...process.getBuiltinModule("node:http").STATUS_CODES,
  413: "Content Too Large",
  422: "Unprocessable Content",
};

/** How an error is sent over HTTP. */
export interface HttpError {
  status: number;
  headers: Record<string, string>;
  body: components["schemas"]["ErrorResponse"];
}

export function toHttpError({ code, message, details }: ServiceError): HttpError {
  const { existing, retryAfterSeconds, allow, fields } = details;
  const status = STATUS[code];
  return {
    status,
    headers: {
      ...(existing && { Location: `/v1/${existing.kind}s/${existing.reference}` }),
      ...(retryAfterSeconds !== undefined && { "Retry-After": String(retryAfterSeconds) }),
      ...(allow !== undefined && { Allow: allow }),
    },
    body: { ...errorBody(status, message, code), ...(fields && { fields }) },
  };
}

export const errorBody = (status: number, message: string, code: ErrorCode): HttpError["body"] => ({
  statusCode: status,
  error: PHRASES[status]!,
  message,
  code,
});

const NO_SUCH_PATH = "This path does not exist.";
export const noSuchPath: RequestHandler = () => {
  throw new ServiceError("unknown_path", NO_SUCH_PATH);
};

/** Refuses every method but the allowed ones, such as `GET, HEAD`. */
export function onlyFor(allow: string): RequestHandler {
  return ({ method }) => {
    const message = `Method ${method} is not allowed here. Allowed: ${allow}.`;
    throw new ServiceError("method_not_allowed", message, { allow });
  };
}

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

/** Returns every error as one of §7. An error of Express, such as of a body that cannot be read, has a status. */
export function toServiceError(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  // The path contains a malformed escape such as %zz.
  if (error instanceof URIError) return new ServiceError("unknown_path", NO_SUCH_PATH);
  const { status, expose, limit } = error as { status?: number; expose?: boolean; limit?: number };
  if (expose && status === 413)
    return new ServiceError("content_too_large", `The request body must not exceed ${limit} bytes.`);
  if (expose && status === 415)
    return new ServiceError("unsupported_media_type", "This Content-Encoding is not supported.");
  if (expose)
    return new ServiceError(
      "invalid_request",
      "The request body does not match its Content-Length or Content-Encoding.",
    );
  return new ServiceError(
    "internal_error",
    "The server failed to process the request. Include the x-request-id when you report this.",
  );
}
