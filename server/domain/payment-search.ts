import type { Checkout } from "./checkouts.ts";
import type { Disbursement } from "./disbursements.ts";

export interface PaymentSearchQuery {
  /** The service's or a merchant's reference. */
  text: string;
  /** A recipient's or payer's number. */
  phoneNumber?: string | undefined;
  /** The largest number of payouts, and the largest number of checkouts. */
  limit: number;
}

export interface PaymentSearch {
  /**
   * Finds the payments of all merchants with a reference or a phone number, newest first. If thousands match, it may
   * miss newer payments.
   */
  searchPayments(query: PaymentSearchQuery): Promise<(Disbursement | Checkout)[]>;
}
