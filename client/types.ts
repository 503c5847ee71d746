import type { components, operations } from "../generated/openapi.ts";

type Schemas = components["schemas"];

/** What `disbursements.create` sends (§2.1). `amount` is in the lowest denomination: `10000` is 100.00. */
export type DisbursementRequest = Schemas["DisbursementRequest"];
/** A payout as its create answers (§2.2). */
export type DisbursementCreated = Schemas["DisbursementCreated"];
/** A payout as verify shows it (§2.3). */
export type Disbursement = Schemas["Disbursement"];
/** `pending`, then `success` or `failed` for good (D3). */
export type DisbursementStatus = Schemas["DisbursementStatus"];

/** What `checkouts.create` sends (§2.4, D7). `amount` is in the lowest denomination: `10000` is 100.00. */
export type CheckoutRequest = Schemas["CheckoutRequest"];
/** A checkout as its create answers (D6): send the customer to `url`, store `reference`. */
export type CheckoutCreated = Schemas["CheckoutCreated"];
/** A checkout as verify shows it (D8). */
export type Checkout = Schemas["Checkout"];
/** `pending`, then `success`, `failed` or `cancelled` for good (D9). */
export type CheckoutStatus = Schemas["CheckoutStatus"];

/** What a webhook receiver gets (D11); `event` tells which. */
export type WebhookEvent = Schemas["WebhookEvent"];

/** A kind of record, as it stands in the operations' names. */
export type KindName = "Disbursement" | "Checkout";

/** The operations of the contract that this client calls, by their `operationId`. */
export type OperationId = Extract<keyof operations, `${"create" | "verify"}${KindName}`>;

/** Statuses other than 200 that the contract names for an operation. */
export type ErrorStatus<Op extends OperationId> = Exclude<keyof operations[Op]["responses"], 200>;

/**
 * A payout that exists now. With `recovered: true` an answer was lost on the way, and this is the record of the same
 * payout as the service shows it, more fields included.
 */
export type CreatedDisbursement = (DisbursementCreated & { recovered: false }) | (Disbursement & { recovered: true });

/**
 * A checkout that exists now. A recovered one has no `url`, because records do not carry it. When it was asked for the
 * first time, nobody has its link, and a new checkout under another reference takes its place without harm.
 */
export type CreatedCheckout =
  (CheckoutCreated & { recovered: false }) | (Checkout & { recovered: true; url?: undefined });

/** A record whose status does not change any more (D3, D9). */
export type Final<R extends { status: string }> = R & { status: Exclude<R["status"], "pending"> };
