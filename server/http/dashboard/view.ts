import type { Request, Response } from "express";
import type { Logger } from "pino";
import { areaOf, checked, pathFor, typed, type ActionContext, type Input } from "../../actions/action.ts";
import { actionOf, type ActionName } from "../../actions/index.ts";
import { listOf } from "../../actions/payments.ts";
import type { Actor } from "../../domain/audit.ts";
import type { Merchant } from "../../domain/merchants.ts";
import type { Rails } from "../../domain/rails.ts";
import { timestamp } from "../../domain/representation.ts";
import { hasRight, actorOf } from "../../domain/sign-in.ts";
import {
  isTextId,
  numberIn,
  textIn,
  type Language,
  type SaidValue,
  type TextId,
  type Values,
  type Wording,
} from "../../texts/index.ts";
import type { HandlerContext } from "../handlers.ts";
import { formatAmount, formatPhoneNumber, languageOf } from "../pages/formats.ts";
import type { RequestRoom } from "../request-limit.ts";
import { stateOf, type Visit } from "../request-state.ts";
import { bdi, Html, htmlOf, link, markup, tag, type Part } from "./html.ts";

/** The dependencies of the dashboard's pages. */
export interface DashboardContext extends HandlerContext, Pick<ActionContext, "loadText"> {
  log: Logger;
  /** What carries the money of a live service; absent in a sandbox. */
  rails?: Rails | undefined;
  /** Where requests wait for room. */
  room: RequestRoom;
}

/** A time in UTC, to the second. */
const time = (at: number): string => timestamp(at).slice(0, 19).replace("T", " ");

/** Shows texts in one language. */
function wordsOf(language: Language) {
  const amount = (sum: number | bigint, currency: string) => formatAmount(sum, currency, language);
  const shown = (value: Part | SaidValue): string => {
    if (typeof value === "object" && value !== null) {
      if ("say" in value) return t(value).html;
      if ("amount" in value) return htmlOf(amount(value.amount, value.currency));
      if ("time" in value) return htmlOf(time(value.time));
      if ("phoneNumber" in value) return htmlOf(formatPhoneNumber(value.phoneNumber));
    }
    return htmlOf(value);
  };
  /** A text. Numbers are written as in the language, and `count` decides between one and many. */
  function t(of: Wording): Html;
  function t<Id extends TextId>(id: Id, ...[values]: Values<Id, Part | SaidValue>): Html;
  function t(of: TextId | Wording, values?: Readonly<Record<string, unknown>>): Html {
    if (typeof of === "object" && "text" in of) return markup`${of.text}`;
    const { say: id, values: all } = typeof of === "object" ? of : { say: of, values };
    return new Html(textIn(language, id, all, (value) => shown(value as Part | SaidValue)));
  }
  const word = (area: string, text: string) => {
    const id = `${area}.${text}`;
    return isTextId(id) ? textIn(language, id) : text;
  };
  return {
    language,
    t,
    /** A text by an id that is composed of a word of the service; the word itself if there is no such text. */
    word,
    number: (count: number | bigint) => numberIn(language, count),
    amount,
    /** The amount of a payment, or of another thing with a currency. */
    money: (of: { amount: number | bigint; currency: string }) => amount(of.amount, of.currency),
    /** A status of a payment, a webhook, a replay, a merchant or a key. */
    badge: (status: string) => tag(status, word("status", status)),
    time,
    /** A time in UTC as an element. */
    stamp: (at: number) => markup`<time datetime="${timestamp(at)}">${time(at)}</time>`,
  };
}

export type Words = ReturnType<typeof wordsOf>;
const LANGUAGES = { en: wordsOf("en"), fr: wordsOf("fr") };

/** The words in the language of a request. */
export const wordsIn = ({ req }: Response): Words => LANGUAGES[languageOf(req)];

export type View = ReturnType<typeof viewOf>;

/** The inputs of the search above a list, by their names in the query. Narrow screens fold all but the first away. */
export type Filters = Readonly<Record<string, Input>>;

/** What a page reads of its query. It reads no more. */
export interface Searched {
  /** What people can search by. */
  filters?: Filters;
  /** Other parameters. */
  query?: readonly string[];
}

/** A request for a page, as the page sees it. @throws Refused if the search has what its form does not allow */
export function viewOf(context: DashboardContext, res: Response, { filters = {}, query = [] }: Searched) {
  const { req } = res;
  const { merchant } = stateOf(res);
  const root = rootOf(context.config.publicUrl);
  const params = req.params as Readonly<Record<string, string>>;
  const names = new Map<string, string>();
  const searched = Object.entries(filters).map(([name, filter]) => [name, checked(filter, typed(req.query, name))]);
  return {
    ...wordsIn(res),
    context,
    res,
    visit: visitOf(res),
    actor: actorIn(res),
    /** The merchant of the page. Absent on the pages of all merchants, which only operators see. */
    merchant,
    /** The path of the dashboard, as a browser sees it. */
    root,
    /** The path of the merchant's pages, or of those of all merchants. */
    area: `${root}${areaOf(merchant)}`,
    /** The parameters in the path. */
    params,
    /** The parameters of the query that the page reads; empty if there is none. */
    query: Object.fromEntries([...searched, ...query.map((name) => [name, typed(req.query, name)])]) as Readonly<
      Record<string, string>
    >,
    /** A path of a page or an action, with the parameters of this page or the given ones. */
    pathTo: (at: string, more?: Readonly<Record<string, string>>) =>
      root + pathFor(at, merchant, { ...params, ...more }),
    /** Finds the names of the merchants of some things, on a page of all merchants. */
    async nameMerchants(things: readonly { merchantId?: string }[]) {
      if (merchant) return;
      const ids = new Set(things.flatMap(({ merchantId }) => (merchantId ? [merchantId] : [])));
      const found = await Promise.all([...ids].map((id) => context.storage.findMerchant(id)));
      for (const each of found) if (each) names.set(each.id, each.name);
    },
    /** The name of such a merchant; undefined on a page of one merchant. */
    whose: (id: string | undefined) => (id !== undefined && names.has(id) ? bdi(names.get(id)) : undefined),
    toPayment: ({ merchantId = merchant?.id, reference, merchantsReference }: ToPayment) =>
      link(
        `${root}/m/${merchantId}/${listOf(reference)}/${reference}`,
        merchantsReference === undefined ? reference : bdi(merchantsReference),
      ),
  };
}

interface ToPayment {
  merchantId?: string | undefined;
  reference: string;
  merchantsReference?: string | undefined;
}

/** True if the visitor has the right that an action needs. */
export const mayDo = ({ visit: { session } }: View, name: ActionName): boolean => {
  const { needs, byOperators } = actionOf(name);
  return hasRight(session.role, needs) && !(byOperators && session.merchantId !== undefined);
};

/** The visit of a request that `requireSession` has let through. */
export const visitOf = (res: Response): Visit => stateOf(res).visit!;

/** The visitor, for the audit trail. */
export function actorIn(res: Response): Actor {
  const { session } = visitOf(res);
  return { name: actorOf(session), session: session.id };
}

/** True if the page's script sent the request, and not a person. Such requests do not count as use of the session. */
export const isByItself = (req: Request): boolean => req.get("x-live") !== undefined;

/** Names the form of a page. What its script reads has no name, so that the page is not new each time. */
export const formIdOf = ({ res }: View): string => (isByItself(res.req) ? "" : stateOf(res).requestId!);

/** The merchant of a page that belongs to one. */
export function merchantOf({ merchant }: View): Merchant {
  if (!merchant) throw new Error("The page belongs to no merchant.");
  return merchant;
}

/** The path of the dashboard as a browser sees it: a proxy may serve PUBLIC_URL under a prefix. */
export const rootOf = (publicUrl: string): string => `${new URL(publicUrl).pathname.replace(/\/$/, "")}/dashboard`;

/** Sends a 303, after a form or to another page. */
export const seeOther = (res: Response, address: string): void => void res.status(303).set("Location", address).end();

/** The query of a link: a question mark and the parameters that are not empty. */
export function queryOf(parameters: Readonly<Record<string, string>>): string {
  const given = Object.entries(parameters).filter(([, text]) => text !== "");
  return given.length === 0 ? "" : `?${new URLSearchParams(given)}`;
}
