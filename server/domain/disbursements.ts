import type { components } from "../../generated/openapi.ts";
import type { ActorName } from "./audit.ts";
import type { Clock } from "./clock.ts";
import { ConnectionDropped, ServiceError } from "./errors.ts";
import { failureOf } from "./failures.ts";
import { feeFor, type FeeRule } from "./terms.ts";
import type { Ids } from "./ids.ts";
import type { Balances } from "./ledger.ts";
import type { Merchant } from "./merchants.ts";
import { forcedRefusal, HOLD_MS, outcomeFor, type ForcedOutcome } from "./outcomes.ts";
import type { Page } from "./pages.ts";
import { routed, type Rails } from "./rails.ts";
import {
  duplicateReference,
  recordQuery,
  type Approval,
  type RecordFilter,
  type Draft,
  type Given,
  type Customer,
  type PaymentRecord,
  type Insertion,
  type RecordQuery,
} from "./records.ts";
import { sandboxTime } from "./time.ts";

export interface Disbursement extends PaymentRecord, Given<"DisbursementRequest"> {
  status: "pending" | "success" | "failed";
  customer: Customer;
  /** Present while the payout waits for approval. */
  approval?: Approval;
}

export interface DisbursementStore {
  /**
   * Stores a disbursement. The draft's customer id is used only if the merchant has no customer with this phone number
   * yet. Reserves amount and fee in the same transaction. If the record is final from the start, its event is written in the same transaction.
   */
  insertDisbursement(draft: Draft<Disbursement>): Promise<Insertion<Disbursement>>;
  findDisbursement(merchantId: string, reference: string): Promise<Disbursement | undefined>;
  findDisbursementByMerchantsReference(merchantId: string, ref: string): Promise<Disbursement | undefined>;
  /** Lists the newest first. @throws InvalidCursorError if this list never returned the cursor to this merchant */
  listDisbursements(query: RecordQuery<Disbursement["status"]>): Promise<Page<Disbursement>>;
  /** Counts one more attempt with a reference that the sandbox refuses at first (D17, 503). Returns the new count. */
  countRefusal(merchantId: string, merchantsReference: string): Promise<number>;
}

type Request = components["schemas"]["DisbursementRequest"];

export interface DisbursementContext {
  storage: DisbursementStore;
  clock: Clock;
  ids: Ids;
  /** Finds the rail of a live payment. Absent in a sandbox, where the outcome is simulated (D17). */
  routeOf?: Rails["routeOf"] | undefined;
  settleDelayMs: number;
  fee: FeeRule;
  balances: Balances;
  /** Aborted when the server stops, so that responses that are held back are sent immediately. */
  stopping: AbortSignal;
  /** Tells the delivery worker that a webhook is due. */
  wake(): void;
  /** Tells the worker of hand-overs that a payment waits for its rail. */
  handOver(): void;
}

/** Where a request for a payout comes from. */
interface Origin {
  keyId?: string;
  traceparent?: string | undefined;
  /** Who sent the form of the dashboard. */
  madeBy?: ActorName;
  /** Why the key may not make it. */
  refusal?: ServiceError | undefined;
}

export interface Disbursements {
  /**
   * Records a disbursement (§4.1). Resolves with the record once it is committed.
   * @param origin the key of the request, and its trace context, which the webhook continues
   * @throws ServiceError `duplicate_reference` with the existing disbursement (D5); otherwise the origin's refusal,
   *   `unauthorized` if the key was revoked meanwhile, `not_served` if no rail carries it, `merchant_suspended`,
   *   `limit_exceeded`, `insufficient_funds` if the balance must cover the payout and does not cover it, or the error
   *   that D17 forces
   * @throws ConnectionDropped when D17 forces that the caller gets no response
   */
  create(merchant: Merchant, request: Request, origin?: Origin): Promise<Disbursement>;
  /**
   * Finds a disbursement by the service's reference.
   * @throws ServiceError `not_found`, also for another merchant's reference (§4.2)
   */
  verify(merchant: Merchant, reference: string): Promise<Disbursement>;
  /** Lists the merchant's disbursements, newest first (D42). @throws InvalidCursorError */
  list(merchant: Merchant, filter: RecordFilter<Disbursement["status"]>): Promise<Page<Disbursement>>;
}

export function createDisbursements(context: DisbursementContext): Disbursements {
  const { storage, clock, routeOf } = context;

  async function insert(made: Draft<Disbursement>): Promise<Disbursement> {
    const { inserted, record, refusal } = await storage.insertDisbursement(made);
    if (refusal) throw refusal;
    if (!inserted) throw duplicateReference("disbursement", record);
    return record;
  }

  return {
    async create(merchant, request, { keyId, madeBy, traceparent, refusal } = {}) {
      const made = draft(context, merchant, request);
      if (traceparent !== undefined) made.traceparent = traceparent;
      if (keyId !== undefined) made.keyId = keyId;
      if (madeBy !== undefined) made.madeBy = madeBy;
      if (context.balances === "enforced") made.mustBeCovered = true;
      if (refusal) made.refusal = refusal;
      if (routeOf) {
        const record = await insert({ ...routed(routeOf, { kind: "disbursement", ...request }), ...made });
        context.handOver();
        return record;
      }
      const outcome = outcomeFor(request.phoneNumber);
      const forced = await forcedRefusal(storage, merchant.id, request.reference, outcome.refuse);
      if (forced) made.refusal ??= forced;

      const record = await insert(simulated(made, outcome, context));
      if (record.status !== "pending") context.wake();

      if (outcome.response === "dropped") throw new ConnectionDropped();
      if (outcome.response === "held") await clock.sleep(HOLD_MS, context.stopping);
      return record;
    },
    async verify(merchant, reference) {
      const record = await storage.findDisbursement(merchant.id, reference);
      if (!record) throw new ServiceError("not_found", "You have no disbursement with this reference.");
      return record;
    },
    list: ({ id }, filter) => storage.listDisbursements(recordQuery(id, filter)),
  };
}

function draft({ clock, ids, fee }: DisbursementContext, merchant: Merchant, request: Request): Draft<Disbursement> {
  const now = sandboxTime(merchant, clock.now());
  const { reference: merchantsReference, phoneNumber, ...given } = request;
  return {
    ...given,
    id: ids.record(now),
    merchantId: merchant.id,
    reference: ids.reference("DSB", now),
    merchantsReference,
    customer: { phoneNumber },
    fee: feeFor(given.amount, merchant.terms?.disbursementFee ?? fee),
    status: "pending",
  };
}

/** Adds to a draft how and when the sandbox ends the payment (D17). */
function simulated(
  record: Draft<Disbursement>,
  { status, failure, at }: ForcedOutcome,
  { settleDelayMs }: DisbursementContext,
): Draft<Disbursement> {
  if (failure !== undefined) record.failure = failureOf(failure);
  if (status === undefined || status === "cancelled") return record;
  if (at === "once") record.status = status;
  else record.due = { afterMs: settleDelayMs, status };
  return record;
}
