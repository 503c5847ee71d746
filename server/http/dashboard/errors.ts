import type { ErrorRequestHandler, Response } from "express";
import { refused, Refused } from "../../actions/refused.ts";
import { describeChanges, type Change } from "../../domain/changes.ts";
import { ConnectionDropped, InvalidCursorError, ServiceError } from "../../domain/errors.ts";
import { toHttpError } from "../http-error.ts";
import { stateOf } from "../request-state.ts";
import { inWords } from "./audit-words.ts";
import type { DashboardContext } from "./dashboard-context.ts";
import { markup } from "./html.ts";
import { send } from "./layout.ts";
import { card, code, link, soft } from "./parts.ts";
import { rootOf } from "./view.ts";
import { wordsIn, type Words } from "./words.ts";

interface Described {
  refusal: Refused;
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
    const { requestId = "", changes = [], shownOnce } = stateOf(res);
    const { refusal, headers, isUnexpected } = describe(error);
    const hasChanged = changes.length > 0;
    if (isUnexpected || hasChanged) context.log.error({ err: error, requestId }, "unexpected error");
    // The same form must not be sent again.
    const status = hasChanged && refusal.status === 503 ? 500 : refusal.status;
    const words = wordsIn(res);
    const { t, rich } = words;
    const title = t(status === 404 ? "notFound" : status < 500 ? "didNotWork" : "wentWrong");
    // A form that a visitor may not send is not begun. What is gone or decided may be so because the form was sent before.
    const saysNothing = isUnexpected || [403, 404, 409].includes(status);
    const saysWhat = hasChanged || (req.method === "POST" && !saysNothing);
    const root = rootOf(context.config.publicUrl);
    const trail = hasChanged && trailOf(root, res);
    const what = () =>
      describeChanges(
        changes,
        (text, values = {}) => words.refusal({ text, values }),
        (change) => nameOf(change, words),
      );
    const content = markup`<h1>${title}</h1><p>${words.refusal(refusal)}</p>
${saysWhat && markup`<p><strong>${what()}</strong></p>`}
${shownOnce !== undefined && markup`<p>${t("copyThisNow")}</p><p>${code(shownOnce)}</p>`}
${trail && markup`<p>${link(trail, t("seeWhatWasRecorded"))}</p>`}
<p>${link(root, t("toTheDashboard"))}</p>${soft(rich("requestIdIs", { requestId }))}`;
    send(context, res.set(hasChanged ? {} : (headers ?? {})), { status, title }, card(content, { class: "narrow" }));
  };
}

function nameOf({ action, details: about }: Change, words: Words): string {
  if (!action) return Object.values(about).join(", ");
  const { merchant: _, ...details } = about;
  const { what, more } = inWords({ at: 0, actor: "server ", action, merchantId: "", details }, [], words);
  return [what, ...more].join(", ");
}

/** The page that shows what was recorded; undefined for a visitor who is not signed in. */
function trailOf(root: string, res: Response): string | undefined {
  const { visit, merchant } = stateOf(res);
  const id = merchant?.id ?? visit?.session.merchantId;
  return visit && `${root}${id === undefined ? "" : `/m/${id}`}/audit`;
}

function describe(error: unknown): Described {
  if (error instanceof Refused) return { refusal: error };
  if (error instanceof InvalidCursorError) return { refusal: refused(422, "error.noSuchCursor") };
  if (error instanceof ServiceError) {
    const { status, headers } = toHttpError(error);
    return { headers, refusal: refused(status, "error.detail", { detail: error.message }) };
  }
  if (error instanceof URIError) return { refusal: refused(404, "error.noPage") };
  // Express's own errors have a status, for example for a form that is too large.
  const { status = 500 } = error as { status?: number };
  if (status >= 400 && status < 500) return { refusal: refused(status, "error.unreadable") };
  return { refusal: refused(500, "error.serverFailed"), isUnexpected: true };
}
