import type { Request, Response } from "express";
import { actionOf, type ActionName, type ActionResult } from "../../actions/index.ts";
import { areaOf } from "../../actions/action.ts";
import { refused } from "../../actions/refused.ts";
import type { Actor } from "../../domain/audit.ts";
import type { Merchant } from "../../domain/merchants.ts";
import { hasRight, type Right } from "../../domain/roles.ts";
import { actorOf } from "../../domain/sign-in.ts";
import { stated, stateOf, type Visit } from "../request-state.ts";
import type { DashboardContext } from "./dashboard-context.ts";
import { isByItself } from "./live.ts";
import { wordsIn, type Words } from "./words.ts";

/** What a form has done, for the page that is the response to it. */
export interface Done {
  name: ActionName;
  result?: unknown;
  /** True if it was refused because the page was out of date. */
  isOutOfDate?: true;
}

/** A request for a page, as the page sees it. */
export interface View extends Words {
  context: DashboardContext;
  res: Response;
  visit: Visit;
  /** The merchant of the page. Absent on the pages of all merchants, which only operators see. */
  merchant: Merchant | undefined;
  /** The path of the dashboard, as a browser sees it. */
  root: string;
  /** The path of the merchant's pages, or of those of all merchants. */
  area: string;
  /** The parameters in the path. */
  params: Readonly<Record<string, string>>;
  /** The parameters of the query that the page reads; empty if there is none. */
  query: Readonly<Record<string, string>>;
  may(right: Right): boolean;
  /** The result of the form, if this page is the response to it and the form was of this action. */
  resultOf<Name extends ActionName>(name: Name): ActionResult<Name> | undefined;
}

export function viewOf(
  context: DashboardContext,
  req: Request,
  res: Response,
  parameters: readonly string[],
  done?: Done,
): View {
  const { merchant } = stateOf(res);
  const visit = visitOf(res);
  const root = rootOf(context.config.publicUrl);
  return {
    ...wordsIn(res),
    context,
    res,
    visit,
    merchant,
    root,
    area: `${root}${areaOf(merchant)}`,
    params: req.params as Record<string, string>,
    query: Object.fromEntries(parameters.map((name) => [name, done ? "" : field(req.query, name)])),
    may: (right) => hasRight(visit.session.role, right),
    resultOf: (name) => (done?.name === name ? (done.result as ActionResult<typeof name>) : undefined),
  };
}

/** The right that an action needs, and whether the visitor has it. */
export const mayDo = (view: View, name: ActionName): boolean => {
  const { needs, byOperators } = actionOf(name);
  return view.may(needs) && !(byOperators && view.visit.session.merchantId !== undefined);
};

/** The visit of a request that `requireSession` has let through. */
export const visitOf = (res: Response): Visit => stated(res, "visit");

/** Names the form of a page. What its script reads has no name, so that the page is not new each time. */
export const formIdOf = ({ res }: View): string => (isByItself(res.req) ? "" : stateOf(res).requestId!);

/** The visitor, for the audit trail. */
export function actorIn(res: Response): Actor {
  const { session } = visitOf(res);
  return { name: actorOf(session), session: session.id };
}

/** The merchant of a page that belongs to one. */
export function merchantOf({ merchant }: View): Merchant {
  if (!merchant) throw new Error("The page belongs to no merchant.");
  return merchant;
}

/** The path of the dashboard as a browser sees it: a proxy may serve PUBLIC_URL under a prefix. */
export const rootOf = (publicUrl: string): string => `${new URL(publicUrl).pathname.replace(/\/$/, "")}/dashboard`;

/** Sends a 303, after a form or to another page. */
export function seeOther(res: Response, address: string): void {
  res.status(303).set("Location", address).end();
}

/** The value of a form's field, or of a parameter in the query; empty if there is none. */
export function field(form: unknown, name: string): string {
  const value = (form as Record<string, unknown> | undefined)?.[name];
  return typeof value === "string" ? value.trim() : "";
}

/** The query of a link: a question mark and the parameters that are not empty. */
export function queryOf(parameters: Readonly<Record<string, string>>): string {
  const given = Object.entries(parameters).filter(([, text]) => text !== "");
  return given.length === 0 ? "" : `?${new URLSearchParams(given)}`;
}

/** The start of a day in UTC. @throws Refused */
export function dayOf(text: string): number {
  const time = /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(time)) throw refused(422, "error.day");
  return time;
}

/** The names of the merchants of some things, by id. */
export async function merchantNames(
  { storage }: Pick<DashboardContext, "storage">,
  things: readonly { merchantId?: string }[],
): Promise<Map<string, string>> {
  const ids = new Set(things.flatMap(({ merchantId }) => (merchantId ? [merchantId] : [])));
  const merchants = await Promise.all([...ids].map((id) => storage.findMerchant(id)));
  return new Map(merchants.flatMap((merchant) => (merchant ? [[merchant.id, merchant.name] as const] : [])));
}
