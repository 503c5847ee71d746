import type { components } from "../../generated/openapi.ts";
import type { Deps } from "../deps.ts";
import { ApiError, ConnectionDropped } from "./errors.ts";
import { feeFor } from "./fees.ts";
import { HOLD_MS, outcomeFor, REFUSED_TRIES, type Outcome } from "./outcomes.ts";
import type { Disbursement, Merchant } from "./storage.ts";

type Request = components["schemas"]["DisbursementRequest"];

/**
 * Records a payout (§4.1). Resolves with the record once it is committed.
 * @throws ApiError `duplicate` with the Location of the payout that has the reference (D5), or what D17 forces
 * @throws ConnectionDropped when the outcome is that the caller never hears (D17, 504)
 */
export async function createDisbursement(deps: Deps, merchant: Merchant, request: Request): Promise<Disbursement> {
  const outcome = outcomeFor(request.phoneNumber, deps.config.sandbox);
  if (outcome.refuse) await refuse(deps, merchant, request.reference, outcome.refuse);

  const { inserted, record } = await deps.storage.insertDisbursement(draft(deps, merchant, request, outcome));
  if (!inserted) throw duplicate(record);
  // Its webhook is due already.
  if (record.status !== "pending") deps.wake();

  if (outcome.answer === "dropped") throw new ConnectionDropped();
  if (outcome.answer === "held") await deps.clock.sleep(HOLD_MS, deps.stopping);
  return record;
}

/** @throws ApiError `not-found`, also for another merchant's reference (§4.2) */
export async function verifyDisbursement(deps: Deps, merchant: Merchant, reference: string): Promise<Disbursement> {
  const record = await deps.storage.findDisbursement(merchant.id, reference);
  if (!record) throw new ApiError("not-found", "You have no disbursement with this reference.");
  return record;
}

function draft({ config, clock, ids }: Deps, merchant: Merchant, request: Request, outcome: Outcome): Disbursement {
  const now = clock.now() + merchant.clockOffset;
  const { reference: merchantsReference, amount, phoneNumber, country, currency, webhookURL } = request;
  const record: Disbursement = {
    id: ids.record(now),
    merchantId: merchant.id,
    reference: ids.reference("DSB"),
    merchantsReference,
    customer: { id: ids.record(now), phoneNumber },
    amount,
    fee: feeFor(amount, config.fees.disbursement),
    country,
    currency,
    status: "pending",
    createdAt: now,
    updatedAt: now,
  };
  if (webhookURL !== undefined) record.webhookURL = webhookURL;
  const { status, at } = outcome;
  if (status === undefined || status === "cancelled") return record;
  if (at === "once") record.status = status;
  else record.due = { at: now + config.settleDelayMs, status };
  return record;
}

/** Refuses a try before anything is recorded; a reference that was used is a duplicate before that (D17). */
async function refuse(deps: Deps, merchant: Merchant, reference: string, when: "always" | "at-first"): Promise<void> {
  const existing = await deps.storage.findDisbursementByMerchantsReference(merchant.id, reference);
  if (existing) throw duplicate(existing);
  if (when === "always")
    throw new ApiError("internal", "This phone number makes the sandbox fail; nothing was recorded.");
  const tries = await deps.storage.countTry(merchant.id, reference);
  if (tries > REFUSED_TRIES) return;
  throw new ApiError("unavailable", "Nothing was recorded. Send the same request again.", { "Retry-After": "1" });
}

function duplicate({ merchantsReference, reference }: Disbursement): ApiError {
  return new ApiError("duplicate", `A disbursement with reference ${merchantsReference} exists; see Location.`, {
    Location: `/v1/disbursements/${reference}`,
  });
}
