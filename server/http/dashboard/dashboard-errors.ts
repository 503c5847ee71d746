import type { ErrorRequestHandler, Response } from "express";
import { describeChanges, type Change } from "../../domain/changes.ts";
import { ConnectionDropped, InvalidCursorError, ServiceError } from "../../domain/errors.ts";
import { toHttpError } from "../http-error.ts";
import { stateOf } from "../request-state.ts";
import { inWords } from "./audit-words.ts";
import type { DashboardContext } from "./dashboard-context.ts";
import { showPage } from "./show-page.ts";
import { PageError, rootOf } from "./visit.ts";
import { wordsIn, type Words } from "./words.ts";

interface Described {
  status: number;
  message: string;
  headers?: Readonly<Record<string, string>>;
  /** True for a fault of the server, before which anything may have happened. */
  isUnexpected?: true;
}

/**
 * Shows the dashboard's errors as pages, with what the form has recorded. Unexpected errors are logged with the request
 * id.
 */
export function dashboardErrors(context: DashboardContext): ErrorRequestHandler {
  return (error, req, res, next) => {
    if (error instanceof ConnectionDropped || res.headersSent) return next(error);
    const { requestId, changes = [], shownOnce } = stateOf(res);
    const { status: described, message, headers, isUnexpected } = describe(error);
    const hasChanged = changes.length > 0;
    if (isUnexpected || hasChanged) context.log.error({ err: error, requestId }, "unexpected error");
    // The same form must not be sent again.
    const status = hasChanged && described === 503 ? 500 : described;
    const title = status === 404 ? "Not found" : status < 500 ? "This did not work" : "Something went wrong";
    const words = wordsIn(res);
    // A form that a visitor may not send is not begun.
    const isForbidden = error instanceof PageError && status === 403;
    const saysWhat = hasChanged || (req.method === "POST" && !isUnexpected && !isForbidden);
    const data = {
      message: words.said(message),
      recorded: saysWhat && describeChanges(changes, { t: words.t, nameOf: (change) => nameOf(change, words) }),
      trail: hasChanged && trailOf(context, res),
      shownOnce,
      requestId,
    };
    showPage(context, res.set(hasChanged ? {} : (headers ?? {})), { status, template: "error", title }, data);
  };
}

function nameOf({ action, details: about }: Change, words: Words): string {
  if (!action) return Object.values(about).join(", ");
  const { merchant: _, ...details } = about;
  const { what, more } = inWords({ at: 0, actor: "server ", action, merchantId: "", details }, [], words);
  return [what, ...more].join(", ");
}

/** The page that shows what was recorded; undefined for a visitor who is not signed in. */
function trailOf({ config }: DashboardContext, res: Response): string | undefined {
  const { visit, merchant } = stateOf(res);
  const id = merchant?.id ?? visit?.session.merchantId;
  return visit && `${rootOf(config.publicUrl)}${id === undefined ? "" : `/m/${id}`}/audit`;
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
  const message = "The server failed. Its log has the details, with the request id below.";
  return { status: 500, message, isUnexpected: true };
}
