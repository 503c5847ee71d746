import type { components } from "../../generated/openapi.ts";
import type { AccessChain } from "./audit.ts";
import { ServiceError } from "./errors.ts";

/**
 * The common parts of disbursements and checkouts. In all stored data, amounts are whole numbers of the lowest
 * denomination (10000 is 100.00), and times are milliseconds since 1970. Times named `…At` are in the merchant's
 * sandbox time (D18) unless their comment says "real time".
 */

export type PaymentKind = "disbursement" | "checkout";
export type FinalStatus = "success" | "failed" | "cancelled";

/** What will become of a pending payment. */
export interface Plan {
  /** The final status that it will get, and after which time, counted from its recording. */
  due?: { afterMs: number; status: FinalStatus } | undefined;
  /** Why it will fail, if that is known already. */
  failure?: Failure | undefined;
  /** The rail that carries it. Its hand-over is written in the same transaction. Absent in a sandbox. */
  rail?: string | undefined;
}

export interface Customer {
  id: string;
  phoneNumber: string;
}

type Requests = Pick<components["schemas"], "DisbursementRequest" | "CheckoutRequest">;

/** What a payment keeps of its request as it was sent. The storage keeps what no rule needs in one column of JSON. */
export type Given<Name extends keyof Requests> = Omit<Requests[Name], "reference" | "phoneNumber">;

export interface PaymentRecord {
  id: string;
  merchantId: string;
  /** The service's reference. */
  reference: string;
  merchantsReference: string;
  amount: number;
  fee: number;
  currency: string;
  createdAt: number;
  updatedAt: number;
  /**
   * The final status that it will get, and when in real time. Absent if the status is final, and for records that stay
   * pending indefinitely.
   */
  due?: { at: number; status: FinalStatus };
  /** Why the payment fails, or will fail (D75). Merchants see it only once the status is `failed`. */
  failure?: Failure;
}

export interface Disbursement extends PaymentRecord, Given<"DisbursementRequest"> {
  status: "pending" | "success" | "failed";
  customer: Customer;
  /** Present while the payout waits for approval. */
  approval?: Approval;
}

export interface Checkout extends PaymentRecord, Omit<Given<"CheckoutRequest">, "locale"> {
  status: "pending" | "success" | "failed" | "cancelled";
  locale: "en" | "fr";
  /** The payer; absent until a phone number was submitted. */
  customer?: Customer;
}

export type Payment = Disbursement | Checkout;

export const kindOf = (record: object): PaymentKind => ("locale" in record ? "checkout" : "disbursement");

/** The approval for which a payout waits before it is handed over (D93). */
export interface Approval {
  /** Who may decide: with `operator` only operators, because a limit of the merchant asks for the approval. */
  level: "merchant" | "operator";
  /**
   * The person who made the payout, and who therefore cannot approve it: the creator of its key, or the sender of its
   * form. Absent if the person is not known.
   */
  madeBy?: AccessChain;
  /** What happens to the payout once it is approved. */
  plan: Plan;
}

/**
 * A record before it is stored. The storage adds the times, which depend on the merchant's clock at that moment, and the
 * customer's id.
 */
export type Draft<T extends PaymentRecord> = Omit<T, "createdAt" | "updatedAt" | "customer" | keyof Plan> &
  Plan & {
    /** True to store a payout only if the merchant's available balance covers amount and fee. */
    mustBeCovered?: boolean;
    /**
     * The API key of the request. It must not be revoked, and a payout must keep its limits. Absent for a payment from the
     * dashboard.
     */
    keyId?: string;
    /** Why the payment is refused, unless the merchant has used its reference: then it is a duplicate (D1). */
    refusal?: ServiceError;
    /** Who made a payment from the dashboard. */
    madeBy?: AccessChain;
  } & (T extends { customer: Customer } ? { customer: Pick<Customer, "phoneNumber"> } : unknown);

/** A record of the past, before the storage adds the customer's id. */
export type PastPayment = (Omit<Disbursement, "customer"> | Omit<Checkout, "customer">) & { phoneNumber?: string };

/**
 * The result of an insert. `inserted` is false if the merchant's reference was already in use (D4). In this case
 * `record` is the existing record with the reference.
 */
export interface Insertion<T> {
  inserted: boolean;
  record: T;
  /** Why nothing was stored, if the draft, its key, the merchant's state, a limit or the balance refuses the record. */
  refusal?: ServiceError;
}

/** Which records to list, newest first. */
export interface RecordQuery<Status extends string = string> {
  merchantId: string;
  merchantsReference?: string;
  /** The recipient's or payer's number. Ignored if `merchantsReference` is set. */
  phoneNumber?: string;
  status?: Status;
  /** Created at or after this time. */
  createdAfter?: number;
  createdBefore?: number;
  limit: number;
  cursor?: string;
}

/** @throws ServiceError the refusal, or `duplicate_reference` with the existing record (D4, D5) */
export function inserted<T extends PaymentRecord>(
  kind: PaymentKind,
  { inserted: isNew, record, refusal }: Insertion<T>,
): T {
  if (refusal) throw refusal;
  if (isNew) return record;
  throw duplicate(kind, record);
}

/** The error of a reference that a record has. */
export function duplicate(
  kind: PaymentKind,
  { merchantsReference, reference }: Pick<PaymentRecord, "merchantsReference" | "reference">,
): ServiceError {
  const message = `A ${kind} with reference ${merchantsReference} already exists; Location names it.`;
  return new ServiceError("duplicate_reference", message, { existing: { kind, reference } });
}

/** @throws ServiceError `not_found`, also for another merchant's reference (§4.2, D6) */
export function existing<T>(kind: PaymentKind, record: T | undefined): T {
  if (record === undefined) throw new ServiceError("not_found", `You have no ${kind} with this reference.`);
  return record;
}

/** Why a payment failed, from the contract's list (D75). */
export type FailureCode = components["schemas"]["FailureCode"];
/** The contract's list of codes is open, because later versions may add codes. This server sends only these. */
export type Failure = components["schemas"]["Failure"] & { code: FailureCode };

const MESSAGES: Readonly<Record<FailureCode, string>> = {
  wallet_not_found: "The customer's phone number has no wallet.",
  wallet_blocked: "The customer's wallet may not take part in this payment.",
  wallet_limit_reached: "The payment would exceed a limit of the customer's wallet.",
  amount_not_allowed: "The provider does not make single payments of this amount.",
  customer_declined: "The customer declined the payment, or did not confirm it in time.",
  payer_insufficient_funds: "The account that pays does not hold enough money.",
  declined: "The provider declined the payment.",
  rejected: "The provider rejected the request for the payment.",
  not_approved: "The payment was not approved.",
  other: "The payment failed for another reason.",
};

export const FAILURE_CODES = Object.keys(MESSAGES) as FailureCode[];

/** The longest part of a provider's message that is stored, in UTF-16 units. */
const LONGEST = 500;

/** @param message what a provider says for people; without it, the standard message of the code */
export function failureOf(code: FailureCode, message?: string): Failure {
  return { code, message: message?.trim().slice(0, LONGEST) || MESSAGES[code] };
}
