import type { Response } from "express";
import { CHECKOUT_LIFETIME_MS, type OpenCheckout } from "../../domain/checkouts.ts";
import type { Deps } from "../../deps.ts";
import { formatAmount } from "./money.ts";
import type { PhoneNumberFault } from "./phone-number.ts";
import { sendPage } from "./render.ts";
import { texts } from "./texts.ts";

/** The way back, seen from the page of the checkout. Relative, so that it holds behind a proxy that adds a prefix. */
export const wayBack = (reference: string): string => `${reference}/return`;

interface Tried {
  status: 422 | 503;
  /** What the customer typed; it stays in the field. */
  typed: string;
  fault?: PhoneNumberFault;
}

/** @param tried what was sent before, when it could not be taken */
export function showForm({ config, clock }: Deps, res: Response, opened: OpenCheckout, tried?: Tried): void {
  const { checkout, merchant } = opened;
  const t = texts[checkout.locale];
  const summary = summaryOf(opened);
  const left = checkout.due!.at - clock.now() - merchant.clockOffset;
  const fault = tried?.fault && t.numberFaults[tried.fault];
  sendPage(
    res,
    {
      status: tried?.status ?? 200,
      template: "pay",
      locale: checkout.locale,
      title: `${fault ? t.errorPrefix : ""}${t.pay(summary.amount)} – ${merchant.name}`,
    },
    {
      ...summary,
      sandbox: config.sandbox,
      fault,
      busy: tried?.status === 503,
      typed: tried?.typed ?? "",
      minutesLeft: Math.ceil(left / 60_000),
    },
  );
}

/**
 * The page of the way back while there is no outcome: it loads itself again, less often the longer it takes.
 *
 * @param submitted whether this answers the form; the browser then goes on to the way back at once, where it looks the
 *   same, and where loading it again sends no form (D36)
 */
export function showWaiting({ config, clock }: Deps, res: Response, opened: OpenCheckout, submitted = false): void {
  const { checkout, merchant } = opened;
  const { locale, reference } = checkout;
  const title = `${texts[locale].waiting.heading} – ${merchant.name}`;
  const waitedSeconds = (clock.now() + merchant.clockOffset - checkout.updatedAt) / 1_000;
  const pause = String(Math.min(15, Math.max(2, Math.round(waitedSeconds / 4))));
  const back = submitted ? wayBack(reference) : "return";
  const refresh = submitted ? `0; url=${back}` : pause;
  const data = { ...summaryOf(opened), sandbox: config.sandbox, back };
  sendPage(res, { status: 200, template: "waiting", locale, title, refresh }, data);
}

/** @param leaving whether the browser shall go on to the merchant at once (D10); only where there is an address */
export function showResult({ config }: Deps, res: Response, opened: OpenCheckout, leaving = false): void {
  const { checkout, merchant } = opened;
  const { locale, reference } = checkout;
  const result = resultOf(opened);
  const title = `${texts[locale].results[result].heading} – ${merchant.name}`;
  const back = checkout.redirectURL === undefined ? undefined : wayBack(reference);
  const refresh = leaving ? `0; url=${back}` : undefined;
  sendPage(
    res,
    { status: 200, template: "result", locale, title, refresh },
    { ...summaryOf(opened), sandbox: config.sandbox, result, back, leaving },
  );
}

/** Customers are told whether they cancelled or time did; for merchants both are `cancelled` (D9). */
function resultOf({ checkout: { status, customer, createdAt, updatedAt } }: OpenCheckout) {
  if (status === "pending") throw new Error("A checkout that is pending has no result");
  const expired = status === "cancelled" && !customer && updatedAt - createdAt >= CHECKOUT_LIFETIME_MS;
  return expired ? "expired" : status;
}

function summaryOf({ checkout, merchant }: OpenCheckout) {
  const { reference, merchantsReference, amount, currency, locale } = checkout;
  return {
    reference,
    // In a sentence, a name written from right to left must not turn the rest round (Unicode's isolates).
    merchant: `\u2068${merchant.name}\u2069`,
    amount: formatAmount(amount, currency, locale),
    // The one that the service made up (D6) says nothing to a customer.
    orderReference: merchantsReference === reference ? undefined : merchantsReference,
  };
}
