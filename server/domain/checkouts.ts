import type { components } from "../../generated/openapi.ts";
import { draftOf, type DisbursementStore, type Origin, type PaymentContext } from "./disbursements.ts";
import { ConnectionDropped, ServiceError } from "./errors.ts";
import {
  failureOf,
  inserted,
  existing,
  type Failure,
  type Draft,
  type Given,
  type FinalStatus,
  type DueAfter,
  type Customer,
  type PaymentRecord,
  type Insertion,
  type RecordQuery,
} from "./records.ts";
import type { Merchant } from "./merchants.ts";
import { forcedRefusal, HOLD_MS, outcomeFor } from "./outcomes.ts";
import type { Page } from "./pages.ts";

export interface Checkout extends PaymentRecord, Omit<Given<"CheckoutRequest">, "locale"> {
  status: "pending" | "success" | "failed" | "cancelled";
  locale: "en" | "fr";
  /** The payer; absent until a phone number was submitted. */
  customer?: Customer;
}

export interface CheckoutStore {
  insertCheckout(draft: Draft<Checkout>): Promise<Insertion<Checkout>>;
  findCheckout(merchantId: string, reference: string): Promise<Checkout | undefined>;
  listCheckouts(query: RecordQuery<Checkout["status"]>): Promise<Page<Checkout>>;
  /** Finds a checkout by the service's reference alone, which gives access to the public page (D19). */
  findPublicCheckout(reference: string): Promise<OpenCheckout | undefined>;
  /**
   * Sets the payer and replaces the due status. Resolves with false if the checkout is final or already has a payer.
   * @param failure why the payment will fail, if that is known already
   */
  payCheckout(reference: string, phoneNumber: string, due: DueAfter | undefined, failure?: Failure): Promise<boolean>;
  /** Gives a pending checkout its final status and writes the event. Resolves with false if it was already final. */
  finishCheckout(reference: string, status: FinalStatus, failure?: Failure): Promise<boolean>;
  /** Cancels a checkout without a payer and writes the event. Resolves with false if it has a payer or is final. */
  cancelCheckout(reference: string): Promise<boolean>;
}

type Request = components["schemas"]["CheckoutRequest"];

/**
 * How long a checkout can be paid after its creation, in milliseconds of sandbox time (D3). Then a live checkout is
 * cancelled if its rail proves that nobody has paid it.
 */
export const CHECKOUT_LIFETIME_MS = 30 * 60_000;

export type OpenCheckout = { checkout: Checkout; merchant: Merchant };

interface Context extends PaymentContext {
  storage: CheckoutStore & Pick<DisbursementStore, "countRefusal">;
  /** Settles the merchant's due records. */
  settle(merchantId: string): Promise<unknown>;
}

/** True if the checkout is pending and no number was submitted yet. */
export const isPayable = ({ status, customer }: Checkout): boolean => status === "pending" && customer === undefined;

export type Checkouts = ReturnType<typeof createCheckouts>;

export function createCheckouts(context: Context) {
  const { storage, clock, wake } = context;
  return {
    /** Creates a checkout (§4.3), as `Disbursements` create a payout. */
    async create(merchant: Merchant, request: Request, origin: Origin = {}): Promise<Checkout> {
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
      // Other text is not a reference. It may contain NUL, which PostgreSQL does not accept in text.
      if (!/^CHK[0-9A-Za-z]+$/.test(reference)) return undefined;
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
      const { refuse, status, failure, at, response } = outcomeFor(phoneNumber);
      const refusal = await forcedRefusal(storage, merchant.id, checkout.reference, refuse);
      if (refusal) throw refusal;

      // Without a status the payment stays pending indefinitely (D17). Nothing is due then, and the checkout no longer
      // expires, because only unpaid checkouts do (D3).
      const due = status && { afterMs: at === "once" ? 0 : context.settleDelayMs, status };
      const reason = failure && failureOf(failure);
      if (!(await storage.payCheckout(checkout.reference, phoneNumber, due, reason))) return;

      if (response === "dropped") throw new ConnectionDropped();
      if (response === "held") await clock.sleep(HOLD_MS, context.stopping);
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
