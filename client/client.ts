import type { Context } from "./attempt.ts";
import { settle, settleClient, settleWait } from "./options.ts";
import type { CallOptions, ClientOptions, Settings, WaitOptions } from "./options.ts";
import { checkout, create, disbursement, verify } from "./recovery.ts";
import type { Kind } from "./recovery.ts";
import { ofCreate, ofVerify, toCall } from "./result.ts";
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

/** Money sent to mobile wallets. */
export interface Disbursements {
  /**
   * Sends money to a mobile wallet, at most once (§4.1).
   *
   * Tries again with the same reference while that is safe. After a lost answer it finds the payout that was recorded
   * and returns it with `recovered: true`.
   *
   * @param request `amount` in the lowest denomination (`10000` is 100.00); `phoneNumber` 10 to 15 digits without a
   * plus sign; `reference` your own, unique for ever.
   * @throws {DuplicateReferenceError} The reference was used before; `existing` is the payout that has it.
   * @throws {OutcomeUnknownError} It may or may not have been recorded: call again with the same reference.
   * @throws {ClientError} Anything else: nothing was recorded. See the subclasses.
   */
  create(
    request: DisbursementRequest,
    options?: CallOptions,
  ): Call<"createDisbursement", CreatedDisbursement, Disbursement>;
  /**
   * Looks a payout up (§4.2).
   *
   * @param reference The service's, which create gave as `reference`; not your own.
   * @throws {NotFoundError} There is none.
   */
  verify(reference: string, options?: CallOptions): Call<"verifyDisbursement", Disbursement, Disbursement>;
  /**
   * Looks a payout up until it is `success` or `failed`. Webhooks tell sooner and cost less.
   *
   * @param reference The service's, which create gave as `reference`.
   * @throws {TimeoutError} Still pending; `last` is the record as last seen.
   * @throws {NotFoundError} There was none for 10 s.
   */
  waitFor(reference: string, options?: WaitOptions): Call<"verifyDisbursement", Final<Disbursement>, Disbursement>;
}

/** Payments collected through a link. */
export interface Checkouts {
  /**
   * Makes a link to a payment page (§4.3). Send the customer to `url`, store `reference` with the order.
   *
   * With a `reference` of your own the checkout is made at most once. Without one, a lost answer leaves a checkout
   * behind whose link nobody has, and which ends by itself.
   *
   * @param request `amount` in the lowest denomination (`10000` is 100.00).
   * @throws {DuplicateReferenceError} The reference was used before; `existing` is the checkout that has it.
   * @throws {OutcomeUnknownError} It may or may not have been recorded: call again with the same reference.
   * @throws {ClientError} Anything else: nothing was recorded. See the subclasses.
   */
  create(request: CheckoutRequest, options?: CallOptions): Call<"createCheckout", CreatedCheckout, Checkout>;
  /**
   * Looks a checkout up (D8).
   *
   * @param reference The service's, which create gave as `reference`; not your own.
   * @throws {NotFoundError} There is none.
   */
  verify(reference: string, options?: CallOptions): Call<"verifyCheckout", Checkout, Checkout>;
  /**
   * Looks a checkout up until it is `success`, `failed` or `cancelled`. Webhooks tell sooner and cost less.
   *
   * @param reference The service's, which create gave as `reference`.
   * @throws {TimeoutError} Still pending; `last` is the record as last seen.
   * @throws {NotFoundError} There was none for 10 s.
   */
  waitFor(reference: string, options?: WaitOptions): Call<"verifyCheckout", Final<Checkout>, Checkout>;
}

/** One merchant's access to the service. */
export interface DisbursementClient {
  /** Money sent to mobile wallets. */
  disbursements: Disbursements;
  /** Payments collected through a link. */
  checkouts: Checkouts;
  /** openapi-fetch itself, typed by the contract: it sends the key and follows no redirect, and that is all. */
  raw: RawClient;
}

/**
 * Makes a client. Nothing is sent yet.
 *
 * @throws {UsageError} An option is wrong; the text says which and what it should be.
 */
export function createClient(options: ClientOptions): DisbursementClient {
  if (globalThis.document) {
    console.warn("This page shows the API key.");
  }
  return buildClient(options, system);
}

/** createClient with time and chance of the caller's choice. */
export function buildClient(options: ClientOptions, runtime: Runtime): DisbursementClient {
  const { settings, ...rest } = settleClient(options);
  const raw = createRawClient(rest);
  const context: Context = { runtime, transport: createTransport(rest.baseUrl), ...rest };
  return {
    disbursements: resource(context, disbursement, settings) as unknown as Disbursements,
    checkouts: resource(context, checkout, settings) as unknown as Checkouts,
    raw,
  };
}

const final = ["success", "failed", "cancelled"];

function resource(context: Context, kind: Kind, base: Settings) {
  return {
    create: (request: DisbursementRequest | CheckoutRequest, options?: CallOptions) =>
      toCall(ofCreate, () => create(context, kind, request, settle(options, base))),
    verify: (reference: string, options?: CallOptions) =>
      toCall(ofVerify, () => verify(context, kind, reference, settle(options, base))),
    waitFor: (reference: string, options?: WaitOptions) =>
      toCall(ofVerify, () => verify(context, kind, reference, settleWait(options, base), final)),
  };
}
