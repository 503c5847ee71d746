import { hash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Eta } from "eta";
import express, {
  type ErrorRequestHandler,
  type Request,
  type RequestHandler,
  type Response,
  type Router,
} from "express";
import type { Logger } from "pino";
import { collectChanges, type Change } from "../../domain/changes.ts";
import { ConnectionDropped, ServiceError } from "../../domain/errors.ts";
import { CHECKOUT_LIFETIME_MS, isPayable, type OpenCheckout } from "../../domain/payments.ts";
import { sandboxTime } from "../../domain/time.ts";
import { textIn, type TextId } from "../../texts/index.ts";
import type { HandlerContext } from "../handlers.ts";
import { onlyFor, toHttpError, toServiceError } from "../http-error.ts";
import { arrived, through } from "../json-body.ts";
import { inTime } from "../request-limit.ts";
import { stateOf } from "../request-state.ts";
import { countryOf, formatAmount, languageOf, parsePhoneNumber, returnAddress } from "./formats.ts";
import type { PhoneNumberFault } from "./formats.ts";

const eta = new Eta({ views: import.meta.dirname, cache: true, autoEscape: true });
const css = ["../styles/theme.css", "../styles/base.css", "../styles/forms.css", "page.css"]
  .map((file) => readFileSync(join(import.meta.dirname, file), "utf8"))
  .join("");

/**
 * A page may use its style sheet and its form, and nothing else. Its URL is secret, so no search engine may keep it.
 * `commonHeaders` forbids caching.
 */
const HEADERS = {
  "Content-Security-Policy": [
    "default-src 'none'",
    `style-src 'sha256-${hash("sha256", css, "base64")}'`,
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join("; "),
  "X-Robots-Tag": "noindex",
};

/** The dependencies of the pages. */
interface PageContext extends Pick<HandlerContext, "config" | "clock" | "checkouts" | "storage"> {
  log: Logger;
}

/** A request for a page. The checkout is unknown if it could not be found. */
interface Asked {
  context: PageContext;
  opened?: OpenCheckout | undefined;
  req: Request;
  res: Response;
}
type CheckoutVisit = Asked & { opened: OpenCheckout };

/**
 * The pages for customers. None of them uses scripts.
 *
 * GET  /checkouts/REF         the form or the result; 303 to the waiting page while a payment is pending
 * POST /checkouts/REF         Pay or Cancel; a page that leads to the return page, or 303 to the result (D10)
 * GET  /checkouts/REF/return  the waiting page until there is an outcome, then 303 to the merchant (D10)
 *
 * The reference is the credential (D19): anyone who knows it may pay. There is no login or cookie that another site
 * could exploit, so the form needs no CSRF token.
 */
export function checkoutPages(context: PageContext): Router {
  const router = express.Router({ caseSensitive: true, strict: true });
  const of =
    (serve: (visit: CheckoutVisit) => void | Promise<void>): RequestHandler =>
    (req, res) =>
      inTime(async () => {
        const opened = await find(context, String(req.params.reference));
        stateOf(res).opened = opened;
        await serve({ context, opened, req, res });
      });
  const refuse = (allow: string) => of(({ req, res }) => through(onlyFor(allow), req, res));

  router.use("/checkouts", (_req, res, next) => void (res.set(HEADERS), next()));
  router.route("/checkouts/:reference").get(of(show)).post(of(submit)).all(refuse("GET, HEAD, POST"));
  router.route("/checkouts/:reference/return").get(of(leave)).all(refuse("GET, HEAD"));
  router.use("/checkouts", () => {
    throw notFound();
  });
  router.use(showErrors(context));
  return router;
}

const notFound = () => new ServiceError("not_found", "No checkout exists at this URL.");

async function find({ checkouts }: PageContext, reference: string): Promise<OpenCheckout> {
  const opened = await checkouts.open(reference);
  if (!opened) throw notFound();
  return opened;
}

/** Sends a 303 with the address unchanged. Express's `redirect` would encode the merchant's URL again. */
const seeOther = (res: Response, address: string): void => void res.status(303).set("Location", address).end();

/** Path of the return page, relative to the checkout's page, so that it works behind a proxy that adds a prefix. */
const returnPath = (reference: string): string => `${reference}/return`;

/** A live payer pays on the rail's page, as soon as the rail has opened it. */
async function show(visit: CheckoutVisit): Promise<void> {
  const { context, opened, res } = visit;
  const { checkout } = opened;
  const { reference, status } = checkout;
  if (status !== "pending") return showResult(visit);
  if (context.config.sandbox) return isPayable(checkout) ? showForm(visit) : seeOther(res, returnPath(reference));
  const handover = await context.storage.findHandover(reference);
  if (handover?.url !== undefined) return seeOther(res, handover.url);
  // If the rail has the checkout, the response with the address of its page was lost, and nobody can pay.
  const state = handover?.state === "accepted" ? "unopened" : "opening";
  sendPage(visit, state, { link: reference, refresh: pauseOf(visit) });
}

const readForm = express.urlencoded({ extended: false, limit: 2_048, parameterLimit: 8 });
/** How long a person may read that their number was not used, before the page is replaced. */
const READING_SECONDS = 15;

async function submit(visit: CheckoutVisit): Promise<void> {
  const { context, opened, req, res } = visit;
  await through(readForm, req, res);
  await through(arrived, req, res);
  const { action, typed } = formOf(req);
  const { checkout } = opened;
  const { reference } = checkout;
  // The page of a live checkout has no form.
  if (!context.config.sandbox) return seeOther(res, reference);
  const number = parsePhoneNumber(typed);
  if (action === "cancel") await context.checkouts.cancel(opened);
  else if (isPayable(checkout)) {
    if ("fault" in number) {
      res.status(422);
      return showForm(visit, { typed, fault: number.fault });
    }
    const changes: Change[] = [];
    stateOf(res).changes = changes;
    await collectChanges(changes, () => context.checkouts.pay(opened, number.digits));
  }

  const after = await find(context, reference);
  const { status, customer, redirectURL } = after.checkout;
  // Also on a second click. Customers who pressed Pay after cancelling in another tab, after the checkout expired or
  // after somebody else paid, see that first and return by a link.
  const isAsIntended =
    action === "cancel" ? status === "cancelled" : "digits" in number && customer?.phoneNumber === number.digits;
  const otherNumber = action === "pay" && !isAsIntended;
  const link = returnPath(reference);
  const changed = { ...visit, opened: after };
  // Do not redirect to the return page. If the payment settles meanwhile, that page redirects to the merchant, and
  // browsers apply `form-action` to the whole redirect chain that a form starts. Sending a page ends the chain (D10). The
  // return page looks the same; reloading it does not submit the form again.
  if (status === "pending")
    sendPage(changed, "waiting", { link, otherNumber, refresh: `${otherNumber ? READING_SECONDS : 0}; url=${link}` });
  else if (redirectURL !== undefined && isAsIntended) showResult(changed, true);
  else seeOther(res, reference);
}

/** Reads the form's fields. Pressing Enter sends `pay`, because that button comes first. */
function formOf(req: Request): { action: "pay" | "cancel"; typed: string } {
  const { action, phoneNumber: typed = "" } = (req.body ?? {}) as Record<string, unknown>;
  if ((action === "pay" || action === "cancel") && typeof typed === "string") return { action, typed };
  throw new ServiceError("invalid_request", "Press Pay or Cancel.");
}

function leave(visit: CheckoutVisit): void {
  const { context, opened, res } = visit;
  const { checkout } = opened;
  const { status, redirectURL, reference } = checkout;
  const isWaiting = status === "pending" && (!isPayable(checkout) || !context.config.sandbox);
  if (isWaiting) return sendPage(visit, "waiting", { link: "return", refresh: pauseOf(visit) });
  const back = status !== "pending" && redirectURL !== undefined;
  seeOther(res, back ? returnAddress(redirectURL, checkout) : `../${reference}`);
}

type StateOf<Id> = Id extends `pay.${infer Name}.text` ? Name : never;
/** What a page shows: the form; or a state of the payment or an error, with the texts `pay.STATE` and `pay.STATE.text`. */
type State = "form" | StateOf<TextId>;

/**
 * Sends a self-contained page, without scripts, images or fonts.
 * @param values of `page.eta`, and of the `Refresh` header: seconds until the page reloads, perhaps with another URL to load
 */
function sendPage(
  { context, opened, req, res }: Asked,
  state: State,
  { refresh, ...values }: { refresh?: string | undefined; [name: string]: unknown },
): void {
  if (!opened) res.vary("Accept-Language");
  if (refresh !== undefined) res.set("Refresh", refresh);
  const language = opened?.checkout.locale ?? languageOf(req);
  const say = (id: TextId, given?: Readonly<Record<string, string | number>>) => textIn(language, id, given);
  // A service that charges nobody says so on every page.
  const { sandbox } = context.config;
  const page = { ...values, state, language, say, css, sandbox, payment: opened && paymentOf(opened) };
  res.type("html").send(eta.render("./page", page));
}

/** What every page about a checkout shows. */
function paymentOf({ checkout, merchant }: OpenCheckout) {
  const { reference, merchantsReference, amount, currency, locale, customer } = checkout;
  return {
    reference,
    name: merchant.name,
    // Unicode isolates keep a right-to-left name from reversing the text around it.
    merchant: `\u2068${merchant.name}\u2069`,
    amount: formatAmount(amount, currency, locale),
    // A reference generated by the service (D6) means nothing to a customer.
    orderReference: merchantsReference === reference ? undefined : merchantsReference,
    payer: customer?.phoneNumber.slice(-3),
  };
}

/** @param refused after a submission that was refused: what the customer typed, which stays in the field, and why */
function showForm(visit: CheckoutVisit, refused?: { typed: string; fault?: PhoneNumberFault; isBusy?: boolean }): void {
  const { locale, country, due } = visit.opened.checkout;
  sendPage(visit, "form", {
    ...refused,
    country: countryOf(country),
    countryName: new Intl.DisplayNames(locale, { type: "region" }).of(country),
    minutesLeft: Math.ceil((due!.at - visit.context.clock.now()) / 60_000),
  });
}

/**
 * Shows the outcome of a checkout. Customers see whether they cancelled or the checkout expired; for merchants both are
 * `cancelled` (D3).
 * @param leaving true to redirect to the merchant immediately (D10); requires a `redirectURL`
 */
function showResult(visit: CheckoutVisit, leaving = false): void {
  const { reference, redirectURL, status, customer, createdAt, updatedAt } = visit.opened.checkout;
  const hasExpired = status === "cancelled" && !customer && updatedAt - createdAt >= CHECKOUT_LIFETIME_MS;
  const link = redirectURL === undefined ? undefined : returnPath(reference);
  const refresh = leaving ? `0; url=${link}` : undefined;
  sendPage(visit, hasExpired ? "expired" : (status as Exclude<typeof status, "pending">), { link, leaving, refresh });
}

/** The interval after which a waiting page reloads itself grows with the time waited. */
function pauseOf({ context, opened: { checkout, merchant } }: CheckoutVisit): string {
  const waitedSeconds = (sandboxTime(merchant, context.clock.now()) - checkout.updatedAt) / 1_000;
  return String(Math.min(15, Math.max(2, Math.round(waitedSeconds / 4))));
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
function showErrors(context: PageContext): ErrorRequestHandler {
  return (error, req, res, next) => {
    if (error instanceof ConnectionDropped || res.headersSent) return next(error);
    const { requestId, opened, changes } = stateOf(res);
    const known = toServiceError(error);
    const { status, headers } = toHttpError(known);
    if (status >= 500 && known !== error) context.log.error({ err: error, requestId }, "unexpected error");
    // An unexpected error does not prove that an attempt to pay recorded nothing.
    const notCharged = known === error && changes?.length === 0;
    res.status(status).set(headers);
    if (opened && notCharged && status === 503)
      return showForm({ context, opened, req, res }, { typed: formOf(req).typed, isBusy: true });
    const isUnchecked = status >= 500 && !notCharged;
    const problem = status === 404 ? "notFound" : status < 500 ? "notUnderstood" : "broken";
    const back = req.path.endsWith("/return") ? "../" : "";
    sendPage({ context, opened, req, res }, isUnchecked ? "unchecked" : problem, {
      refresh: isUnchecked ? loadAgain(req) : undefined,
      link: opened && back + opened.checkout.reference,
      notCharged,
      requestId,
    });
  };
}
