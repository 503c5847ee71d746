import { join } from "node:path";
import type { RequestHandler, Response } from "express";
import type { ActorName } from "../../domain/audit.ts";
import type { Checkout } from "../../domain/checkouts.ts";
import type { DeliveryStatus } from "../../domain/deliveries.ts";
import { timestamp } from "../../domain/representation.ts";
import { formatPhoneNumber } from "../pages/countries.ts";
import { hasRight, type Right } from "../../domain/roles.ts";
import { languageLinks } from "../language.ts";
import { stateOf } from "../request-state.ts";
import { loadTemplates } from "../templates.ts";
import { whoIs } from "./audit-words.ts";
import { describeChaos } from "./chaos-form.ts";
import type { DashboardContext } from "./dashboard-context.ts";
import { scriptName, sendPage } from "./live.ts";
import { durationIn } from "./duration.ts";
import { rootOf } from "./visit.ts";
import { STATUSES } from "./webhook-filter.ts";
import { wordsIn, type English, type Words } from "./words.ts";

/** The functions with which the templates show every text. */
const WORDS = "const { t, plural, rich, said } = it;";
const { render, css, policy } = loadTemplates(join(import.meta.dirname, "templates"), "dashboard.css", WORDS);

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

export interface DashboardPage {
  status?: number;
  /** The name of its template. */
  template: string;
  title: English;
  /** What the page is about; shown after the title. */
  about?: string;
  /** The page's entry in the navigation. */
  section?: Section;
  /** The query of its address, with the parameters that the page reads and nothing else that a visitor has sent. */
  query?: string;
  /**
   * True to reload the page every two seconds in a browser without scripts. With scripts, `live.js` updates the page.
   */
  reloads?: boolean;
}

/** The navigation of a merchant's pages. The path of a section is its name. */
const SECTIONS = {
  overview: "Overview",
  disbursements: "Disbursements",
  checkouts: "Checkouts",
  balances: "Balances",
  approvals: "Approvals",
  attention: "Needs attention",
  webhooks: "Webhooks",
  requests: "Requests",
  sandbox: "Sandbox",
  settings: "Settings",
  team: "Team",
  audit: "Audit trail",
} as const satisfies Record<string, English>;
/** The navigation of the operators' pages, which belong to no merchant. */
const OPERATOR_SECTIONS = {
  overview: { path: "/overview", label: "Overview" },
  merchants: { path: "", label: "Merchants" },
  balances: { path: "/balances", label: "Balances" },
  approvals: { path: "/approvals", label: "Approvals" },
  attention: { path: "/attention", label: "Needs attention" },
  rails: { path: "/rails", label: "Rails" },
  team: { path: "/team", label: "Team" },
  audit: { path: "/audit", label: "Audit trail" },
} as const satisfies Record<string, { path: string; label: English }>;
/** The sections that only a live service has, whose payments go over rails. */
const LIVE_SECTIONS = new Set(["attention", "rails"]);
type Section = keyof typeof SECTIONS | keyof typeof OPERATOR_SECTIONS;

/** Who has paid a checkout. A payment that was ended by hand has no payer. */
function payerOf({ t }: Words, { status, customer }: Pick<Checkout, "status" | "customer">): string {
  if (customer) return formatPhoneNumber(customer.phoneNumber);
  return status === "pending" ? t("not paid yet") : status === "success" ? t("payer unknown") : t("not paid");
}

/** The functions that every template can use. */
const helpersFor = (words: Words) => ({
  ...words,
  iso: timestamp,
  /** What people call the status of a webhook. */
  webhookStatus: (status: DeliveryStatus) => STATUSES[status],
  phone: formatPhoneNumber,
  /** Who acted, for example who started a replay. */
  who: (actor: ActorName) => whoIs(actor, words),
  payer: (checkout: Pick<Checkout, "status" | "customer">) => payerOf(words, checkout),
});

/** Sends a page. `data` is passed to its template, beside the visit and the merchant of the request. */
export function showPage(
  { config }: Pick<DashboardContext, "config">,
  res: Response,
  page: DashboardPage,
  data: object = {},
) {
  const { visit, merchant } = stateOf(res);
  const words = wordsIn(res);
  const root = rootOf(config.publicUrl);
  const area = merchant && `${root}/m/${merchant.id}`;
  const { sandbox, publicUrl } = config;
  const links = area ? linksOf(area, config) : visit && !visit.session.merchantId ? operatorLinks(root, config) : [];
  const nav = links.map(({ name, ...link }) => ({ ...link, current: name === page.section }));
  const chaos = sandbox && merchant?.chaos && describeChaos(merchant.chaos, words);
  const clockAhead = sandbox && merchant && visit ? ahead(merchant.clockOffset, words) : undefined;
  // The address of a form cannot be loaded with GET, so links lead to the page of the section, which shows the same.
  const address = res.req.method === "GET" ? undefined : nav.find(({ current }) => current)?.href;
  const canBeLoaded = res.req.method === "GET" && (page.section ?? page.query) !== undefined;
  const shown = address ?? (canBeLoaded ? (page.query ?? "") : root);
  const common = {
    ...helpersFor(words),
    may: (right: Right) => visit !== undefined && hasRight(visit.session.role, right),
    css,
    scriptName,
    isLive: page.section !== undefined,
    address,
    languages: languageLinks(words.language, shown),
    title: page.about === undefined ? words.t(page.title) : `${words.t(page.title)} ${page.about}`,
    reloads: page.reloads,
    root,
    area,
    nav,
    visit,
    merchant,
    sandbox,
    publicUrl,
    chaos,
    clockAhead,
    oneDecides: !sandbox && visit !== undefined && config.oneOperatorDecides,
  };
  sendPage(res.status(page.status ?? 200), render(page.template, { ...common, ...data }));
}

/** How far the sandbox's time is ahead, for people: `+6 days`. Undefined below a second. */
function ahead(offset: number, words: Words): string | undefined {
  return offset < 1_000 ? undefined : `+${durationIn(words, offset)}`;
}

function linksOf(area: string, { sandbox, requestLog: requests }: DashboardContext["config"]) {
  const served: Record<string, boolean> = { sandbox, requests };
  return Object.entries(SECTIONS)
    .filter(([name]) => served[name] ?? (!sandbox || !LIVE_SECTIONS.has(name)))
    .map(([name, label]) => ({ name, href: `${area}/${name}`, label }));
}

const operatorLinks = (root: string, { sandbox }: DashboardContext["config"]) =>
  Object.entries(OPERATOR_SECTIONS)
    .filter(([name]) => !sandbox || !LIVE_SECTIONS.has(name))
    .map(([name, { path, label }]) => ({ name, href: `${root}${path}`, label }));
