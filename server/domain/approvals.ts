import { areTwoPeople, type Actor, type Eyes } from "./audit.ts";
import type { Disbursement } from "./disbursements.ts";
import { failureOf } from "./failures.ts";
import type { Merchant } from "./merchants.ts";
import type { Approval, Draft } from "./records.ts";

/** A payout that nobody approves fails after this time, in milliseconds. */
export const APPROVE_WITHIN_MS = 24 * 3_600_000;

export type Decided = "decided" | "not-waiting" | "own" | "operators-only" | "suspended";

export interface ApprovalStore {
  /** Lists the payouts that wait for approval, of one merchant or of all, oldest first. */
  listWaiting(query: { merchantId?: string | undefined; limit: number }): Promise<Disbursement[]>;
  /**
   * Approves a payout, which is then paid as usual, or rejects it. A rejected payout fails with `not_approved`, and its
   * event is written in the same transaction. Changes nothing unless the payout waits and the actor may decide
   * (`mayDecide`).
   * @param rejection why the payout is rejected; absent to approve
   */
  decideApproval(merchantId: string, reference: string, actor: Actor, rejection?: string): Promise<Decided>;
}

/**
 * Returns why a person may not decide; undefined if the person may. Whoever made a payout may reject it, and so may the
 * people of a merchant that is suspended or closed.
 */
export function mayDecide(
  { level, madeBy }: Approval,
  { state }: Pick<Merchant, "state">,
  eyes: Eyes,
  approves: boolean,
): Decided | undefined {
  const isOfMerchant = eyes.startsWith("merchant ");
  if (isOfMerchant && level === "operator") return "operators-only";
  if (isOfMerchant && approves && state !== undefined) return "suspended";
  return approves && madeBy !== undefined && !areTwoPeople(madeBy, eyes) ? "own" : undefined;
}

/** Turns a draft into a draft that waits for approval. */
export function heldBack(draft: Draft<Disbursement>, { level, madeBy }: Omit<Approval, "plan">): Draft<Disbursement> {
  const { due, rail, failure, status, ...rest } = draft;
  const end = status === "pending" ? due : { afterMs: 0, status };
  const plan = { ...(end && { due: end }), ...(failure && { failure }), ...(rail !== undefined && { rail }) };
  return {
    ...rest,
    status: "pending",
    due: { afterMs: APPROVE_WITHIN_MS, status: "failed" },
    failure: failureOf("not_approved"),
    approval: { level, ...(madeBy !== undefined && { madeBy }), plan },
  };
}
