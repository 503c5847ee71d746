// The payment page of a checkout.
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
type Locale = keyof typeof texts;

/** Formats an amount: 1234500 is 12,345.00. */
function format(amount: number): string {
  const digits = String(amount).padStart(3, "0");
  return `${Number(digits.slice(0, -2)).toLocaleString("en")}.${digits.slice(-2)}`;
}

const entities: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
const escaped = (text: string) => text.replaceAll(/[&<>"']/g, (character) => entities[character]!);

/** Shows the form of a checkout that can be paid, and its status otherwise. */
export function paymentPage(checkout: Checkout, locale: Locale, problem?: "invalid" | "unavailable"): string {
  const text = texts[locale];
  const canPay = checkout.status === "pending" && checkout.customer === undefined;
  const form = `<form method="post">
    <label>${text.phone} <input name="phoneNumber" inputmode="numeric" autocomplete="tel" /></label>
    <button name="action" value="pay">${text.pay}</button>
    <button name="action" value="cancel">${text.cancel}</button>
  </form>`;
  const isWaiting = checkout.status === "pending" && !canPay;
  return `<!doctype html>
    <html lang="${locale}">
      <head>
        <meta charset="utf-8" />
        ${isWaiting ? `<meta http-equiv="refresh" content="1" />` : ""}
        <title>${text.title}</title>
      </head>
      <body>
        <h1>${escaped(checkout.merchant.name)}</h1>
        <p>${format(checkout.amount)} ${checkout.currency}</p>
        <p>${escaped(checkout.merchantsReference)}</p>
        ${problem ? `<p role="alert">${text[problem]}</p>` : ""}
        ${canPay ? form : `<p role="status">${text[checkout.status as keyof typeof text]}</p>`}
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
