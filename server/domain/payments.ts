import type { components } from "../../generated/openapi.ts";
import { areTwoPeople, type Actor, type ActorName, type AccessChain } from "./audit.ts";
import type { Clock } from "./clock.ts";
import { ConnectionDropped, ServiceError } from "./errors.ts";
import type { Ids } from "./ids.ts";
import type { Balances } from "./ledger.ts";
import { feeFor, type FeeRule } from "./limits.ts";
import type { Merchant } from "./merchants.ts";
import { HOLD_MS, outcomeFor, planOf, REFUSED_ATTEMPTS, type ForcedOutcome } from "./outcomes.ts";
import type { Page } from "./pages.ts";
import { routed, type Rails } from "./rails.ts";
import { existing, failureOf, inserted, type Approval, type Checkout, type Disbursement } from "./records.ts";
import type { Draft, Failure, FinalStatus, Insertion, PastPayment } from "./records.ts";
import type { Payment, PaymentKind, Plan, RecordQuery } from "./records.ts";
import { sandboxTime } from "./time.ts";

type Requests = Pick<components["schemas"], "DisbursementRequest" | "CheckoutRequest">;

export type OpenCheckout = { checkout: Checkout; merchant: Merchant };
export type PayoutEnd = "success" | "failed";
export type Decided = "decided" | "not-waiting" | "own" | "operators-only" | "suspended";

export interface RecordStore {
  /**
   * Stores a disbursement and reserves amount and fee in one transaction, in which its event is written too if the record
   * is final from the start.
   */
  insertDisbursement(draft: Draft<Disbursement>): Promise<Insertion<Disbursement>>;
  insertCheckout(draft: Draft<Checkout>): Promise<Insertion<Checkout>>;
  findDisbursement(merchantId: string, reference: string): Promise<Disbursement | undefined>;
  findCheckout(merchantId: string, reference: string): Promise<Checkout | undefined>;
  /** Finds a checkout by the service's reference alone, which gives access to the public page (D19). */
  findPublicCheckout(reference: string): Promise<OpenCheckout | undefined>;
  /** Lists the newest first. @throws InvalidCursorError if this list never returned the cursor to this merchant */
  listDisbursements(query: RecordQuery<Disbursement["status"]>): Promise<Page<Disbursement>>;
  listCheckouts(query: RecordQuery<Checkout["status"]>): Promise<Page<Checkout>>;
  /**
   * Finds the payments of all merchants with a reference or a phone number, newest first: at most `limit` payouts and as
   * many checkouts. If thousands match, it may miss newer payments.
   * @param query `text`: the service's or a merchant's reference
   */
  searchPayments(query: { text: string; phoneNumber?: string; limit: number }): Promise<Payment[]>;
  /** Counts one more attempt with a reference that the sandbox refuses at first (D17, 503). Returns the new count. */
  countRefusal(merchantId: string, merchantsReference: string): Promise<number>;
  /** Lists the payouts that wait for approval, of one merchant or of all, oldest first. */
  listWaiting(query: { merchantId?: string | undefined; limit: number }): Promise<Disbursement[]>;
  /**
   * Approves a payout, which is then paid as usual, or rejects it. A rejected payout fails with `not_approved`, and its
   * event is written in the same transaction. Changes nothing unless the payout waits and the actor may decide
   * (`mayDecide`).
   * @param rejection why the payout is rejected; absent to approve
   */
  decideApproval(merchantId: string, reference: string, actor: Actor, rejection?: string): Promise<Decided>;
  /**
   * Sets the payer and replaces the due status. Resolves with false if the checkout is final or already has a payer.
   * @param failure why the payment will fail, if that is known already
   */
  payCheckout(reference: string, phoneNumber: string, due: Plan["due"], failure?: Failure): Promise<boolean>;
  /**
   * Gives a pending disbursement its final status and writes the event. Resolves with false if it was already final, or
   * waits for approval.
   * @param failure why it fails; by default what it was due to fail with, or `declined`
   */
  finishDisbursement(merchantId: string, reference: string, status: PayoutEnd, failure?: Failure): Promise<boolean>;
  /** Gives a pending checkout its final status and writes the event. Resolves with false if it was already final. */
  finishCheckout(reference: string, status: FinalStatus, failure?: Failure): Promise<boolean>;
  /** Cancels a checkout without a payer and writes the event. Resolves with false if it has a payer or is final. */
  cancelCheckout(reference: string): Promise<boolean>;
  /**
   * Stores records of the past in a sandbox, without events, and books them at their times. The statement's later entries get
   * new balances. Stores all records or none.
   * @throws ServiceError `duplicate_reference` with an existing record, `merchant_suspended`, or `invalid_value` if too many
   *   entries are later
   */
  loadPayments(merchantId: string, records: readonly PastPayment[], actor: Actor): Promise<void>;
}

/**
 * How long a checkout can be paid after its creation, in milliseconds of sandbox time (D3). Then a live checkout is
 * cancelled if its rail proves that nobody has paid it.
 */
export const CHECKOUT_LIFETIME_MS = 30 * 60_000;
/** A payout that nobody approves fails after this time, in milliseconds. */
const APPROVE_WITHIN_MS = 24 * 3_600_000;

export interface DraftContext {
  clock: Clock;
  ids: Ids;
  fees: Readonly<Record<PaymentKind, FeeRule>>;
  /** Finds the rail of a live payment. Absent in a sandbox, where the outcome is simulated (D17). */
  routeOf?: Rails["routeOf"] | undefined;
}

interface Context extends DraftContext {
  storage: RecordStore;
  settleDelayMs: number;
  balances: Balances;
  /** Aborted when the server stops, so that responses that are held back are sent immediately. */
  stopping: AbortSignal;
  /** Settles the merchant's due records. */
  settle(merchantId: string): Promise<unknown>;
  /** Tells the delivery worker that a webhook is due. */
  wake(): void;
  /** Tells the worker of hand-overs that a payment waits for its rail. */
  handOver(): void;
}

/** Where a request for a payment comes from. */
interface Origin {
  keyId?: string;
  /** Who sent the form of the dashboard. */
  madeBy?: ActorName;
  /** Why the key may not make it. */
  refusal?: ServiceError | undefined;
}

type Asked = Pick<Requests["DisbursementRequest"], "amount" | "country" | "currency"> & {
  reference?: string;
  phoneNumber?: string;
};

/** The draft of a payment, with what was asked, its fee, and its rail or why it is refused. @param now in sandbox time */
export function draftOf<T extends Asked>(
  { clock, ids, fees, routeOf }: DraftContext,
  kind: PaymentKind,
  merchant: Merchant,
  request: T,
  { refusal, ...origin }: Origin = {},
  now = sandboxTime(merchant, clock.now()),
) {
  const reference = ids.reference(kind === "checkout" ? "CHK" : "DSB", now);
  const { reference: merchantsReference = reference, phoneNumber: _, ...given } = request;
  return {
    ...given,
    id: ids.record(now),
    merchantId: merchant.id,
    reference,
    merchantsReference,
    fee: feeFor(request.amount, merchant.terms?.[`${kind}Fee`] ?? fees[kind]),
    status: "pending" as const,
    ...origin,
    ...(routeOf && routed(routeOf, { kind, ...request })),
    ...(refusal && { refusal }),
  };
}

/** The error that D17 forces, if any. @param reference under which attempts are counted, unique among the merchant's */
async function refusalFor({ storage }: Context, { refuse }: ForcedOutcome, { id }: Merchant, reference: string) {
  if (refuse === "always") return new ServiceError("internal_error", "This phone number makes the sandbox fail.");
  if (refuse === undefined || (await storage.countRefusal(id, reference)) > REFUSED_ATTEMPTS) return undefined;
  const message = "This phone number makes the sandbox refuse at first. Send the same request again.";
  return new ServiceError("unavailable", message, { retryAfterSeconds: 1 });
}

/** Delays or loses the response to what is recorded, as D17 forces. @throws ConnectionDropped */
async function respond({ clock, stopping }: Context, { response }: ForcedOutcome): Promise<void> {
  if (response === "dropped") throw new ConnectionDropped();
  if (response === "held") await clock.sleep(HOLD_MS, stopping);
}

/** True if the checkout is pending and no number was submitted yet. */
export const isPayable = ({ status, customer }: Checkout): boolean => status === "pending" && customer === undefined;

function notFinished({ status }: Disbursement): ServiceError {
  return status === "pending"
    ? new ServiceError("approval_pending", "The disbursement waits for a person's approval. Approve it first.")
    : new ServiceError("disbursement_final", `The disbursement has already ended with status ${status}.`);
}

export type Disbursements = ReturnType<typeof createDisbursements>;
export type Checkouts = ReturnType<typeof createCheckouts>;

export function createDisbursements(context: Context) {
  const { storage, routeOf, balances, settleDelayMs, wake } = context;
  return {
    /**
     * Records a disbursement (§4.1). Resolves with the record once it is committed.
     * @throws ServiceError `duplicate_reference` with the existing disbursement (D5); otherwise the origin's refusal,
     *   `unauthorized` if the key was revoked meanwhile, `not_served` if no rail carries it, `merchant_suspended`,
     *   `limit_exceeded`, `insufficient_funds` if the balance must cover the payout and does not cover it, or the error
     *   that D17 forces
     * @throws ConnectionDropped when D17 forces that the caller gets no response
     */
    async create(
      merchant: Merchant,
      request: Requests["DisbursementRequest"],
      origin: Origin = {},
    ): Promise<Disbursement> {
      const { phoneNumber } = request;
      const draft: Draft<Disbursement> = {
        ...draftOf(context, "disbursement", merchant, request, origin),
        customer: { phoneNumber },
        mustBeCovered: balances === "enforced",
      };
      const outcome = routeOf ? undefined : outcomeFor(phoneNumber);
      if (outcome) {
        const { due, failure } = planOf(outcome, settleDelayMs);
        Object.assign(draft, { failure }, outcome.at === "once" ? { status: outcome.status } : { due });
        const refusal = await refusalFor(context, outcome, merchant, request.reference);
        draft.refusal ??= refusal;
      }
      const record = inserted("disbursement", await storage.insertDisbursement(draft));
      if (!outcome) context.handOver();
      else if (record.status !== "pending") wake();
      if (outcome) await respond(context, outcome);
      return record;
    },
    /**
     * Gives a pending disbursement of a sandbox this final status (D112).
     * @param failure why it fails; by default what it was due to fail with, or `declined`
     * @throws ServiceError `not_found`, `invalid_value` for a failure of a success, `disbursement_final` if it has already
     *   ended, or `approval_pending` if it waits for a person's approval
     */
    async finish({ id }: Merchant, reference: string, status: PayoutEnd, failure?: Failure["code"]) {
      const find = async () => existing("disbursement", await storage.findDisbursement(id, reference));
      await find();
      if (failure !== undefined && status !== "failed") {
        const message = "failure is only for the status failed.";
        throw new ServiceError("invalid_value", message, { fields: [{ path: "failure", code: "enum", message }] });
      }
      const isFinished = await storage.finishDisbursement(id, reference, status, failure && failureOf(failure));
      const disbursement = await find();
      if (!isFinished) throw notFinished(disbursement);
      wake();
      return disbursement;
    },
  };
}

export function createCheckouts(context: Context) {
  const { storage, clock, wake } = context;
  return {
    /** Creates a checkout (§4.3), as `Disbursements` create a payout. */
    async create(merchant: Merchant, request: Requests["CheckoutRequest"], origin: Origin = {}): Promise<Checkout> {
      const insertion = await storage.insertCheckout({
        ...draftOf(context, "checkout", merchant, request, origin),
        locale: request.locale ?? "en",
        // A rail ends its checkouts itself: a payer may have confirmed a payment just before the time is over.
        ...(!context.routeOf && { due: { afterMs: CHECKOUT_LIFETIME_MS, status: "cancelled" } as const }),
      });
      const record = inserted("checkout", insertion);
      if (context.routeOf) context.handOver();
      return record;
    },
    /** Finds a checkout by its public reference (D19). If it is due, the merchant's due records are settled first. */
    async open(reference: string): Promise<OpenCheckout | undefined> {
      const opened = await storage.findPublicCheckout(reference);
      if ((opened?.checkout.due?.at ?? Infinity) > clock.now()) return opened;
      await context.settle(opened!.merchant.id);
      wake();
      return storage.findPublicCheckout(reference);
    },
    /**
     * Records the payer's number for a payable checkout. Of several concurrent payers one succeeds; the calls of the
     * others change nothing. Resolves when the payment is committed, or later if D17 delays the response. If D17 forces
     * an immediate outcome, the checkout is due immediately, and `open` settles it.
     * @throws ServiceError the error that D17 forces; nothing is recorded
     * @throws ConnectionDropped when D17 forces that the payer gets no response
     */
    async pay({ checkout, merchant }: OpenCheckout, phoneNumber: string): Promise<void> {
      const outcome = outcomeFor(phoneNumber);
      const refusal = await refusalFor(context, outcome, merchant, checkout.reference);
      if (refusal) throw refusal;
      // If nothing is due, the payment stays pending (D17). It no longer expires, because only unpaid checkouts do (D3).
      const { due, failure } = planOf(outcome, context.settleDelayMs);
      if (!(await storage.payCheckout(checkout.reference, phoneNumber, due, failure))) return;
      await respond(context, outcome);
    },
    /** Cancels a checkout for the payer, unless a number was submitted: the payment has then begun. */
    async cancel({ checkout }: OpenCheckout): Promise<void> {
      if (await storage.cancelCheckout(checkout.reference)) wake();
    },
    /**
     * Gives a pending checkout this final status, as if a payer had ended it (D18).
     * @throws ServiceError `not_found`, or `checkout_final` if the checkout has already ended
     */
    async finish(merchant: Merchant, reference: string, status: FinalStatus): Promise<Checkout> {
      const find = async () => existing("checkout", await storage.findCheckout(merchant.id, reference));
      await find();
      const failure = status === "failed" ? failureOf("declined") : undefined;
      const isFinished = await storage.finishCheckout(reference, status, failure);
      const checkout = await find();
      if (!isFinished) {
        throw new ServiceError("checkout_final", `The checkout has already ended with status ${checkout.status}.`);
      }
      wake();
      return checkout;
    },
  };
}

/**
 * Returns why a person may not decide. Whoever made a payout may reject it, and so may the people of a merchant that is
 * suspended or closed.
 */
export function mayDecide(
  { level, madeBy }: Approval,
  { state }: Pick<Merchant, "state">,
  chain: AccessChain,
  approves: boolean,
): Decided | undefined {
  const isOfMerchant = chain.startsWith("merchant ");
  if (isOfMerchant && level === "operator") return "operators-only";
  if (isOfMerchant && approves && state !== undefined) return "suspended";
  return approves && madeBy !== undefined && !areTwoPeople(madeBy, chain) ? "own" : undefined;
}

/** Turns a draft into a draft that waits for approval. */
export function heldBack(
  { due, rail, failure, status, ...rest }: Draft<Disbursement>,
  level: Approval["level"],
  madeBy?: AccessChain,
): Draft<Disbursement> {
  const plan = { due: status === "pending" ? due : { afterMs: 0, status }, failure, rail };
  return {
    ...rest,
    status: "pending",
    due: { afterMs: APPROVE_WITHIN_MS, status: "failed" },
    failure: failureOf("not_approved"),
    approval: { level, madeBy, plan },
  };
}
