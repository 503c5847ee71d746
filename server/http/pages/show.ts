import type { Response } from "express";
import { CHECKOUT_LIFETIME_MS, type OpenCheckout } from "../../domain/checkouts.ts";
import { sandboxTime } from "../../domain/time.ts";
import { countryOf } from "./countries.ts";
import { formatAmount } from "./money.ts";
import type { PhoneNumberFault } from "./phone-number.ts";
import { noteOf, sendPage, type PageContext } from "./send-page.ts";
import { texts } from "./texts.ts";

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
  const left = checkout.due!.at - sandboxTime(merchant, clock.now());
  const country = countryOf(checkout.country);
  const fault = rejected?.fault && t.numberFault(rejected.fault, country?.callingCode);
  const countryNames = new Intl.DisplayNames(checkout.locale, { type: "region" });
  sendPage(
    res,
    {
      status: rejected?.status ?? 200,
      template: "pay",
      locale: checkout.locale,
      title: `${fault ? t.errorPrefix : ""}${t.pay(summary.amount)} – ${merchant.name}`,
    },
    {
      ...summary,
      note: noteOf(context),
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
 * page does not submit the form again (D36).
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
  const data = { ...summaryOf(opened), note: noteOf(context), back, payer, otherNumber, isOpening, unopened };
  sendPage(res, { status: 200, template: "waiting", locale, title, refresh }, data);
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
  sendPage(
    res,
    { status: 200, template: "result", locale, title, refresh },
    { ...summaryOf(opened), note: noteOf(context), result, back, leaving },
  );
}

/** Customers see whether they cancelled or the checkout expired; for merchants both are `cancelled` (D9). */
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
