import type { FinalStatus } from "./storage.ts";

/** What becomes of a payout or a payment. */
export interface Outcome {
  /** Refused before anything is recorded: always, or for the first tries of a reference. */
  refuse?: "always" | "at-first";
  /** The final status; absent for what stays pending for ever. */
  status?: FinalStatus;
  /** Whether the status is final at once, or after the settle delay. */
  at: "once" | "settlement";
  /** What happens to the answer once the record is committed. */
  answer: "sent" | "dropped" | "held";
}

const usual: Outcome = { status: "success", at: "settlement", answer: "sent" };

/** Outcomes that the last three digits of a phone number force in the sandbox (D17). */
export const FORCED_OUTCOMES: Readonly<Record<string, Outcome>> = {
  "001": { ...usual, at: "once" },
  "002": { ...usual, status: "failed", at: "once" },
  "089": { ...usual, status: "failed" },
  "129": { at: "settlement", answer: "sent" },
  "500": { ...usual, refuse: "always" },
  "503": { ...usual, refuse: "at-first" },
  "504": { ...usual, answer: "dropped" },
  "408": { ...usual, answer: "held" },
};

/** How many tries of a reference ending `503` are refused (D17). */
export const REFUSED_TRIES = 2;
/** Real milliseconds for which an answer is held back (D17, 408). */
export const HOLD_MS = 30_000;

/** Outside the sandbox every payout settles as success. */
export function outcomeFor(phoneNumber: string, sandbox: boolean): Outcome {
  return (sandbox && FORCED_OUTCOMES[phoneNumber.slice(-3)]) || usual;
}
