// The payment page of a checkout.
import { html } from "hono/html";
import type { Checkout } from "./merchant.ts";

const texts = {
  en: {
    title: "Payment",
    phone: "Phone number",
    pay: "Pay",
    cancel: "Cancel",
    invalid: "Enter 10 to 15 digits, without a plus sign.",
    unavailable: "The payment was not accepted. Try again.",
    pending: "The payment is in progress.",
    success: "The payment succeeded.",
    failed: "The payment failed.",
    cancelled: "The payment was cancelled.",
  },
  fr: {
    title: "Paiement",
    phone: "Numéro de téléphone",
    pay: "Payer",
    cancel: "Annuler",
    invalid: "Saisissez 10 à 15 chiffres, sans le signe plus.",
    unavailable: "Le paiement n'a pas été accepté. Réessayez.",
    pending: "Le paiement est en cours.",
    success: "Le paiement a réussi.",
    failed: "Le paiement a échoué.",
    cancelled: "Le paiement a été annulé.",
  },
};
export type Locale = keyof typeof texts;

/** Formats an amount: 10000 is 100.00. */
const format = (amount: number) =>
  String(amount)
    .padStart(3, "0")
    .replace(/(\d\d)$/, ".$1");

/** Shows the form of a checkout that can be paid, and its status otherwise. */
export function page(checkout: Checkout, locale: Locale, problem?: "invalid" | "unavailable") {
  const text = texts[locale];
  const canPay = checkout.status === "pending" && checkout.customer === undefined;
  const form = html`<form method="post">
    <label>${text.phone} <input name="phoneNumber" inputmode="numeric" autocomplete="tel" /></label>
    <button name="action" value="pay">${text.pay}</button>
    <button name="action" value="cancel">${text.cancel}</button>
  </form>`;
  const isWaiting = checkout.status === "pending" && !canPay;
  return html`<!doctype html>
    <html lang="${locale}">
      <head>
        <meta charset="utf-8" />
        ${isWaiting ? html`<meta http-equiv="refresh" content="1" />` : ""}
        <title>${text.title}</title>
      </head>
      <body>
        <h1>${checkout.merchant.name}</h1>
        <p>${format(checkout.amount)} ${checkout.currency}</p>
        ${problem ? html`<p role="alert">${text[problem]}</p>` : ""}
        ${canPay ? form : html`<p role="status">${text[checkout.status as keyof typeof text]}</p>`}
      </body>
    </html>`;
}

/** Returns where the customer goes after the payment; undefined if the merchant gave no address. */
export function redirectOf(checkout: Checkout): string | undefined {
  if (checkout.redirectURL === undefined) return undefined;
  const url = new URL(checkout.redirectURL);
  const { reference, merchantsReference, status } = checkout;
  for (const [name, value] of Object.entries({ reference, merchantsReference, status })) {
    url.searchParams.set(name, value);
  }
  return url.href;
}
