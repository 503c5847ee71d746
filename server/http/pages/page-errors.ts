import type { ErrorRequestHandler, Request, Response } from "express";
import { ServiceError, ConnectionDropped } from "../../domain/errors.ts";
import { toHttpError } from "../http-error.ts";
import { stateOf } from "../request-state.ts";
import { noteOf, sendPage, type PageContext } from "./send-page.ts";
import { texts, type Locale } from "./texts.ts";

/** How long a page that could not show the payment waits before it is loaded again. */
const CHECK_AGAIN_SECONDS = 10;

/**
 * The `Refresh` header that loads a page again. In the response to a form, the header names the page, relative to the
 * address of the form.
 */
const loadAgain = ({ method, path }: Request): string =>
  `${CHECK_AGAIN_SECONDS}${method === "POST" ? `; url=${path.slice(path.lastIndexOf("/") + 1)}` : ""}`;

/**
 * Renders the pages' errors as HTML (D2). Unexpected errors are logged with the request id. A page about an error of
 * the server tells the customer not to pay again, and loads again, unless it is known that this attempt charged nobody.
 */
export function htmlErrors(context: PageContext): ErrorRequestHandler {
  const { log } = context;
  return (error, req, res, next) => {
    if (error instanceof ConnectionDropped || res.headersSent) return next(error);
    const { requestId, opened, changes } = stateOf(res);
    // An unexpected error does not prove that an attempt to pay recorded nothing.
    const notCharged = error instanceof ServiceError && changes?.length === 0;
    const { status, headers } = describe(error);
    if (status >= 500 && !(error instanceof ServiceError)) log.error({ err: error, requestId }, "unexpected error");
    const locale = opened?.checkout.locale ?? preferred(req, res);
    const unchecked = status >= 500 && !notCharged;
    const text = texts[locale].errors[unchecked ? "unchecked" : kindOf(status)];
    sendPage(
      res.set(headers),
      { status, template: "error", locale, title: text.heading, refresh: unchecked ? loadAgain(req) : undefined },
      {
        text,
        note: noteOf(context),
        notCharged,
        back: opened && `${req.path.endsWith("/return") ? "../" : ""}${opened.checkout.reference}`,
        requestId,
      },
    );
  };
}

function describe(error: unknown): { status: number; headers: Readonly<Record<string, string>> } {
  if (error instanceof ServiceError) return toHttpError(error);
  // The path contains a malformed escape such as %zz.
  if (error instanceof URIError) return { status: 404, headers: {} };
  // Express's own errors have a status, for example for a form that is too large or has an unknown charset.
  const { status = 500 } = error as { status?: number };
  return { status: status >= 400 && status < 500 ? status : 500, headers: {} };
}

function kindOf(status: number): "not-found" | "not-understood" | "failed" {
  if (status === 404) return "not-found";
  return status < 500 ? "not-understood" : "failed";
}

/** The browser's preferred language, for pages without a checkout. */
function preferred(req: Request, res: Response): Locale {
  res.vary("Accept-Language");
  return (req.acceptsLanguages(Object.keys(texts)) || "en") as Locale;
}
