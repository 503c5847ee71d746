import type { Request, Response } from "express";
import type { Logger } from "pino";
import { areaOf, pathFor, typed } from "../../actions/action.ts";
import { actionOf, type ActionName } from "../../actions/index.ts";
import { listOf } from "../../actions/payments.ts";
import type { Config } from "../../config.ts";
import type { Actor } from "../../domain/audit.ts";
import type { Merchant } from "../../domain/merchants.ts";
import type { Rails } from "../../domain/rails.ts";
import { timestamp } from "../../domain/representation.ts";
import { hasRight, actorOf, type SignInContext } from "../../domain/sign-in.ts";
import type { Storage } from "../../domain/storage.ts";
import { DAY_MS } from "../../domain/time.ts";
import {
  isTextId,
  numberIn,
  plain,
  textIn,
  TEXTS,
  type Language,
  type Said,
  type TextId,
  type Values,
} from "../../texts/index.ts";
import type { HandlerContext } from "../handlers.ts";
import { formatAmount, formatPhoneNumber } from "../pages/formats.ts";
import type { RequestRoom } from "../request-limit.ts";
import { stated, stateOf, type Visit } from "../request-state.ts";
import { bdi, Html, htmlOf, link, markup, tag, type Part } from "./html.ts";

/** The dependencies of the dashboard's pages. */
export interface DashboardContext extends HandlerContext, SignInContext {
  config: Config;
  storage: Storage;
  log: Logger;
  /** What carries the money of a live service; absent in a sandbox. */
  rails?: Rails | undefined;
  /** Where requests wait for room. */
  room: RequestRoom;
}

/** The texts with elements of HTML. */
type RichId = {
  [Id in TextId]: (typeof TEXTS)[Id][0] extends `${string}</${string}` ? Id : never;
}[TextId];

const UNITS = [
  [DAY_MS, "duration.days"],
  [3_600_000, "duration.hours"],
  [60_000, "duration.minutes"],
  [1_000, "duration.seconds"],
] as const;

/** French puts a space before some signs and between thousands, at which no line may break. */
const spaced = (text: string): string => text.replaceAll(/ (?=[:;?!%»])|(?<=«) |(?<=\d) (?=\d{3}\b)/g, "\u00a0");

/** Shows texts in one language. */
function wordsOf(language: Language) {
  const isFrench = language === "fr";
  const fill = (id: TextId, values?: Readonly<Record<string, unknown>>, show?: (value: unknown) => string) => {
    const text = textIn(language, id, values, show);
    return isFrench ? spaced(text) : text;
  };
  const day = (iso: string) => (isFrench ? iso.split("-").toReversed().join("/") : iso);
  const time = (at: number) => {
    const [date = "", clock = ""] = timestamp(at).slice(0, 19).split("T");
    return `${day(date)} ${clock}`;
  };
  const word = (area: string, text: string) => (isTextId(`${area}.${text}`) ? fill(`${area}.${text}` as TextId) : text);
  const amount = (sum: number | bigint, currency: string) => formatAmount(sum, currency, language);
  const stamp = (at: number) => markup`<time datetime="${timestamp(at)}">${time(at)}</time>`;
  const said = ([id, values]: Said): Html =>
    new Html(
      fill(id, values, (value) => {
        if (typeof value !== "object") return htmlOf(value as string);
        if (Array.isArray(value)) return said(value as unknown as Said).html;
        const of = value as { amount?: number; currency: string; time: number; phoneNumber?: string };
        if (of.amount !== undefined) return htmlOf(amount(of.amount, of.currency));
        return of.phoneNumber === undefined ? time(of.time) : htmlOf(formatPhoneNumber(of.phoneNumber));
      }),
    );
  return {
    language,
    said,
    /** A text. Numbers are written as in the language, and `count` decides between one and many. */
    t: <Id extends Exclude<TextId, RichId>>(id: Id, ...[values]: Values<Id, string | number | bigint>) =>
      fill(id, values),
    /** A text with elements. */
    rich: <Id extends TextId>(id: Id, ...[values]: Values<Id, Part>) =>
      new Html(fill(id, values, (value) => htmlOf(value as Part))),
    /** A text whose id is data, such as a column's title; with elements. */
    text: (id: TextId, values?: Readonly<Record<string, string | number>>) =>
      new Html(fill(id, values, (value) => htmlOf(value as Part))),
    /** A text by an id that is composed of a word of the service; the word itself if there is no such text. */
    word,
    /** A text without elements. */
    plain: (of: Said) => (isFrench ? spaced(plain(language, of)) : plain(language, of)),
    number: (count: number | bigint) => numberIn(language, count),
    amount,
    /** The amount of a payment, or of another thing with a currency. */
    money: (of: { amount: number | bigint; currency: string }) => amount(of.amount, of.currency),
    /** A status of a payment, a webhook, a replay, a merchant or a key. */
    badge: (status: string) => tag(status, word("status", status)),
    /** A time in UTC, to the second. */
    time,
    /** A time in UTC as an element. */
    stamp,
    /** A day, from its form in an address. */
    day,
    /** A duration of at least a second in whole units of the largest that fits: `6 days`. */
    duration(milliseconds: number) {
      const [size, unit] = UNITS.find(([each]) => milliseconds >= each)!;
      return fill(unit, { count: Math.floor(milliseconds / size) });
    },
  };
}

export type Words = ReturnType<typeof wordsOf>;
const LANGUAGES = { en: wordsOf("en"), fr: wordsOf("fr") };

/** The words in the language of a request. */
export const wordsIn = (res: Response): Words => LANGUAGES[stateOf(res).language ?? "en"];

export type View = ReturnType<typeof viewOf>;

/** A request for a page, as the page sees it. @param parameters of the query that the page reads */
export function viewOf(context: DashboardContext, res: Response, parameters: readonly string[]) {
  const { req } = res;
  const { merchant } = stateOf(res);
  const root = rootOf(context.config.publicUrl);
  const params = req.params as Readonly<Record<string, string>>;
  const names = new Map<string, string>();
  return {
    ...wordsIn(res),
    context,
    res,
    visit: visitOf(res),
    /** The merchant of the page. Absent on the pages of all merchants, which only operators see. */
    merchant,
    /** The path of the dashboard, as a browser sees it. */
    root,
    /** The path of the merchant's pages, or of those of all merchants. */
    area: `${root}${areaOf(merchant)}`,
    /** The parameters in the path. */
    params,
    /** The parameters of the query that the page reads; empty if there is none. */
    query: Object.fromEntries(parameters.map((name) => [name, typed(req.query, name)])),
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
export const visitOf = (res: Response): Visit => stated(res, "visit");

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
