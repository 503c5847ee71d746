import type { components, operations } from "../generated/openapi.ts";

type Schemas = components["schemas"];

/** The request of `disbursements.create`. `amount` is in the lowest denomination: `10000` is 100.00. */
export type DisbursementRequest = Schemas["DisbursementRequest"];
/** The response to creating a payout. */
export type DisbursementCreated = Schemas["DisbursementCreated"];
/** A payout, as returned by verify. */
export type Disbursement = Schemas["Disbursement"];
/** Starts as `pending` and ends as `success` or `failed`, both final. */
export type DisbursementStatus = Schemas["DisbursementStatus"];

/** The request of `checkouts.create`. `amount` is in the lowest denomination: `10000` is 100.00. */
export type CheckoutRequest = Schemas["CheckoutRequest"];
/** The response to creating a checkout. Send the customer to `url` and store `reference`. */
export type CheckoutCreated = Schemas["CheckoutCreated"];
/** A checkout, as returned by verify. */
export type Checkout = Schemas["Checkout"];
/** Starts as `pending` and ends as `success`, `failed` or `cancelled`, all final. */
export type CheckoutStatus = Schemas["CheckoutStatus"];

/** The body of a webhook, discriminated by `event`. */
export type WebhookEvent = Schemas["WebhookEvent"];

/** A kind of record, as named in the operation ids. */
export type KindName = "Disbursement" | "Checkout";

/** The `operationId`s of the calls that this client makes. */
export type OperationId = Extract<keyof operations, `${"create" | "verify"}${KindName}`>;

/** The `operationId`s of the lists that this client reads. */
export type ListId = Extract<keyof operations, `list${KindName}s`>;

/** The statuses other than 200 that the contract defines for an operation. */
export type ErrorStatus<Op extends OperationId> = Exclude<keyof operations[Op]["responses"], 200>;

/**
 * A payout that exists. `recovered: true` means that a response was lost, or that the payout existed before (with
 * `ifExists: "return"`), and the client read the record instead, which has more fields.
 */
export type CreatedDisbursement = (DisbursementCreated & { recovered: false }) | (Disbursement & { recovered: true });

/**
 * A checkout that exists. A recovered one has no `url`, because the service does not return it again. If this was your
 * first call for the order, nobody has the link, and you can safely create another checkout under a new reference.
 */
export type CreatedCheckout =
  (CheckoutCreated & { recovered: false }) | (Checkout & { recovered: true; url?: undefined });

/** A record whose status is final. */
export type Final<R extends { status: string }> = R & { status: Exclude<R["status"], "pending"> };
