import type { components } from "../../generated/openapi.ts";
import { areTwoPeople, type ActorName, type Actor, type Eyes } from "./audit.ts";
import type { Clock } from "./clock.ts";
import { ConnectionDropped, type ServiceError } from "./errors.ts";
import {
  failureOf,
  inserted,
  type Approval,
  type Draft,
  type Given,
  type Customer,
  type PaymentRecord,
  type Insertion,
  type RecordQuery,
} from "./records.ts";
import { feeFor, type FeeRule } from "./limits.ts";
import type { Ids } from "./ids.ts";
import type { Balances } from "./ledger.ts";
import type { Merchant } from "./merchants.ts";
import { forcedRefusal, HOLD_MS, outcomeFor, type ForcedOutcome } from "./outcomes.ts";
import type { Page } from "./pages.ts";
import { routed, type Rails } from "./rails.ts";
import { sandboxTime } from "./time.ts";

export interface Disbursement extends PaymentRecord, Given<"DisbursementRequest"> {
  status: "pending" | "success" | "failed";
  customer: Customer;
  /** Present while the payout waits for approval. */
  approval?: Approval;
}

export interface DisbursementStore {
  /**
   * Stores a disbursement and reserves amount and fee in one transaction, in which its event is written too if the record
   * is final from the start.
   */
  insertDisbursement(draft: Draft<Disbursement>): Promise<Insertion<Disbursement>>;
  findDisbursement(merchantId: string, reference: string): Promise<Disbursement | undefined>;
  /** Lists the newest first. @throws InvalidCursorError if this list never returned the cursor to this merchant */
  listDisbursements(query: RecordQuery<Disbursement["status"]>): Promise<Page<Disbursement>>;
  /** Counts one more attempt with a reference that the sandbox refuses at first (D17, 503). Returns the new count. */
  countRefusal(merchantId: string, merchantsReference: string): Promise<number>;
}

type Request = components["schemas"]["DisbursementRequest"];

/** What the creation of payments needs. */
export interface PaymentContext {
  clock: Clock;
  ids: Ids;
  /** Finds the rail of a live payment. Absent in a sandbox, where the outcome is simulated (D17). */
  routeOf?: Rails["routeOf"] | undefined;
  settleDelayMs: number;
  fee: FeeRule;
  /** Aborted when the server stops, so that responses that are held back are sent immediately. */
  stopping: AbortSignal;
  /** Tells the delivery worker that a webhook is due. */
  wake(): void;
  /** Tells the worker of hand-overs that a payment waits for its rail. */
  handOver(): void;
}

/** Where a request for a payment comes from. */
export interface Origin {
  keyId?: string;
  /** Who sent the form of the dashboard. */
  madeBy?: ActorName;
  /** Why the key may not make it. */
  refusal?: ServiceError | undefined;
}

type Asked = Pick<Request, "amount" | "country" | "currency"> & { reference?: string; phoneNumber?: string };

/** The draft of a payment, with what was asked, its fee, and its rail or why it is refused. */
export function draftOf<T extends Asked>(
  { clock, ids, fee, routeOf }: PaymentContext,
  kind: "disbursement" | "checkout",
  merchant: Merchant,
  request: T,
  { refusal, ...origin }: Origin,
) {
  const now = sandboxTime(merchant, clock.now());
  const reference = ids.reference(kind === "checkout" ? "CHK" : "DSB", now);
  const { reference: merchantsReference = reference, phoneNumber: _, ...given } = request;
  return {
    ...given,
    id: ids.record(now),
    merchantId: merchant.id,
    reference,
    merchantsReference,
    fee: feeFor(request.amount, merchant.terms?.[`${kind}Fee`] ?? fee),
    status: "pending" as const,
    ...origin,
    ...(routeOf && routed(routeOf, { kind, ...request })),
    ...(refusal && { refusal }),
  };
}

interface Context extends PaymentContext {
  storage: DisbursementStore;
  balances: Balances;
}

export type Disbursements = ReturnType<typeof createDisbursements>;

export function createDisbursements(context: Context) {
  const { storage, clock } = context;
  return {
    /**
     * Records a disbursement (§4.1). Resolves with the record once it is committed.
     * @throws ServiceError `duplicate_reference` with the existing disbursement (D5); otherwise the origin's refusal,
     *   `unauthorized` if the key was revoked meanwhile, `not_served` if no rail carries it, `merchant_suspended`,
     *   `limit_exceeded`, `insufficient_funds` if the balance must cover the payout and does not cover it, or the error
     *   that D17 forces
     * @throws ConnectionDropped when D17 forces that the caller gets no response
     */
    async create(merchant: Merchant, request: Request, origin: Origin = {}): Promise<Disbursement> {
      const { phoneNumber } = request;
      const draft: Draft<Disbursement> = {
        ...draftOf(context, "disbursement", merchant, request, origin),
        customer: { phoneNumber },
        mustBeCovered: context.balances === "enforced",
      };
      const outcome = context.routeOf ? undefined : outcomeFor(phoneNumber);
      if (outcome) {
        simulate(draft, outcome, context);
        const refusal = await forcedRefusal(storage, merchant.id, request.reference, outcome.refuse);
        draft.refusal ??= refusal;
      }
      const record = inserted("disbursement", await storage.insertDisbursement(draft));
      if (!outcome) context.handOver();
      else if (record.status !== "pending") context.wake();

      if (outcome?.response === "dropped") throw new ConnectionDropped();
      if (outcome?.response === "held") await clock.sleep(HOLD_MS, context.stopping);
      return record;
    },
  };
}

/** Adds to a draft how and when the sandbox ends the payment (D17). */
function simulate(
  draft: Draft<Disbursement>,
  { status, failure, at }: ForcedOutcome,
  { settleDelayMs }: Context,
): void {
  if (failure !== undefined) draft.failure = failureOf(failure);
  if (status === undefined || status === "cancelled") return;
  if (at === "once") draft.status = status;
  else draft.due = { afterMs: settleDelayMs, status };
}

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
 * Returns why a person may not decide. Whoever made a payout may reject it, and so may the people of a merchant that is
 * suspended or closed.
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
