import { hash } from "node:crypto";
import { type ErrorRequestHandler, type RequestHandler, type Response } from "express";
import { areaOf, Refused } from "../../actions/action.ts";
import { describeChanges } from "../../domain/changes.ts";
import { ConnectionDropped } from "../../domain/errors.ts";
import { isTextId, say, sayDuration, type Label } from "../../texts/index.ts";
import { toHttpError, toServiceError, type HttpError } from "../http-error.ts";
import { stateOf, type Visit } from "../request-state.ts";
import { tokenOf } from "./forms.ts";
import { attributes, bdi, card, code, Html, htmlOf, link, markup, soft, tag, type Part } from "./html.ts";
import { isByItself, rootOf, wordsIn, type DashboardContext, type Words } from "./view.ts";

/**
 * Headers of every page of the dashboard, besides those of every response. The address of the sign-in page contains a
 * link's token, so no request may state the address that led to it. Without any referrer, browsers would state the origin
 * of forms as `null`.
 */
export const dashboardHeaders: RequestHandler = (_req, res, next) => {
  res.set({
    "Content-Security-Policy":
      "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; form-action 'self'; " +
      "base-uri 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "strict-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Robots-Tag": "noindex",
    Vary: "Cookie, Accept-Language",
  });
  next();
};

/** What is shown around a page. */
interface Frame {
  title: Part;
  nav?: readonly { href: string; label: Label; current: boolean }[];
  /** The address of this page for its script; absent without a script. */
  live?: string;
  /** Where the browser goes on at once. */
  continueTo?: string;
}

/** Sends a page. A script sends the version of its page, and gets 304 while the page has not changed. */
export function send({ config }: DashboardContext, res: Response, frame: Frame, body: Part): void {
  const { visit, merchant } = stateOf(res);
  const words = wordsIn(res);
  const { t } = words;
  const { title, nav = [], live, continueTo } = frame;
  const root = rootOf(config.publicUrl);
  const ahead = config.sandbox && visit && merchant && merchant.clockOffset >= 1_000 && merchant.clockOffset;
  const pages = nav.map(
    ({ href, label, current }) =>
      markup`<a href="${href}"${attributes({ "aria-current": current && "page" })}>${t(label)}</a>\n`,
  );
  const page = markup`<!doctype html>
<html lang="${words.language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}${merchant && ` – ${merchant.name}`}</title>
<link rel="stylesheet" href="${root}/../docs/assets/dashboard.css">
${live !== undefined && markup`<script type="module" src="${root}/../docs/assets/dashboard.js"></script>`}
${continueTo && markup`<meta http-equiv="refresh" content="0; url=${continueTo}">`}
</head>
<body data-local-time="${t("localTime", { time: "{time}" })}">
<a class="skip" href="#main">${t("skipToContent")}</a>
<header>
  <div class="bar">
    <a class="brand" href="${root}"><svg viewBox="0 0 24 24" aria-hidden="true"><path d="M4 8h13l-4-4M20 16H7l4 4"/></svg>${t("payments")}</a>
    ${config.sandbox ? tag("test", t("sandbox")) : tag("live", t("live"))}
    ${ahead && markup`<a class="ahead" href="${root}${areaOf(merchant)}/sandbox" title="${t("clockIsAhead")}">+${t(sayDuration(ahead))}</a>`}
    ${merchant && markup`<bdi class="whose">${merchant.name}</bdi>`}
    ${visit && personMenu(visit, root, config.publicUrl, words)}
  </div>
  ${visit && nav.length > 0 && markup`<nav aria-label="${t("pages")}">${pages}</nav>`}
</header>
${merchant?.state && banner(t("merchantIsInState", { state: words.word("status", merchant.state) }))}
${config.sandbox && merchant?.chaos && banner(t("chaosOn"))}
${!config.sandbox && visit && config.oneOperatorDecides && banner(t("oneOperatorSuffices"))}
<main id="main"${attributes({ "data-address": res.req.method === "GET" ? undefined : live })}>
<p class="alert" id="signed-out" role="alert" hidden>${t("signedOutNow")} <a href="${root}/sign-in">${t("dashboard.sign-in")}</a></p>
<p class="alert" id="away" role="status" hidden>${t("serviceIsAway")}</p>
${body}
</main>
</body>
</html>
`;
  const html = htmlOf(page);
  if (isByItself(res.req)) res.set("ETag", `"${hash("sha256", html)}"`);
  res.type("html").send(html);
}

const banner = (text: Part) => markup`<p class="chaos" role="status">${text}</p>`;

function personMenu({ session, csrf }: Visit, root: string, publicUrl: string, { t, word }: Words): Html {
  const sees = session.merchantId === undefined ? t("seesAllMerchants") : t("seesOneMerchant");
  return markup`<details class="me">
      <summary>${bdi(session.name)}</summary>
      <div class="menu">
        <p>${link(`${publicUrl}/docs`, t("docs"))}</p>
        <p class="soft">${sees} ${t("yourRole", { role: word("role", session.role) })}</p>
        <form method="post" action="${root}/sign-out">
          ${tokenOf(csrf)}
          <button class="quiet">${t("dashboard.sign-out")}</button>
          <button class="quiet" name="everywhere" value="yes">${t("signOutEverywhere")}</button>
        </form>
      </div>
    </details>`;
}

/**
 * Shows the dashboard's errors as pages, with what the form has recorded. Unexpected errors are logged with the request
 * id.
 */
export function dashboardErrors(context: DashboardContext): ErrorRequestHandler {
  return (error, req, res, next) => {
    if (error instanceof ConnectionDropped || res.headersSent) return next(error);
    const { requestId = "", changes = [], shownOnce, visit, merchant } = stateOf(res);
    const { status: meant, said, headers = {}, isUnexpected } = describe(error);
    const hasChanged = changes.length > 0;
    if (isUnexpected || hasChanged) context.log.error({ err: error, requestId }, "unexpected error");
    // The same form must not be sent again.
    const status = hasChanged && meant === 503 ? 500 : meant;
    const words = wordsIn(res);
    const { t } = words;
    const title = t(status === 404 ? "notFound" : status < 500 ? "didNotWork" : "wentWrong");
    // A form that a visitor may not send is not begun. What is gone or decided may be so because the form was sent before.
    const saysNothing = isUnexpected || [403, 404, 409].includes(status);
    const saysWhat = hasChanged || (req.method === "POST" && !saysNothing);
    const root = rootOf(context.config.publicUrl);
    const trail = hasChanged && visit && `${root}${areaOf(merchant)}/audit`;
    const content = markup`<h1>${title}</h1><p>${t(said)}</p>
${saysWhat && markup`<p><strong>${describeChanges(changes, (text) => t(text).html)}</strong></p>`}
${shownOnce !== undefined && markup`<p>${t("copyThisNow")}</p><p>${code(shownOnce)}</p>`}
${trail && markup`<p>${link(trail, t("seeWhatWasRecorded"))}</p>`}
<p>${link(root, t("toTheDashboard"))}</p>${soft(t("requestIdIs", { requestId }))}`;
    send(context, res.status(status).set(hasChanged ? {} : headers), { title }, card(content, { class: "narrow" }));
  };
}

function describe(error: unknown): Pick<Refused, "status" | "said"> & Partial<HttpError> & { isUnexpected?: boolean } {
  if (error instanceof Refused) return error;
  const known = toServiceError(error);
  const isUnexpected = known !== error && known.code === "internal_error";
  const id = isUnexpected ? "error.serverFailed" : `error.${known.code}`;
  return {
    ...toHttpError(known),
    said: isTextId(id) ? { say: id } : say("error.detail", { detail: known.message }),
    isUnexpected,
  };
}
