import type { components } from "../generated/openapi.ts";
import type { Deps } from "./deps.ts";
import { ApiError } from "./errors.ts";
import { feeFor } from "./fees.ts";
import type { Checkout, Merchant } from "./storage/storage.ts";

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

/** Where the customer pays. Built from PUBLIC_URL, never from a request's Host. */
export function checkoutUrl(publicUrl: string, reference: string): string {
  return `${publicUrl}/checkouts/${reference}`;
}
