import { join } from "node:path";
import type { RequestHandler, Response } from "express";
import type { Chaos } from "../../domain/chaos.ts";
import { CHAOS } from "../../actions/sandbox.ts";
import type { TextId } from "../../texts/index.ts";
import { languageLinks } from "../language.ts";
import { stateOf, type Visit } from "../request-state.ts";
import { readStyles } from "../templates.ts";
import type { DashboardContext } from "./dashboard-context.ts";
import { attributes, Html, htmlOf, markup, type Part } from "./html.ts";
import { scriptName, sendPage } from "./live.ts";
import { rootOf } from "./view.ts";
import { wordsIn, type Words } from "./words.ts";

const { css, policy } = readStyles(join(import.meta.dirname, "dashboard.css"));

/**
 * Headers of every page of the dashboard. The address of the sign-in page contains a link's token, so no request may
 * state the address that led to it. Without any referrer, browsers would state the origin of forms as `null`.
 */
export const dashboardHeaders: RequestHandler = (_req, res, next) => {
  res.set({
    "Content-Security-Policy": `${policy}; script-src 'self'; connect-src 'self'`,
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "strict-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
    "X-Robots-Tag": "noindex",
    Vary: "Cookie",
  });
  next();
};

/** What is shown around a page. */
export interface Frame {
  title: Part;
  status?: number;
  nav?: readonly { href: string; label: TextId; current: boolean }[];
  /** The address of this page for its script; absent without a script. */
  live?: string;
  /** The address to choose a language at. */
  shownAt?: string;
  /** True to load the page again every two seconds in a browser without scripts. */
  reloads?: boolean | undefined;
  /** Where the browser goes on at once. */
  continueTo?: string;
}

/** Sends a page. */
export function send({ config }: DashboardContext, res: Response, frame: Frame, body: Part): void {
  const { visit, merchant } = stateOf(res);
  const words = wordsIn(res);
  const { t, rich, text } = words;
  const { title, nav = [], live, continueTo } = frame;
  const root = rootOf(config.publicUrl);
  const area = merchant && `${root}/m/${merchant.id}`;
  const isForm = res.req.method !== "GET";
  const ahead = config.sandbox && visit && merchant && merchant.clockOffset >= 1_000 && merchant.clockOffset;
  const page = markup`<!doctype html>
<html lang="${words.language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}${merchant && ` – ${merchant.name}`}</title>
<style>${new Html(css)}</style>
${live !== undefined && markup`<script type="module" src="${root}/${scriptName}"></script>`}
${frame.reloads && markup`<noscript><meta http-equiv="refresh" content="2"></noscript>`}
${continueTo && markup`<meta http-equiv="refresh" content="0; url=${continueTo}">`}
</head>
<body data-local-time="${t("localTime", { time: "{time}" })}">
<a class="skip" href="#main">${t("skipToContent")}</a>
<header>
  <div class="bar">
    <a class="brand" href="${root}"><svg viewBox="0 0 24 24" aria-hidden="true"><path d="M4 8h13l-4-4M20 16H7l4 4"/></svg>${t("payments")}</a>
    <span class="badge ${config.sandbox ? "test" : "live"}">${config.sandbox ? t("sandbox") : t("live")}</span>
    ${ahead && markup`<a class="ahead" href="${area}/sandbox" title="${t("clockIsAhead")}">+${words.duration(ahead)}</a>`}
    ${merchant && markup`<bdi class="whose">${merchant.name}</bdi>`}
    ${visit && personMenu(visit, root, config.publicUrl, words)}
  </div>
  ${visit && nav.length > 0 && markup`<nav aria-label="${merchant ? t("pagesMerchant") : t("pagesService")}">${nav.map(({ href, label, current }) => markup`<a href="${href}"${attributes({ "aria-current": current && "page" })}>${text(label)}</a>\n`)}</nav>`}
</header>
${merchant?.state && banner(rich("merchantIsInState", { state: words.word("status", merchant.state) }))}
${config.sandbox && merchant?.chaos && banner(markup`<strong>${t("chaosOn")}</strong> ${chaosIn(merchant.chaos, words)} <a href="${area}/sandbox#chaos">${t("changeIt")}</a>`)}
${!config.sandbox && visit && config.oneOperatorDecides && banner(t("oneOperatorSuffices"))}
<main id="main"${attributes({ "data-address": isForm ? live : undefined })}>
<p class="alert" id="signed-out" role="alert" hidden>${t("signedOutNow")} <a href="${root}/sign-in">${t("signIn")}</a></p>
<p class="alert" id="away" role="status" hidden>${t("serviceIsAway")}</p>
${body}
</main>
<footer>
${languageLinks(words.language, frame.shownAt ?? root).map(({ name, code, href, current }) => (current ? markup`<strong>${name}</strong>\n` : markup`<a href="${href}" lang="${code}" hreflang="${code}">${name}</a>\n`))}
</footer>
</body>
</html>
`;
  if (frame.status !== undefined) res.status(frame.status);
  sendPage(res, htmlOf(page));
}

const banner = (text: Part) => markup`<p class="chaos" role="status">${text}</p>`;

function personMenu({ session, csrf }: Visit, root: string, publicUrl: string, { t, word }: Words): Html {
  const docs = markup`href="${publicUrl}/docs"`;
  return markup`<a class="docs wide" ${docs}>${t("docs")}</a>
    <details class="me">
      <summary><bdi>${session.name}</bdi></summary>
      <div class="menu">
        <p class="phone"><a ${docs}>${t("docs")}</a></p>
        <p class="soft">${session.merchantId === undefined ? t("seesAllMerchants") : t("seesOneMerchant")} ${t("yourRole", { role: word("role", session.role) })}</p>
        <form method="post" action="${root}/sign-out">
          ${tokenOf(csrf)}
          <button class="quiet">${t("signOut")}</button>
          <button class="quiet" name="everywhere" value="yes">${t("signOutEverywhere")}</button>
        </form>
      </div>
    </details>`;
}

/** The hidden input with which a form proves that a page of this session sent it. */
export const tokenOf = (csrf: string): Html => markup`<input type="hidden" name="csrf" value="${csrf}">`;

/** Says in a sentence what the chaos switch does. */
function chaosIn(chaos: Chaos, { t }: Words): string {
  const names = (Object.keys(CHAOS) as (keyof Chaos)[]).filter((name) => chaos[name] > 0);
  const text = names.map((name) => t(`chaosOn.${name}`, { value: chaos[name] })).join(", ");
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}
