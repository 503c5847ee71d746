import type { Context, Data } from "./job.ts";
import { createLimiter } from "./limiter.ts";
import { list } from "./list.ts";
import type { CheckoutFilters, DisbursementFilters } from "./list.ts";
import { resolveClientOptions, resolveCreateOptions, resolveOptions, resolveWaitOptions } from "./options.ts";
import type { CallOptions, ClientOptions, CreateOptions, Settings, WaitOptions } from "./options.ts";
import { checkout, disbursement } from "./kind.ts";
import type { Kind } from "./kind.ts";
import { create, verify } from "./recovery.ts";
import { createStatuses, toCall, verifyStatuses } from "./result.ts";
import type { Call } from "./result.ts";
import { system } from "./runtime.ts";
import type { Runtime } from "./runtime.ts";
import { createRawClient, createTransport } from "./transport.ts";
import type { RawClient } from "./transport.ts";
import type {
  Checkout,
  CheckoutRequest,
  CreatedCheckout,
  CreatedDisbursement,
  Disbursement,
  DisbursementRequest,
  Final,
} from "./types.ts";

/** Disbursements: payouts to mobile wallets. */
export interface Disbursements {
  /**
   * Sends money to a mobile wallet, at most once.
   *
   * Retries with the same reference when that is safe. If a response was lost, finds the recorded payout and returns it
   * with `recovered: true`.
   *
   * @param request `amount` is in the lowest denomination (`10000` is 100.00). `phoneNumber` is 10 to 15 digits without
   * a plus sign. `reference` is your own and can be used only once.
   * @throws {DuplicateReferenceError} The reference is already in use; `existing` is the payout that uses it.
   * @throws {OutcomeUnknownError} The payout may or may not exist. Call again with the same reference.
   * @throws {ClientError} The call failed for another reason, and nothing was recorded. See the subclasses.
   */
  create(
    request: DisbursementRequest,
    options?: CreateOptions,
  ): Call<"createDisbursement", CreatedDisbursement, Disbursement>;
  /**
   * Returns a payout.
   *
   * @param reference The service's reference, as returned by create; not your own.
   * @throws {NotFoundError} No payout has this reference.
   */
  verify(reference: string, options?: CallOptions): Call<"verifyDisbursement", Disbursement, Disbursement>;
  /**
   * Polls a payout until its status is `success` or `failed`. Webhooks are faster and need no polling.
   *
   * @param reference The service's reference, as returned by create.
   * @throws {TimeoutError} The payout is still pending; `last` is the last record read.
   * @throws {NotFoundError} No payout with this reference appeared within 10 s.
   */
  waitFor(reference: string, options?: WaitOptions): Call<"verifyDisbursement", Final<Disbursement>, Disbursement>;
  /**
   * Returns payouts, the newest first. Reads page after page while you iterate, and nothing before.
   *
   * @throws {NotFoundError} The service has no list. Not every service has one.
   */
  list(filters?: DisbursementFilters, options?: CallOptions): AsyncIterable<Disbursement>;
}

/** Checkouts: payments collected through a link. */
export interface Checkouts {
  /**
   * Creates a link to a payment page. Send the customer to `url` and store `reference` with the order.
   *
   * Creates at most one checkout per `reference`. If you leave `reference` out, the client generates a reference and
   * returns it as `merchantsReference`.
   *
   * @param request `amount` is in the lowest denomination (`10000` is 100.00).
   * @throws {DuplicateReferenceError} The reference is already in use; `existing` is the checkout that uses it.
   * @throws {OutcomeUnknownError} The checkout may or may not exist. Call again with the same reference.
   * @throws {ClientError} The call failed for another reason, and nothing was recorded. See the subclasses.
   */
  create(request: CheckoutRequest, options?: CreateOptions): Call<"createCheckout", CreatedCheckout, Checkout>;
  /**
   * Returns a checkout.
   *
   * @param reference The service's reference, as returned by create; not your own.
   * @throws {NotFoundError} No checkout has this reference.
   */
  verify(reference: string, options?: CallOptions): Call<"verifyCheckout", Checkout, Checkout>;
  /**
   * Polls a checkout until its status is `success`, `failed` or `cancelled`. Webhooks are faster and need no polling.
   *
   * @param reference The service's reference, as returned by create.
   * @throws {TimeoutError} The checkout is still pending; `last` is the last record read.
   * @throws {NotFoundError} No checkout with this reference appeared within 10 s.
   */
  waitFor(reference: string, options?: WaitOptions): Call<"verifyCheckout", Final<Checkout>, Checkout>;
  /**
   * Returns checkouts, the newest first. Reads page after page while you iterate, and nothing before.
   *
   * @throws {NotFoundError} The service has no list. Not every service has one.
   */
  list(filters?: CheckoutFilters, options?: CallOptions): AsyncIterable<Checkout>;
}

/** A client that acts for one merchant. */
export interface DisbursementClient {
  /** Payouts to mobile wallets. */
  disbursements: Disbursements;
  /** Payments collected through a link. */
  checkouts: Checkouts;
  /**
   * The plain openapi-fetch client, typed by the contract. It sends the key, follows no redirects and never retries.
   */
  raw: RawClient;
  /** Keeps all calls of this client together to the service's rate limit. */
  limiter: {
    /**
     * The requests per second that the service accepts, as far as the client has learned it. Infinity while no limit is
     * known. Set it to start at a rate that is known, for example from an earlier run.
     */
    rate: number;
  };
}

/**
 * Creates a client. Sends no request.
 *
 * @throws {UsageError} An option is invalid; the message names it and says what is expected.
 */
export function createClient(options: ClientOptions): DisbursementClient {
  if (globalThis.document) {
    console.warn("This page exposes the API key.");
  }
  return buildClient(options, system);
}

/** Like createClient, but with a caller-supplied clock, timers and randomness. */
export function buildClient(options: ClientOptions, runtime: Runtime): DisbursementClient {
  const { settings, ...rest } = resolveClientOptions(options);
  const limiter = createLimiter(runtime);
  const context: Context = { runtime, limiter, transport: createTransport(rest), ...rest };
  return {
    disbursements: resource(context, disbursement, settings) as unknown as Disbursements,
    checkouts: resource(context, checkout, settings) as unknown as Checkouts,
    raw: createRawClient(rest),
    limiter,
  };
}

const isFinal = ({ status }: Data) => ["success", "failed", "cancelled"].includes(status);

function resource(context: Context, kind: Kind, base: Settings) {
  return {
    create: (request: DisbursementRequest | CheckoutRequest, options?: CreateOptions) =>
      toCall(createStatuses, () => create(context, kind, request, resolveCreateOptions(options, base))),
    verify: (reference: string, options?: CallOptions) =>
      toCall(verifyStatuses, () => verify(context, kind, reference, resolveOptions(options, base))),
    waitFor: (reference: string, options?: WaitOptions) =>
      toCall(verifyStatuses, () => verify(context, kind, reference, resolveWaitOptions(options, base), isFinal)),
    list: (filters?: object, options?: CallOptions) => list(context, kind, filters, resolveOptions(options, base)),
  };
}
