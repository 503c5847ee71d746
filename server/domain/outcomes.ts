import type { FinalStatus } from "./types.ts";

/** What becomes of a disbursement or of a payment on the checkout page. */
export interface ForcedOutcome {
  /** Refuses every attempt, or only the first `REFUSED_ATTEMPTS` with the same reference. Nothing is recorded then. */
  refuse?: "always" | "at-first";
  /** The final status; absent for records that stay pending for ever. */
  status?: FinalStatus;
  /** Whether the status is final immediately or after the settle delay. */
  at: "once" | "settlement";
  /** What happens to the response once the record is committed. */
  response: "sent" | "dropped" | "held";
}

const usual: ForcedOutcome = { status: "success", at: "settlement", response: "sent" };

/** Outcomes that the last three digits of a phone number force in the sandbox (D17). */
export const FORCED_OUTCOMES: Readonly<Record<string, ForcedOutcome>> = {
  "001": { ...usual, at: "once" },
  "002": { ...usual, status: "failed", at: "once" },
  "089": { ...usual, status: "failed" },
  "129": { at: "settlement", response: "sent" },
  "500": { ...usual, refuse: "always" },
  "503": { ...usual, refuse: "at-first" },
  "504": { ...usual, response: "dropped" },
  "408": { ...usual, response: "held" },
};

/** How many attempts with the same reference are refused for a phone number ending in `503` (D17). */
export const REFUSED_ATTEMPTS = 2;
/** Real milliseconds for which a response is held back (D17, 408). */
export const HOLD_MS = 30_000;

/** Outside the sandbox every payout settles as success. */
export function outcomeFor(phoneNumber: string, sandbox: boolean): ForcedOutcome {
  return (sandbox && FORCED_OUTCOMES[phoneNumber.slice(-3)]) || usual;
}
