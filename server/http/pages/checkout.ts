import express, { type Request, type RequestHandler, type Response, type Router } from "express";
import { isPayable, type OpenCheckout } from "../../domain/payments.ts";
import type { Checkout } from "../../domain/records.ts";
import { noteChanges, type Change } from "../../domain/changes.ts";
import { ServiceError } from "../../domain/errors.ts";
import { onlyFor, toHttpError } from "../http-error.ts";
import { arrived, through } from "../json-body.ts";
import { inTime } from "../request-limit.ts";
import { stateOf } from "../request-state.ts";
import { parsePhoneNumber } from "./formats.ts";
import { pageHeaders, returnPath, showErrors, showForm, showOpening, showResult, showWaiting } from "./show.ts";
import type { PageContext, CheckoutVisit } from "./show.ts";

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
        const opened = await found(context, String(req.params.reference));
        stateOf(res).opened = opened;
        await serve({ context, opened, req, res });
      });
  const refuse = (allow: string) => of(({ req, res }) => through(onlyFor(allow), req, res));

  router.use("/checkouts", pageHeaders);
  router.route("/checkouts/:reference").get(of(show)).post(of(submit)).all(refuse("GET, HEAD, POST"));
  router.route("/checkouts/:reference/return").get(of(leave)).all(refuse("GET, HEAD"));
  router.use("/checkouts", () => {
    throw notFound();
  });
  router.use(showErrors(context));
  return router;
}

const readForm = express.urlencoded({ extended: false, limit: 2_048, parameterLimit: 8 });

const notFound = () => new ServiceError("not_found", "No checkout exists at this URL.");

async function found(context: PageContext, reference: string): Promise<OpenCheckout> {
  const opened = await context.checkouts.open(reference);
  if (!opened) throw notFound();
  return opened;
}

/** A live payer pays on the rail's page, as soon as the rail has opened it. */
async function show(visit: CheckoutVisit): Promise<void> {
  const { context, res } = visit;
  const { checkout } = visit.opened;
  if (checkout.status === "pending" && !context.config.sandbox) {
    const handover = await context.storage.findHandover(checkout.reference);
    if (handover?.url !== undefined) seeOther(res, handover.url);
    else showOpening(visit, handover?.state === "accepted");
  } else if (isPayable(checkout)) showForm(visit);
  else if (checkout.status === "pending") seeOther(res, returnPath(checkout.reference));
  else showResult(visit);
}

async function submit(visit: CheckoutVisit): Promise<void> {
  const { context, opened, req, res } = visit;
  await through(readForm, req, res);
  await through(arrived, req, res);
  const { action, phoneNumber } = formOf(req);
  // The page of a live checkout has no form.
  if (!context.config.sandbox) return seeOther(res, opened.checkout.reference);
  if (action === "cancel") await context.checkouts.cancel(opened);
  else if (!(await pay(visit, phoneNumber))) return;

  const after = await found(context, opened.checkout.reference);
  const { status, redirectURL, reference } = after.checkout;
  const intended = isIntended(action, phoneNumber, after);
  // Do not redirect to the return page. If the payment settles meanwhile, that page redirects to the merchant, and
  // browsers apply `form-action` to the whole redirect chain that a form starts. Sending a page ends the chain (D10).
  const otherNumber = action === "pay" && !intended;
  const changed = { ...visit, opened: after };
  if (status === "pending") showWaiting(changed, otherNumber ? "other-number" : "submitted");
  else if (redirectURL !== undefined && intended) showResult(changed, true);
  else seeOther(res, reference);
}

/** Reads the form's fields. Pressing Enter sends `pay`, because that button comes first. */
function formOf(req: Request): { action: "pay" | "cancel"; phoneNumber: string } {
  if (!req.is("urlencoded"))
    throw new ServiceError("unsupported_media_type", "Send the form as application/x-www-form-urlencoded.");
  const { action, phoneNumber = "" } = (req.body ?? {}) as Record<string, unknown>;
  if ((action === "pay" || action === "cancel") && typeof phoneNumber === "string") return { action, phoneNumber };
  throw new ServiceError("invalid_request", "Press Pay or Cancel.");
}

/** Pays if the checkout is still payable. Returns false if it showed the form again instead. */
async function pay(visit: CheckoutVisit, typed: string): Promise<boolean> {
  const { context, opened, res } = visit;
  if (!isPayable(opened.checkout)) return true;
  const number = parsePhoneNumber(typed);
  if ("fault" in number) {
    showForm(visit, { status: 422, typed, fault: number.fault });
    return false;
  }
  const changes: Change[] = [];
  stateOf(res).changes = changes;
  try {
    await noteChanges(changes, () => context.checkouts.pay(opened, number.digits));
    return true;
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== "unavailable" || changes.length > 0) throw error;
    res.set(toHttpError(error).headers);
    showForm(visit, { status: 503, typed });
    return false;
  }
}

/**
 * True if the checkout's state is what the customer asked for, also on a second click. Customers who pressed Pay after
 * cancelling in another tab, after the checkout expired or after somebody else paid, see that first and return by a
 * link.
 */
function isIntended(action: "pay" | "cancel", typed: string, { checkout }: OpenCheckout): boolean {
  if (action === "cancel") return checkout.status === "cancelled";
  const number = parsePhoneNumber(typed);
  return "digits" in number && checkout.customer?.phoneNumber === number.digits;
}

function leave(visit: CheckoutVisit): void {
  const { context, res } = visit;
  const { checkout } = visit.opened;
  const { status, redirectURL, reference } = checkout;
  const isWaiting = status === "pending" && (!isPayable(checkout) || !context.config.sandbox);
  if (isWaiting) return showWaiting(visit);
  const back = status !== "pending" && redirectURL !== undefined;
  seeOther(res, back ? returnAddress(redirectURL, checkout) : `../${reference}`);
}

/** Sends a 303 with the address unchanged. Express's `redirect` would encode the merchant's URL again. */
function seeOther(res: Response, address: string): void {
  res.status(303).set("Location", address).end();
}

/**
 * Returns the URL that the customer returns to (D10): the merchant's `redirectURL` with `reference`,
 * `merchantsReference` and `status` set. The rest of its query and its fragment are preserved exactly. Merchants must
 * not trust these parameters, since a customer can forge them; only a webhook or a verify is authoritative.
 */
export function returnAddress(redirectURL: string, { reference, merchantsReference, status }: Checkout): string {
  const address = new URL(redirectURL);
  const own = { reference, merchantsReference, status };
  const kept = address.search
    .slice(1)
    .split("&")
    .filter((parameter) => parameter !== "" && !Object.hasOwn(own, nameOf(parameter)));
  const added = Object.entries(own).map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
  // The setter drops one leading question mark, which could be part of the merchant's query.
  address.search = `?${[...kept, ...added].join("&")}`;
  return address.href;
}

/** The parameter's decoded name: `%73tatus` is `status`. */
function nameOf(parameter: string): string {
  // The constructor drops one leading question mark, too.
  const [name = ""] = new URLSearchParams(`?${parameter}`).keys();
  return name;
}
