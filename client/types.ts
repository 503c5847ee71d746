import type {
  Checkout,
  CheckoutCreated,
  CheckoutStatus,
  Disbursement,
  DisbursementCreated,
  DisbursementStatus,
} from "../generated/models.ts";
import type { operations } from "../generated/openapi.ts";

export type * from "../generated/models.ts";

/** A kind of record, as named in the operation ids. */
export type KindName = "Disbursement" | "Checkout";

/** The `operationId`s of the calls that this client makes. */
export type OperationId = Extract<keyof operations, `${"create" | "verify"}${KindName}`>;

/** The `operationId`s of the lists that this client reads. */
export type ListId = Extract<keyof operations, `list${KindName | "Balance" | "Statement"}s`>;

interface New {
  /** False: this call created the record, and this is the response. */
  recovered: false;
}

interface Recovered {
  /** True: the record existed when the client read it, because a response was lost or another call had created it. */
  recovered: true;
}

interface NoUrl {
  /** Only the first response has the URL. */
  url?: undefined;
}

/**
 * A payout that exists. `recovered: true` means that a response was lost, or that the payout existed before (with
 * `ifExists: "return"`), and the client read the record instead, which has more fields.
 */
export type CreatedDisbursement = (DisbursementCreated & New) | (Disbursement & Recovered);

/**
 * A checkout that exists. A recovered checkout has no `url`, because the service does not return it again. If this was
 * your first call for the order, nobody has the link, and you can safely create another checkout under a new reference.
 */
export type CreatedCheckout = (CheckoutCreated & New) | (Checkout & Recovered & NoUrl);

/** A payout whose status is final. */
export interface FinalDisbursement extends Disbursement {
  status: Exclude<DisbursementStatus, "pending">;
}

/** A checkout whose status is final. */
export interface FinalCheckout extends Checkout {
  status: Exclude<CheckoutStatus, "pending">;
}
