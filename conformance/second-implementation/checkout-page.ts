// Serves the payment pages.
import { setTimeout as sleep } from "node:timers/promises";
import type { HttpBindings } from "@hono/node-server";
import type { Hono } from "hono";
import type { Checkout, Merchant } from "./merchant.ts";
import { page, redirectOf } from "./page.ts";
import { Problem } from "./problem.ts";
import { Dropped, refuseByNumber, responseDelay } from "./test-numbers.ts";

export type App = Hono<{ Bindings: HttpBindings }>;
type Open = { merchant: Merchant; checkout: Checkout };

function find(merchants: readonly Merchant[], reference: string): Open {
  for (const merchant of merchants) {
    const checkout = merchant.state.checkouts.find(reference);
    if (checkout) return { merchant, checkout };
  }
  throw new Problem("not_found", "There is no such payment page.");
}

const localeOf = ({ merchant, checkout }: Open) => merchant.state.locales.get(checkout.reference) ?? "en";

/** Takes the customer's payment. Returns the problem to show, if any. */
async function take({ merchant, checkout }: Open, phoneNumber: string): Promise<"invalid" | "unavailable" | undefined> {
  if (!/^[0-9]{10,15}$/.test(phoneNumber)) return "invalid";
  try {
    refuseByNumber(merchant.state.refusals, phoneNumber, checkout.reference);
  } catch (error) {
    if (error instanceof Problem && error.body.code === "unavailable") return "unavailable";
    throw error;
  }
  merchant.pay(checkout, phoneNumber);
  if (phoneNumber.endsWith("504")) throw new Dropped();
  await sleep(responseDelay(phoneNumber), undefined, { ref: false });
  return undefined;
}

/** Adds the payment pages. They need no key, because the customer has no key. */
export function addPaymentPage(app: App, merchants: readonly Merchant[]): void {
  const path = "/checkouts/:reference";
  app.get(path, (c) => {
    const open = find(merchants, c.req.param("reference"));
    const target = open.checkout.status === "pending" ? undefined : redirectOf(open.checkout);
    return target === undefined ? c.html(page(open.checkout, localeOf(open))) : c.redirect(target, 303);
  });
  app.post(path, async (c) => {
    const open = find(merchants, c.req.param("reference"));
    const { action, phoneNumber } = await c.req.parseBody();
    const canPay = open.checkout.status === "pending" && open.checkout.customer === undefined;
    if (canPay && action === "cancel") open.merchant.finish(open.checkout, "cancelled");
    const problem = canPay && action !== "cancel" ? await take(open, String(phoneNumber)) : undefined;
    if (problem) return c.html(page(open.checkout, localeOf(open), problem), problem === "invalid" ? 422 : 503);
    return c.redirect(c.req.path, 303);
  });
}
