import express, { type Request, type RequestHandler, type Response, type Router } from "express";
import { cancelCheckout, isPayable, openCheckout, payCheckout, type OpenCheckout } from "../../domain/checkouts.ts";
import type { Deps } from "../../deps.ts";
import { ApiError } from "../../domain/errors.ts";
import { answerInHtml } from "./page-errors.ts";
import { parsePhoneNumber } from "./phone-number.ts";
import { pageHeaders } from "./render.ts";
import { returnAddress } from "./return-address.ts";
import { showForm, showResult, showWaiting, wayBack } from "./show.ts";

/**
 * The pages that customers see, all of them without scripts.
 *
 * GET  /checkouts/REF         the form or the result; 303 to the wait
 * POST /checkouts/REF         Pay or Cancel; a page that leads to the way back, or 303 to the result (D36)
 * GET  /checkouts/REF/return  the wait as long as there is no outcome, then 303 to the merchant (D10)
 *
 * The reference is the key (D19): who knows it may pay, and there is no login or cookie that another site could make use
 * of. Thus the form needs no token against forged requests, and holds nothing secret.
 */
export function checkoutPages(deps: Deps): Router {
  const router = express.Router({ caseSensitive: true, strict: true });
  const find: RequestHandler = async (req, res, next) => {
    res.locals.opened = await found(deps, String(req.params.reference));
    next();
  };

  router.use("/checkouts", pageHeaders);
  router
    .route("/checkouts/:reference")
    .all(find)
    .get((_req, res) => show(deps, res, openedIn(res)))
    .post(readForm, (req, res) => submit(deps, req, res))
    .all(onlyFor("GET, HEAD, POST"));
  router
    .route("/checkouts/:reference/return")
    .all(find)
    .get((_req, res) => leave(deps, res))
    .all(onlyFor("GET, HEAD"));
  router.use("/checkouts", () => {
    throw notFound();
  });
  router.use(answerInHtml(deps));
  return router;
}

const readForm = express.urlencoded({ extended: false, limit: 2_048, parameterLimit: 8 });

const openedIn = (res: Response): OpenCheckout => res.locals.opened;

const notFound = () => new ApiError("not-found", "There is no checkout at this address.");

async function found(deps: Deps, reference: string): Promise<OpenCheckout> {
  const opened = await openCheckout(deps, reference);
  if (!opened) throw notFound();
  return opened;
}

function onlyFor(methods: string): RequestHandler {
  return ({ method }) => {
    throw new ApiError("method-not-allowed", `${method} is not for this page.`, { Allow: methods });
  };
}

function show(deps: Deps, res: Response, opened: OpenCheckout): void {
  const { checkout } = opened;
  if (isPayable(checkout)) showForm(deps, res, opened);
  else if (checkout.status === "pending") seeOther(res, wayBack(checkout.reference));
  else showResult(deps, res, opened);
}

async function submit(deps: Deps, req: Request, res: Response): Promise<void> {
  const { action, phoneNumber } = formOf(req);
  const opened = openedIn(res);
  if (action === "cancel") await cancelCheckout(deps, opened);
  else if (!(await pay(deps, res, opened, phoneNumber))) return;

  const after = await found(deps, opened.checkout.reference);
  const { status, redirectURL, reference } = after.checkout;
  // No redirect from here to the way back, for `form-action` would stop the one to the merchant that may follow: what is
  // pending now can have ended by the time the browser asks there (D36). A page ends the chain that began with the form.
  if (status === "pending") showWaiting(deps, res, after, true);
  else if (redirectURL !== undefined && isMeant(action, after)) showResult(deps, res, after, true);
  else seeOther(res, reference);
}

/** The fields of the form. A browser sends `pay` when Enter is pressed, as that button comes first. */
function formOf(req: Request): { action: "pay" | "cancel"; phoneNumber: string } {
  if (!req.is("urlencoded")) throw new ApiError("unsupported-media-type", "Send the form as a browser does.");
  const { action, phoneNumber = "" } = (req.body ?? {}) as Record<string, unknown>;
  if ((action === "pay" || action === "cancel") && typeof phoneNumber === "string") return { action, phoneNumber };
  throw new ApiError("invalid-request", "Press Pay or Cancel.");
}

/** Pays when that is still possible; false when the form was shown again instead. */
async function pay(deps: Deps, res: Response, opened: OpenCheckout, typed: string): Promise<boolean> {
  if (!isPayable(opened.checkout)) return true;
  const number = parsePhoneNumber(typed);
  if ("fault" in number) {
    showForm(deps, res, opened, { status: 422, typed, fault: number.fault });
    return false;
  }
  try {
    await payCheckout(deps, opened, number.digits);
    return true;
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 503) throw error;
    showForm(deps, res.set(error.headers), opened, { status: 503, typed });
    return false;
  }
}

/**
 * Whether the result is what the customer asked for just now, a second click included. Who pressed Pay in one tab after
 * cancelling in another, or when time was over, gets to read so first and goes back by a link.
 */
function isMeant(action: "pay" | "cancel", { checkout }: OpenCheckout): boolean {
  return action === "pay" ? checkout.customer !== undefined : checkout.status === "cancelled";
}

function leave(deps: Deps, res: Response): void {
  const opened = openedIn(res);
  const { checkout } = opened;
  if (checkout.status === "pending" && !isPayable(checkout)) return showWaiting(deps, res, opened);
  const { status, redirectURL, reference } = checkout;
  const back = status !== "pending" && redirectURL !== undefined;
  seeOther(res, back ? returnAddress(redirectURL, checkout) : `../${reference}`);
}

/** 303 to an address as it is, where Express would encode once more what the merchant's holds. */
function seeOther(res: Response, address: string): void {
  res.status(303).set("Location", address).end();
}
