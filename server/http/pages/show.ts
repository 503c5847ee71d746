import { join } from "node:path";
import type { ErrorRequestHandler, Request, RequestHandler, Response } from "express";
import type { Logger } from "pino";
import { CHECKOUT_LIFETIME_MS, type Checkouts, type OpenCheckout } from "../../domain/checkouts.ts";
import type { Clock } from "../../domain/clock.ts";
import { ConnectionDropped, ServiceError } from "../../domain/errors.ts";
import type { HandoverStore } from "../../domain/handovers.ts";
import { sandboxTime } from "../../domain/time.ts";
import { toHttpError } from "../http-error.ts";
import { stateOf } from "../request-state.ts";
import { loadTemplates, readStyles } from "../templates.ts";
import { countryOf } from "./countries.ts";
import { formatAmount } from "./money.ts";
import type { PhoneNumberFault } from "./phone-number.ts";
import { texts, type Locale } from "./texts.ts";

const folder = join(import.meta.dirname, "templates");
const render = loadTemplates(folder);
const { css, policy } = readStyles(join(folder, "page.css"));

/** The dependencies of the pages. */
export interface PageContext {
  config: { sandbox: boolean };
  clock: Clock;
  checkouts: Checkouts;
  storage: Pick<HandoverStore, "findHandover">;
  log: Logger;
}

/** Headers of every response under /checkouts. The URL is secret, and pages must not be framed or cached. */
export const pageHeaders: RequestHandler = (_req, res, next) => {
  res.set({
    "Content-Security-Policy": policy,
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "X-Robots-Tag": "noindex",
  });
  next();
};

interface Page {
  /** 200 by default. */
  status?: number;
  template: "pay" | "waiting" | "result" | "error";
  locale: Locale;
  title: string;
  /** Value of the `Refresh` header: seconds until the page reloads, optionally with another URL to load. */
  refresh?: string | undefined;
}

/** Sends a self-contained page, without scripts, images or fonts. `data` is passed to its template. */
function sendPage({ config }: PageContext, res: Response, page: Page, data: object): void {
  const { status = 200, template, locale, title, refresh } = page;
  // A service that charges nobody says so on every page.
  const html = render(template, { locale, title, t: texts[locale], css, charges: !config.sandbox, ...data });
  if (refresh !== undefined) res.set("Refresh", refresh);
  res.status(status).type("html").send(html);
}

/** Path of the return page, relative to the checkout's page, so that it works behind a proxy that adds a prefix. */
export const returnPath = (reference: string): string => `${reference}/return`;

interface Rejected {
  status: 422 | 503;
  /** What the customer typed; it stays in the field. */
  typed: string;
  fault?: PhoneNumberFault;
}

/**
 * Shows the payment form.
 * @param rejected the previous submission, if it was refused
 */
export function showForm(context: PageContext, res: Response, opened: OpenCheckout, rejected?: Rejected): void {
  const { clock } = context;
  const { checkout, merchant } = opened;
  const t = texts[checkout.locale];
  const summary = summaryOf(opened);
  const left = checkout.due!.at - clock.now();
  const country = countryOf(checkout.country);
  const fault = rejected?.fault && t.numberFault(rejected.fault, country?.callingCode);
  const countryNames = new Intl.DisplayNames(checkout.locale, { type: "region" });
  sendPage(
    context,
    res,
    {
      status: rejected?.status ?? 200,
      template: "pay",
      locale: checkout.locale,
      title: `${fault ? t.errorPrefix : ""}${t.pay(summary.amount)} – ${merchant.name}`,
    },
    {
      ...summary,
      fault,
      numberHint: t.numberHint(country?.example),
      operators: country && t.operators(countryNames.of(checkout.country)!, country.operators.join(", ")),
      busy: rejected?.status === 503,
      typed: rejected?.typed ?? "",
      minutesLeft: Math.ceil(left / 60_000),
    },
  );
}

/** How long a person may read that their number was not used, before the page is replaced. */
const READING_SECONDS = 15;

/**
 * Shows the waiting page. It reloads itself, and the interval grows with the time waited.
 *
 * @param response `opening`: the rail has not opened its page yet; that page will take the place of this page.
 * `unopened`: the rail has the checkout, but the response with the address of its page was lost, so that nobody can
 * pay. Any other value: this is the response to the form, with `other-number` if the payment is made with a number
 * other than the number in the form. The browser then loads the return page, which looks the same: reloading the return
 * page does not submit the form again (D10).
 */
export function showWaiting(
  context: PageContext,
  res: Response,
  opened: OpenCheckout,
  response?: "submitted" | "other-number" | "opening" | "unopened",
): void {
  const { clock } = context;
  const { checkout, merchant } = opened;
  const { locale, reference } = checkout;
  const { waiting } = texts[locale];
  const unopened = response === "unopened" ? waiting.unopened : undefined;
  const title = `${(unopened ?? waiting).heading} – ${merchant.name}`;
  const waitedSeconds = (sandboxTime(merchant, clock.now()) - checkout.updatedAt) / 1_000;
  const pause = String(Math.min(15, Math.max(2, Math.round(waitedSeconds / 4))));
  const otherNumber = response === "other-number";
  const isOpening = response === "opening" || unopened !== undefined;
  const back = isOpening ? reference : response ? returnPath(reference) : "return";
  const refresh = isOpening ? pause : response ? `${otherNumber ? READING_SECONDS : 0}; url=${back}` : pause;
  const payer = checkout.customer?.phoneNumber.slice(-3);
  const data = { ...summaryOf(opened), back, payer, otherNumber, isOpening, unopened };
  sendPage(context, res, { template: "waiting", locale, title, refresh }, data);
}

/**
 * Shows the result of a checkout.
 * @param leaving true to send the browser on to the merchant immediately (D10); requires a `redirectURL`
 */
export function showResult(context: PageContext, res: Response, opened: OpenCheckout, leaving = false): void {
  const { checkout, merchant } = opened;
  const { locale, reference } = checkout;
  const result = resultOf(opened);
  const title = `${texts[locale].results[result].heading} – ${merchant.name}`;
  const back = checkout.redirectURL === undefined ? undefined : returnPath(reference);
  const refresh = leaving ? `0; url=${back}` : undefined;
  const page = { template: "result", locale, title, refresh } as const;
  sendPage(context, res, page, { ...summaryOf(opened), result, back, leaving });
}

/** Customers see whether they cancelled or the checkout expired; for merchants both are `cancelled` (D3). */
function resultOf({ checkout: { status, customer, createdAt, updatedAt } }: OpenCheckout) {
  if (status === "pending") throw new Error("A pending checkout has no result");
  const expired = status === "cancelled" && !customer && updatedAt - createdAt >= CHECKOUT_LIFETIME_MS;
  return expired ? "expired" : status;
}

function summaryOf({ checkout, merchant }: OpenCheckout) {
  const { reference, merchantsReference, amount, currency, locale } = checkout;
  return {
    reference,
    // Unicode isolates keep a right-to-left name from reversing the text around it.
    merchant: `\u2068${merchant.name}\u2069`,
    amount: formatAmount(amount, currency, locale),
    // A reference generated by the service (D6) means nothing to a customer.
    orderReference: merchantsReference === reference ? undefined : merchantsReference,
  };
}

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
export function showErrors(context: PageContext): ErrorRequestHandler {
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
    const refresh = unchecked ? loadAgain(req) : undefined;
    const back = opened && `${req.path.endsWith("/return") ? "../" : ""}${opened.checkout.reference}`;
    const page = { status, template: "error", locale, title: text.heading, refresh } as const;
    sendPage(context, res.set(headers), page, { text, notCharged, back, requestId });
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
