import type { ErrorRequestHandler, Request, Response } from "express";
import type { OpenCheckout } from "../../domain/checkouts.ts";
import type { Deps } from "../../deps.ts";
import { ApiError, ConnectionDropped } from "../../domain/errors.ts";
import { sendPage } from "./render.ts";
import { texts, type Locale } from "./texts.ts";

/** Answers errors of the pages in HTML (D2); what nobody foresaw is logged with the request's id. */
export function answerInHtml({ config, log }: Deps): ErrorRequestHandler {
  return (error, req, res, next) => {
    if (error instanceof ConnectionDropped || res.headersSent) return next(error);
    const { requestId, opened } = res.locals as { requestId: string; opened?: OpenCheckout };
    const { status, headers } = describe(error);
    if (status >= 500 && !(error instanceof ApiError)) log.error({ err: error, requestId }, "an unforeseen error");
    const locale = opened?.checkout.locale ?? preferred(req, res);
    const text = texts[locale].errors[kindOf(status)];
    sendPage(
      res.set(headers),
      { status, template: "error", locale, title: text.heading },
      {
        text,
        sandbox: config.sandbox,
        // What was refused on purpose was refused before anything was recorded; of other faults nobody knows.
        notCharged: status >= 500 && error instanceof ApiError,
        back: opened && `${req.path.endsWith("/return") ? "../" : ""}${opened.checkout.reference}`,
        requestId,
      },
    );
  };
}

function describe(error: unknown): { status: number; headers: Readonly<Record<string, string>> } {
  if (error instanceof ApiError) return error;
  // An escape such as %zz in a path names nothing.
  if (error instanceof URIError) return { status: 404, headers: {} };
  // Express names its own: a form that is too large, or in a charset that it does not know.
  const { status = 500 } = error as { status?: number };
  return { status: status >= 400 && status < 500 ? status : 500, headers: {} };
}

function kindOf(status: number): "not-found" | "not-understood" | "failed" {
  if (status === 404) return "not-found";
  return status < 500 ? "not-understood" : "failed";
}

/** Where no checkout says the language, the browser does. */
function preferred(req: Request, res: Response): Locale {
  res.vary("Accept-Language");
  return (req.acceptsLanguages(Object.keys(texts)) || "en") as Locale;
}
