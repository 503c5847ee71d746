import type { Actor } from "./audit.ts";
import { ServiceError } from "./errors.ts";
import type { Decision, Handover, HandoverFigures, HandoverStore, RailPause } from "./handovers.ts";

/** After how many minutes an unknown outcome needs a person, unless the configuration says otherwise. */
export const ATTENTION_AFTER_MINUTES = 60;
const LONGEST_REASON = 500;

/**
 * Returns a person's reason, for the audit trail.
 * @throws ServiceError `invalid_value` if it is empty or too long
 */
export function checkedReason(text: string): string {
  const reason = text.replaceAll(/\s+/g, " ").trim();
  if (reason !== "" && reason.length <= LONGEST_REASON && !/\p{C}/u.test(reason)) return reason;
  throw new ServiceError("invalid_value", `Give a reason of 1 to ${LONGEST_REASON} characters.`);
}

/** Ends a payment by hand, or proposes it, if a second person must confirm the decision (D74). */
export async function decide(
  { storage, config }: { storage: Pick<HandoverStore, "decideByHand">; config: { oneOperatorDecides: boolean } },
  reference: string,
  { status, reason }: Decision,
  actor: Actor,
): ReturnType<HandoverStore["decideByHand"]> {
  const needsTwo = !config.oneOperatorDecides;
  return storage.decideByHand(reference, { status, reason: checkedReason(reason) }, actor, { needsTwo });
}

/** Describes a conflict in plain words. @param amount the payment's amount, for people */
export function describeConflict({ payment: { kind }, status }: Handover, amount: string): string {
  const wasPaid = status === "success";
  if (kind === "checkout") {
    return wasPaid
      ? `This service reported the checkout as paid. The rail now says that nobody paid ${amount}.`
      : `The payer paid ${amount} after the checkout had ended as ${status}. Return ${amount} to the payer.`;
  }
  return wasPaid
    ? `This service reported the payout as paid. The rail now says that it did not pay ${amount}.`
    : `The rail says that it paid ${amount}, after this service had reported the payout as failed.`;
}

/** A rail, as people see it. */
export interface RailState extends HandoverFigures {
  /** False for a rail that is no longer in the configuration, although payments still have it. */
  isConfigured: boolean;
  pause?: RailPause;
}

/** The rails of the configuration in its order, and other rails that have open payments or a pause. */
export async function readRailStates(
  storage: Pick<HandoverStore, "readHandoverFigures" | "readPauses">,
  configured: readonly string[],
): Promise<RailState[]> {
  const [figures, pauses] = await Promise.all([storage.readHandoverFigures(), storage.readPauses()]);
  const names = new Set([...configured, ...figures.map(({ rail }) => rail), ...pauses.map(({ rail }) => rail)]);
  return [...names].map((rail) => {
    const pause = pauses.find((each) => each.rail === rail);
    const none = { rail, waiting: 0, accepted: 0, conflicts: 0 };
    const found = figures.find((each) => each.rail === rail) ?? none;
    return { ...found, isConfigured: configured.includes(rail), ...(pause && { pause }) };
  });
}
