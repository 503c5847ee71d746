import { checkedReason, type Actor } from "./audit.ts";
import type { Decision, Handover, HandoverFigures, HandoverStore, RailPause } from "./handovers.ts";

/** After how many minutes an unknown outcome needs a person, unless the configuration says otherwise. */
export const ATTENTION_AFTER_MINUTES = 60;

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

/** How the rail contradicts a payment's status: the name of the words for it. */
export function conflictIn({ payment: { kind }, status }: Handover) {
  const wasPaid = status === "success";
  if (kind === "checkout") return wasPaid ? "notPaid" : "paidLate";
  return wasPaid ? "notPaidOut" : "paidOut";
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
