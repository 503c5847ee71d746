import type { components } from "../../generated/openapi.ts";
import type { Deps } from "../deps.ts";
import { ApiError, ConnectionDropped } from "./errors.ts";
import { feeFor } from "./fees.ts";
import { HOLD_MS, outcomeFor, REFUSED_TRIES } from "./outcomes.ts";
import type { Checkout, Merchant } from "./storage.ts";

type Request = components["schemas"]["CheckoutRequest"];

/** Milliseconds of the merchant's sandbox time in which a checkout can be paid (D9). */
export const CHECKOUT_LIFETIME_MS = 30 * 60_000;

/**
 * Makes a checkout (§4.3). Resolves with the record once it is committed.
 * @throws ApiError `duplicate` with the Location of the checkout that has the reference (D5, D7)
 */
export async function createCheckout(deps: Deps, merchant: Merchant, request: Request): Promise<Checkout> {
  const { config, clock, ids } = deps;
  const now = clock.now() + merchant.clockOffset;
  const reference = ids.reference("CHK");
  const candidate: Checkout = {
    id: ids.record(now),
    merchantId: merchant.id,
    reference,
    merchantsReference: request.reference ?? reference,
    amount: request.amount,
    fee: feeFor(request.amount, config.fees.checkout),
    country: request.country,
    currency: request.currency,
    locale: request.locale ?? "en",
    status: "pending",
    createdAt: now,
    updatedAt: now,
    due: { at: now + CHECKOUT_LIFETIME_MS, status: "cancelled" },
  };
  if (request.webhookURL !== undefined) candidate.webhookURL = request.webhookURL;
  if (request.redirectURL !== undefined) candidate.redirectURL = request.redirectURL;

  const { inserted, record } = await deps.storage.insertCheckout(candidate);
  if (inserted) return record;
  throw new ApiError("duplicate", `A checkout with reference ${record.merchantsReference} exists; see Location.`, {
    Location: `/v1/checkouts/${record.reference}`,
  });
}

/** @throws ApiError `not-found`, also for another merchant's reference (D8) */
export async function verifyCheckout(deps: Deps, merchant: Merchant, reference: string): Promise<Checkout> {
  const record = await deps.storage.findCheckout(merchant.id, reference);
  if (!record) throw new ApiError("not-found", "You have no checkout with this reference.");
  return record;
}

/** A checkout and whose it is, as the page of it needs both. */
export interface OpenCheckout {
  checkout: Checkout;
  merchant: Merchant;
}

/** The checkout behind a public reference (D19), up to date: an expiry or a settlement that is due has happened. */
export async function openCheckout(deps: Deps, reference: string): Promise<OpenCheckout | undefined> {
  // PostgreSQL takes no text with a NUL in it.
  if (!/^CHK[0-9A-Za-z]+$/.test(reference)) return undefined;
  const opened = await deps.storage.findPublicCheckout(reference);
  if (!opened?.checkout.due) return opened;
  const { checkout, merchant } = opened;
  if (checkout.due!.at > deps.clock.now() + merchant.clockOffset) return opened;
  await deps.timeline.settle(merchant.id);
  deps.wake();
  return deps.storage.findPublicCheckout(reference);
}

/** Pending, and no number was given yet. */
export const isPayable = ({ status, customer }: Checkout): boolean => status === "pending" && customer === undefined;

/**
 * Takes the payer's number for a checkout that is payable. Of all who pay at once one does; for the others nothing
 * happens. Resolves when the payment is committed; what is due at once (D17) is there when the checkout is next opened.
 * @param phoneNumber 10 to 15 digits
 * @throws ApiError what D17 forces, with nothing recorded
 * @throws ConnectionDropped when the payer never hears (D17, 504)
 */
export async function payCheckout(deps: Deps, opened: OpenCheckout, phoneNumber: string): Promise<void> {
  const { checkout, merchant } = opened;
  const { config, clock, ids, storage } = deps;
  const outcome = outcomeFor(phoneNumber, config.sandbox);
  if (outcome.refuse) await refuse(deps, opened, outcome.refuse);

  const now = clock.now() + merchant.clockOffset;
  const { status, at } = outcome;
  // Without a status nothing is due, expiry included: D9 cancels what is unpaid, D17 keeps this payment pending for ever.
  const due = status && { at: at === "once" ? now : now + config.settleDelayMs, status };
  const paid = await storage.payCheckout(checkout.reference, { id: ids.record(now), phoneNumber }, due, now);
  if (!paid) return;

  if (outcome.answer === "dropped") throw new ConnectionDropped();
  if (outcome.answer === "held") await clock.sleep(HOLD_MS, deps.stopping);
}

/** The payer gives up. Once there is a number the payment is under way, and this changes nothing. */
export async function cancelCheckout(deps: Deps, { checkout, merchant }: OpenCheckout): Promise<void> {
  const now = deps.clock.now() + merchant.clockOffset;
  if (await deps.storage.cancelCheckout(checkout.reference, now)) deps.wake();
}

/** As for a payout (D17); tries are counted by the service's reference, which no payout of the merchant's has. */
async function refuse({ storage }: Deps, opened: OpenCheckout, when: "always" | "at-first"): Promise<void> {
  const { merchant, checkout } = opened;
  if (when === "always") throw new ApiError("internal", "This phone number makes the sandbox fail.");
  const tries = await storage.countTry(merchant.id, checkout.reference);
  if (tries <= REFUSED_TRIES) throw new ApiError("unavailable", "Nothing was recorded.", { "Retry-After": "1" });
}

/** Where the customer pays. Built from PUBLIC_URL, never from a request's Host. */
export function checkoutUrl(publicUrl: string, reference: string): string {
  return `${publicUrl}/checkouts/${reference}`;
}
