// The payment page of a checkout.
import type { Checkout } from "./merchant.ts";

const entities: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
const escaped = (text: string) => text.replaceAll(/[&<>"']/g, (character) => entities[character]!);

/** Formats an amount: 1234500 is 12,345.00. */
const format = (amount: number) =>
  new Intl.NumberFormat("en", { minimumFractionDigits: 2 }).format(`${amount}E-2` as `${number}`);

const form = `<form method="post">
    <label>Phone number <input name="phoneNumber" inputmode="numeric" autocomplete="tel" /></label>
    <button name="action" value="pay">Pay</button>
    <button name="action" value="cancel">Cancel</button>
  </form>`;

/** Shows the form of a checkout that can be paid, and its status otherwise. */
export function paymentPage({ status, customer, merchant, amount, currency, merchantsReference }: Checkout): string {
  return `<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <title>Payment</title>
      </head>
      <body>
        <h1>${escaped(merchant.name)}</h1>
        <p>${format(amount)} ${currency}</p>
        <p>${escaped(merchantsReference)}</p>
        ${status === "pending" && customer === undefined ? form : `<p role="status">Status of the payment: ${status}.</p>`}
      </body>
    </html>`;
}

/** Returns where the customer goes after the payment; undefined if the merchant gave no address. */
export function redirectOf({ redirectURL, ...checkout }: Checkout): string | undefined {
  if (redirectURL === undefined) return undefined;
  const url = new URL(redirectURL);
  for (const name of ["reference", "merchantsReference", "status"] as const) url.searchParams.set(name, checkout[name]);
  return url.href;
}
