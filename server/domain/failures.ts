import type { components } from "../../generated/openapi.ts";

/** Why a payment failed, from the contract's list (D75). */
export type FailureCode = components["schemas"]["FailureCode"];
/**
 * The contract's list of codes is open, because later versions may add codes. This server sends only the codes that it
 * knows.
 */
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
