import { Router, type Request, type Response } from "express";
import { nameOf, scopesOf, type Doer, type Form } from "../../actions/action.ts";
import { actionOf, ACTIONS, type ActionName } from "../../actions/index.ts";
import { refused } from "../../actions/refused.ts";
import { hasRight, RIGHTS } from "../../domain/roles.ts";
import { createRequestLimit } from "../request-limit.ts";
import { stateOf } from "../request-state.ts";
import type { DashboardContext } from "./dashboard-context.ts";
import { Html, markup } from "./html.ts";
import { send } from "./layout.ts";
import { queryOf, actorIn, field, rootOf, seeOther, viewOf, visitOf, type Done } from "./view.ts";
import { back, card, form, pathTo } from "./parts.ts";
import type { Page, Shown } from "./page.ts";
import { wordsIn } from "./words.ts";

const NAMES = Object.keys(ACTIONS) as ActionName[];

const isServed = ({ config, rails }: DashboardContext, where: Page["where"]): boolean =>
  where === undefined || { sandbox: config.sandbox, live: rails !== undefined, requests: config.requestLog }[where];

/** Serves pages, and the forms of all actions. */
export function serve(context: DashboardContext, all: readonly Page[]): Router {
  const router = Router({ caseSensitive: true, strict: true });
  const pages = all.filter(({ where }) => isServed(context, where));
  const asking = NAMES.filter((name) => actionOf(name).asks).map(askingPage);
  for (const page of [...asking, ...pages])
    for (const at of scopesOf(page.at))
      router.get(`/dashboard${at}`, async (req, res) => {
        const { merchantId } = visitOf(res).session;
        if (merchantId === undefined || at.startsWith("/m/")) return show(context, pages, page, req, res);
        if (page.at === at && at !== "") throw refused(404, "error.noPage");
        // A merchant's person sees the same of the own merchant.
        seeOther(res, `${rootOf(context.config.publicUrl)}/m/${merchantId}${at || "/disbursements"}`);
      });
  for (const name of NAMES) if (isServed(context, actionOf(name).where)) serveAction(context, router, name, pages);
  router.use("/dashboard", (req) => {
    throw refused(404, req.method === "POST" ? "error.noForm" : "error.noPage");
  });
  return router;
}

async function show(
  context: DashboardContext,
  pages: readonly Page[],
  page: Page,
  req: Request,
  res: Response,
  done?: Done,
): Promise<void> {
  const view = viewOf(context, req, res, page.query ?? [], done);
  if (page.at.startsWith("/merchants/")) await findManaged(context, req);
  const shown = await page.show(view);
  if (shown === undefined) return;
  const { body, about, reloads, address }: Shown = shown instanceof Html ? { body: shown } : shown;
  const title = view.text(page.title);
  const nav = pages.flatMap((each) => {
    const at = each.under === undefined ? pathIn(each, view.merchant !== undefined) : undefined;
    if (at === undefined) return [];
    const href = `${view.root}${at.replace(":merchant", view.merchant?.id ?? "")}`;
    return [{ href, label: each.title, current: each.at === (page.under ?? page.at) }];
  });
  const here = pathTo(view, page.at);
  send(
    context,
    res,
    {
      title: about === undefined ? title : [title, " ", about],
      nav,
      live: here,
      // The address of a form cannot be loaded, so links lead to the page that shows the same.
      shownAt: done ? here : (address ?? queryOf(view.query)),
      reloads,
    },
    [done?.isOutOfDate && markup`<p class="notice" role="status">${view.t("outOfDate")}</p>`, body],
  );
}

/** The path of a page among those of a merchant, or of all merchants. */
const pathIn = ({ at }: Page, isOfMerchant: boolean) =>
  scopesOf(at).find((each) => each.startsWith("/m/") === isOfMerchant);

/** The merchant of an operator's page. @throws Refused */
async function findManaged({ storage }: DashboardContext, req: Request) {
  const merchant = await storage.findMerchant(String(req.params.merchant));
  if (!merchant) throw refused(404, "error.noMerchant");
  return merchant;
}

/** A page that says what an action will do, and asks whether to do it. */
function askingPage(name: ActionName): Page {
  const { at, button, asks } = actionOf(name);
  return {
    at,
    title: button,
    under: "",
    async show(view) {
      const merchant = await findManaged(view.context, view.res.req);
      const effects = asks!.effects.map((effect) => markup`<li>${view.text(effect)}</li>`);
      const texts = { name: merchant.name };
      const content = markup`<ul>${effects}</ul>${form(view, name, { texts, isConfirmation: true })}`;
      return markup`${back(`${view.root}/merchants/${merchant.id}`, view.t("backChangeNothing"))}
<h1>${view.text(asks!.question, texts)}</h1>${card(content, { class: "stack", label: view.t("whatWillHappen") })}`;
    },
  };
}

/** What a form has sent, or a query. */
export const formOf = (sent: unknown): Form => ({
  text: (name) => field(sent, name),
  all: (name) =>
    [(sent as Record<string, unknown> | undefined)?.[name]].flat().filter((each) => typeof each === "string"),
});

/** Reads what an action needs to know. @param isConfirmation false for what the page asks for that says what will happen */
export const readInput = <Name extends ActionName>(name: Name, sent: unknown, isComplete = true) =>
  Object.fromEntries(
    Object.entries(actionOf(name).input)
      .filter(([, { isLate }]) => isComplete || !isLate)
      .map(([key, each]) => [key, each.read(formOf(sent))]),
  ) as Parameters<(typeof ACTIONS)[Name]["run"]>[1];

function serveAction(context: DashboardContext, router: Router, name: ActionName, pages: readonly Page[]): void {
  const entry = actionOf(name);
  const { perMinute } = entry;
  const message = "Too many links were made. Wait a minute, then make the next.";
  const limits = perMinute && {
    person: createRequestLimit({ perMinute: perMinute.person, message }),
    team: createRequestLimit({ perMinute: perMinute.team, message }),
  };
  const page = pages.filter(({ at }) => entry.at.startsWith(`${at}/`)).toSorted((a, b) => b.at.length - a.at.length)[0];
  for (const at of scopesOf(entry.at))
    router.post(`/dashboard${at}`, async (req, res) => {
      const { session } = visitOf(res);
      await requireRight(context, name, req, res);
      if (session.merchantId !== undefined && (entry.byOperators || !at.startsWith("/m/")))
        throw refused(404, "error.noPage");
      const merchant = at.startsWith("/merchants/:merchant") ? await findManaged(context, req) : stateOf(res).merchant;
      // One person may have any number of sessions.
      limits?.person.count(JSON.stringify([session.merchantId, session.name]));
      limits?.team.count(merchant?.id ?? "operators");
      if (at.startsWith("/m/") && !merchant) throw refused(404, "error.noPage");
      const params = req.params as Record<string, string>;
      const doer = { context, actor: actorIn(res), params, merchant } as Doer as Doer<never>;
      const input = readInput(name, req.body);
      const replaced = field(req.body, "replaces");
      if (replaced !== "" && entry.replaces && replaced !== nameOf(await entry.replaces(doer, input)))
        return show(context, pages, page!, req, res.status(409), { name, isOutOfDate: true });
      const result = await entry.run(doer, input);
      const secret = entry.secretIn?.(result);
      if (secret !== undefined) stateOf(res).shownOnce = secret;
      if (entry.isShown) return show(context, pages, page!, req, res, { name, result });
      seeOther(res, rootOf(context.config.publicUrl) + entry.leadsTo(doer, result));
    });
}

/** Refuses what the visitor's role does not permit, and records the refusal. */
async function requireRight({ storage }: DashboardContext, name: ActionName, req: Request, res: Response) {
  const { needs: right } = actionOf(name);
  const { role } = visitOf(res).session;
  if (hasRight(role, right)) return;
  const { word } = wordsIn(res);
  const details = { form: req.path.replace(/^\/dashboard/, ""), right, role };
  const merchantId = stateOf(res).merchant?.id ?? "";
  await storage.recordAction({ actor: actorIn(res), action: "dashboard.refuse", merchantId, details });
  const roles = [...RIGHTS[right], "administrator"].map((each) => word("role", each)).join(", ");
  throw refused(403, "error.role", { role: word("role", role), right: word("right", right), roles });
}
