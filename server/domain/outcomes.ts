import document from "../../generated/openapi.json" with { type: "json" };
import type { components } from "../../generated/openapi.ts";
import type { Written } from "./limits.ts";
import { failureOf, type FailureCode, type FinalStatus, type Plan } from "./records.ts";

/** The outcome of a disbursement, or of a payment on the checkout page, with a certain phone number. */
export interface ForcedOutcome {
  /**
   * Set if the sandbox refuses attempts and records nothing. `always` refuses every attempt, `at-first` only the first
   * `REFUSED_ATTEMPTS` with the same reference.
   */
  refuse?: "always" | "at-first";
  /** The final status. Absent for records that stay pending indefinitely. */
  status?: FinalStatus;
  /** Why the payment fails. Set if the status is `failed`. */
  failure?: FailureCode;
  /** When the status becomes final: immediately (`once`) or after the settle delay (`settlement`). */
  at: "once" | "settlement";
  /** What happens to the response once the record is committed. */
  response: "sent" | "dropped" | "held";
}

const usual: ForcedOutcome = { status: "success", at: "settlement", response: "sent" };
const fails = (failure: FailureCode): ForcedOutcome => ({ ...usual, status: "failed", failure });

/** Outcomes that the last three digits of a phone number force in the sandbox (D17). */
export const FORCED_OUTCOMES: Readonly<Record<string, ForcedOutcome>> = {
  "001": { ...usual, at: "once" },
  "002": { ...fails("rejected"), at: "once" },
  "089": fails("declined"),
  "129": { at: "settlement", response: "sent" },
  "500": { ...usual, refuse: "always" },
  "503": { ...usual, refuse: "at-first" },
  "504": { ...usual, response: "dropped" },
  "408": { ...usual, response: "held" },
  "601": fails("wallet_not_found"),
  "602": fails("wallet_blocked"),
  "603": fails("wallet_limit_reached"),
  "604": fails("amount_not_allowed"),
  "605": fails("customer_declined"),
  "606": fails("payer_insufficient_funds"),
  "607": fails("rejected"),
  "608": fails("not_approved"),
  "609": fails("other"),
};

/** How many attempts with the same reference are refused for a phone number ending in `503` (D17). */
export const REFUSED_ATTEMPTS = 2;
/** Real milliseconds by which a response is delayed (D17, 408). */
export const HOLD_MS = 30_000;

/** The outcome for a phone number in the sandbox. In a live service, the rail decides how a payment ends (D73). */
export const outcomeFor = (phoneNumber: string): ForcedOutcome => FORCED_OUTCOMES[phoneNumber.slice(-3)] ?? usual;

/** Returns how and when the sandbox ends a payment. */
export const planOf = ({ status, failure, at }: ForcedOutcome, settleDelayMs: number): Plan => ({
  due: status && { afterMs: at === "once" ? 0 : settleDelayMs, status },
  failure: failure && failureOf(failure),
});

/** What the chaos switch of a merchant's sandbox does (D17). */
export type Chaos = components["schemas"]["Chaos"];

/** Its settings as people write them, with the contract's largest values. */
export const CHAOS = Object.fromEntries(
  Object.entries(document.components.schemas.Chaos.properties).map(([name, { maximum }]): [string, Written<number>] => {
    const read = (text: string) => (/^\d{1,5}$/.test(text) && Number(text) <= maximum ? Number(text) : undefined);
    return [name, { example: "0", read, write: String }];
  }),
) as Readonly<Record<keyof Chaos, Written<number>>>;
export const NO_CHAOS = Object.fromEntries(Object.keys(CHAOS).map((name) => [name, 0])) as unknown as Chaos;

/** Returns what is stored of the settings of a chaos switch: nothing if they disturb nothing. */
export const chaosOf = (chaos: Chaos): Chaos | undefined =>
  Object.values(chaos).some((value) => value > 0) ? chaos : undefined;

/** The audit trail's details of a change of the switch. */
export function chaosDetails(chaos: Chaos = NO_CHAOS): Record<string, string> {
  const set = Object.entries(chaos).filter(([, value]) => value > 0);
  return set.length > 0 ? Object.fromEntries(set.map(([name, value]) => [name, String(value)])) : { chaos: "off" };
}

/**
 * Decides what happens to the work of a merchant whose chaos switch is on.
 * @param chance returns a random number from 0 (inclusive) to 1 (exclusive)
 */
export function createChaosSwitch(chance: () => number, sandbox: boolean) {
  const lostNext = new Set<string>();
  const strikes = ({ chaos }: Chaotic, share: Exclude<keyof Chaos, "latencyMs">): boolean =>
    sandbox && chaos !== undefined && chance() * 100 < chaos[share];
  return {
    latencyMs: ({ chaos }: Chaotic): number => (sandbox ? (chaos?.latencyMs ?? 0) : 0),
    /** True for the share of calls that the merchant has set, in per cent. */
    strikes,
    /** Loses the next 200 of an operation under `/v1` for a merchant, once, for tests in this process. */
    loseNext: (merchantId: string, operationId: string): void => void lostNext.add(`${merchantId} ${operationId}`),
    /** True if the response, whose record is committed, is lost. */
    losesResponse: (merchant: Chaotic & { id: string }, operationId: string): boolean =>
      lostNext.delete(`${merchant.id} ${operationId}`) || strikes(merchant, "lostResponsesPercent"),
  };
}
type Chaotic = { chaos?: Chaos };
export type ChaosSwitch = ReturnType<typeof createChaosSwitch>;
