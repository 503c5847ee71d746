import type { ErrorRequestHandler } from "express";
import { ConnectionDropped, InvalidCursorError, ServiceError } from "../../domain/errors.ts";
import { toHttpError } from "../http-error.ts";
import { stateOf } from "../request-state.ts";
import type { DashboardContext } from "./dashboard-context.ts";
import { showPage } from "./show-page.ts";
import { PageError } from "./visit.ts";
import { wordsIn } from "./words.ts";

interface Described {
  status: number;
  message: string;
  headers?: Readonly<Record<string, string>>;
}

/** Shows the dashboard's errors as pages. Unexpected errors are logged with the request id. */
export function dashboardErrors(context: DashboardContext): ErrorRequestHandler {
  return (error, _req, res, next) => {
    if (error instanceof ConnectionDropped || res.headersSent) return next(error);
    const { requestId } = stateOf(res);
    const { status, message, headers } = describe(error);
    if (status >= 500 && !(error instanceof ServiceError)) {
      context.log.error({ err: error, requestId }, "unexpected error");
    }
    const title = status === 404 ? "Not found" : status < 500 ? "This did not work" : "Something went wrong";
    const data = { message: wordsIn(res).said(message), requestId };
    showPage(context, res.set(headers ?? {}), { status, template: "error", title }, data);
  };
}

function describe(error: unknown): Described {
  if (error instanceof PageError) return error;
  if (error instanceof InvalidCursorError) return { status: 422, message: "This page of the list does not exist." };
  if (error instanceof ServiceError) {
    const { status, headers } = toHttpError(error);
    return { status, headers, message: error.message };
  }
  if (error instanceof URIError) return { status: 404, message: "There is no such page." };
  // Express's own errors have a status, for example for a form that is too large.
  const { status = 500 } = error as { status?: number };
  if (status >= 400 && status < 500) return { status, message: "The form cannot be read." };
  return { status: 500, message: "The server failed. Its log has the details, with the request id below." };
}
