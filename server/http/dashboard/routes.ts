import express, { Router, type RequestHandler, type Response } from "express";
import { digestOf, missing, refused, scopesOf, typed, type Told } from "../../actions/action.ts";
import { ACTION_NAMES, actionOf, readInput, type ActionName } from "../../actions/index.ts";
import { dashboardRefusal } from "../../config.ts";
import { collectChanges } from "../../domain/changes.ts";
import { beingReset } from "../../domain/merchants.ts";
import { hasRight, RIGHTS } from "../../domain/sign-in.ts";
import { say } from "../../texts/index.ts";
import { arrived } from "../json-body.ts";
import { beginOther } from "../request-limit.ts";
import { stateOf } from "../request-state.ts";
import { auditPage } from "./audit.ts";
import { balancePages } from "./balances.ts";
import { form, sentFor } from "./forms.ts";
import { back, card, items, markup, pre, type Html } from "./html.ts";
import { dashboardErrors, dashboardHeaders, send } from "./layout.ts";
import { merchantsPage } from "./merchants.ts";
import { overviewPage } from "./overview.ts";
import type { Page } from "./page.ts";
import { paymentPages } from "./payments.ts";
import { attentionPage, railsPage } from "./rails.ts";
import { requestPage } from "./requests.ts";
import { sandboxPage, settingsPage } from "./settings.ts";
import { findVisit, guardForms, requireOwnOrigin, requireSession, signInPages, signOutPages } from "./sign-in.ts";
import { teamPage } from "./team.ts";
import { rootOf, seeOther, viewOf, visitOf, type DashboardContext, type View } from "./view.ts";
import { webhookPages } from "./webhooks.ts";

/** All pages, in the order of the navigation. */
export const PAGES: readonly Page[] = [
  overviewPage,
  merchantsPage,
  ...paymentPages,
  ...balancePages,
  attentionPage,
  railsPage,
  ...webhookPages,
  requestPage,
  sandboxPage,
  settingsPage,
  teamPage,
  auditPage,
];

/**
 * The dashboard: pages for the operators of the service and for its merchants (D63). It works without scripts; with them
 * its pages are live (D72). The pages of one merchant are under `/dashboard/m/MERCHANT_ID`.
 */
export function dashboardPages(context: DashboardContext): Router {
  const router = express.Router({ caseSensitive: true, strict: true });
  router.use("/dashboard", dashboardHeaders, refuseUnsafe(context), requireOwnOrigin(context), findVisit(context));
  router.use("/dashboard", readForm, arrived, noteWhatIsRecorded);
  router.use(signInPages(context));
  router.use("/dashboard", requireSession(context), limitPages(context));
  // The session may have been ended while the body arrived or the request waited for room.
  router.use("/dashboard", forForms(findVisit(context)), requireSession(context));
  router.use("/dashboard", guardForms());
  router.use(signOutPages(context));
  router.use("/dashboard/m/:merchant", findMerchant(context));
  router.use(serve(context));
  router.use("/dashboard", dashboardErrors(context));
  return router;
}

const forForms =
  (handle: RequestHandler): RequestHandler =>
  (req, res, next) =>
    req.method === "POST" ? handle(req, res, next) : next();

const formReader = (limit: number) => express.urlencoded({ extended: false, limit, parameterLimit: 128 });
const readShort = formReader(16_384);
/** For payments of the past, with room for the encoding of their JSON. */
const readLong = formReader(2 ** 21);
const readForm: RequestHandler = (req, res, next) =>
  (stateOf(res).visit && req.path.endsWith("/sandbox/payments") ? readLong : readShort)(req, res, next);

/** Must run after the body is read, whose events do not belong to the request. */
const noteWhatIsRecorded: RequestHandler = (_req, res, next) => {
  collectChanges((stateOf(res).changes ??= []), next);
};

/** Explains why there is no dashboard, on a server whose address would not protect the session's cookie. */
function refuseUnsafe({ config }: DashboardContext): RequestHandler {
  const refusal = dashboardRefusal(config);
  return (_req, _res, next) => {
    if (refusal === undefined) return next();
    throw refused(403, "error.detail", { detail: refusal });
  };
}

/** Waits for room. All operators together count as one merchant. */
function limitPages({ room }: DashboardContext): RequestHandler {
  return async (_req, res, next) => {
    await beginOther(room, visitOf(res).session.merchantId ?? "operators");
    next();
  };
}

/** Finds the merchant in the path. A visitor without access gets 404. */
function findMerchant({ storage }: DashboardContext): RequestHandler {
  return async (req, res, next) => {
    const id = String(req.params.merchant);
    const { merchantId = id } = visitOf(res).session;
    const merchant = merchantId === id ? await storage.findMerchant(id) : undefined;
    if (!merchant) throw missing();
    if (merchant.isResetting) throw beingReset();
    stateOf(res).merchant = merchant;
    next();
  };
}

/** True if this service has such pages or actions. */
const isServed = ({ config, rails }: DashboardContext, where: Page["where"]): boolean =>
  where === undefined || { sandbox: config.sandbox, live: rails !== undefined, requests: config.requestLog }[where];

const pagesOf = (context: DashboardContext) => PAGES.filter(({ where }) => isServed(context, where));

/** Serves pages, and the forms of all actions. */
function serve(context: DashboardContext): Router {
  const router = Router({ caseSensitive: true, strict: true });
  const names = ACTION_NAMES.filter((name) => isServed(context, actionOf(name).where));
  const asking = names.filter((name) => actionOf(name).asks).map(askingPage);
  for (const page of [...asking, ...pagesOf(context)])
    for (const at of scopesOf(page.at))
      router.get(`/dashboard${at}`, async (req, res) => {
        const { merchantId } = visitOf(res).session;
        if (merchantId === undefined || at.startsWith("/m/")) return show(context, page, res);
        if (page.at === at && at !== "") throw missing();
        // A merchant's person sees the same of the own merchant.
        seeOther(res, `${rootOf(context.config.publicUrl)}/m/${merchantId}${at || "/disbursements"}`);
      });
  for (const name of names) serveAction(context, router, name);
  router.use("/dashboard", () => {
    throw missing();
  });
  return router;
}

async function show(context: DashboardContext, page: Page, res: Response, told?: Told): Promise<void> {
  const view = viewOf(context, res, page);
  const { t, merchant, params, pathTo } = view;
  const body = await page.show(view);
  if (body === undefined) return;
  const isHere = (path: string) => path.startsWith("/m/") === (merchant !== undefined);
  const nav = pagesOf(context)
    .filter(({ at, under }) => under === undefined && scopesOf(at).some(isHere))
    .map(({ at, title }) => ({ href: pathTo(at), label: title, current: at === (page.under ?? page.at) }));
  const title = [t(page.title), " ", params.reference ?? params.id];
  send(context, res, { title, nav, live: pathTo(page.at) }, [told && notice(view, told), body]);
}

/** What an action has done, which only the response to its form says. */
const notice = ({ t }: View, { title, secret, lines }: Told): Html =>
  markup`<div class="notice" role="status">${title && markup`<h2>${t(title)}</h2>`}${secret !== undefined && pre(secret, { id: "shown-once" })}
${lines.map((line) => markup`<p>${t(line)}</p>`)}</div>`;

/** The page that says what an action will do, and asks whether to do it. */
function askingPage(name: ActionName): Page {
  const { at, asks, from = "" } = actionOf(name);
  return {
    at,
    title: "whatWillHappen",
    under: PAGES.find((page) => page.at === from)?.under ?? from,
    async show(view) {
      const { t, res } = view;
      const asked = await asks!(view, readInput(name, res.req.query, false));
      const { question = say("asked", { what: say(name) }), about = [], effects, isEmpty, values: more } = asked;
      const values = sentFor(name, res.req.query);
      const query = new URLSearchParams(Object.entries(values).flatMap(([key, all]) => all.map((each) => [key, each])));
      const address = query.size > 0 ? `?${query}` : "";
      const content = [
        about.length > 0 &&
          items(
            about.map((each) => t(each)),
            "plain",
          ),
        items(effects.map((each) => t(each))),
        !isEmpty && form(view, name, { values: { ...values, ...more }, class: "stack", hidesInputs: true }),
      ];
      return markup`${back(view.pathTo(from) + address, t("backChangeNothing"))}<h1>${t(question)}</h1>
${card(content, { class: "stack" })}`;
    },
  };
}

function serveAction(context: DashboardContext, router: Router, name: ActionName): void {
  const entry = actionOf(name);
  const { leadsTo } = entry;
  const page = PAGES.find(({ at }) => at === leadsTo);
  for (const at of scopesOf(entry.at))
    router.post(`/dashboard${at}`, async ({ body }, res) => {
      const view = viewOf(context, res, {});
      await requireRight(view, name);
      const isOperator = view.visit.session.merchantId === undefined;
      if (!isOperator && (entry.byOperators || !at.startsWith("/m/"))) throw missing();
      const input = readInput(name, body);
      const replaced = typed(body, "replaces");
      if (replaced !== "" && entry.replaces && replaced !== digestOf(await entry.replaces(view, input)))
        return show(context, page!, res.status(409), { lines: [say("outOfDate")] });
      const result = await entry.run(view, input);
      const told = entry.says?.(result);
      if (told?.secret !== undefined) stateOf(res).shownOnce = told.secret;
      if (told) return show(context, page!, res, told);
      seeOther(res, view.pathTo(typeof leadsTo === "string" ? leadsTo : leadsTo(result, view)));
    });
}

/** Refuses what the visitor's role does not permit, and records the refusal. */
async function requireRight({ context, res, visit, merchant, actor, word }: View, name: ActionName) {
  const { needs: right } = actionOf(name);
  const { role } = visit.session;
  if (hasRight(role, right)) return;
  const details = { form: res.req.path.replace(/^\/dashboard/, ""), right, role };
  const merchantId = merchant?.id ?? "";
  await context.storage.recordAction({ actor, action: "dashboard.refuse", merchantId, details });
  const roles = [...RIGHTS[right], "administrator"].map((each) => word("role", each)).join(", ");
  throw refused(403, "error.role", { role: say(`role.${role}`), right: say(`right.${right}`), roles });
}
