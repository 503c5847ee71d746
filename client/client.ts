import { balance, checkout, disbursement, statement } from "./job.ts";
import type { Context, Data, Kind } from "./job.ts";
import { createLimiter } from "./limiter.ts";
import { resolveClientOptions, resolveCreateOptions, resolveOptions, resolveWaitOptions } from "./options.ts";
import type { CallOptions, ClientOptions, CreateOptions, CreateSettings, Settings, WaitOptions } from "./options.ts";
import { find, list, verify } from "./read.ts";
import type {
  CheckoutFilters,
  CheckoutList,
  DisbursementFilters,
  DisbursementList,
  Statement,
  StatementFilters,
} from "./read.ts";
import { create, createMemory } from "./recovery.ts";
import { createFailure, readFailure, toCall } from "./result.ts";
import type {
  CreateCheckoutCall,
  CreateDisbursementCall,
  ReadCheckoutCall,
  ReadDisbursementCall,
  WaitForCheckoutCall,
  WaitForDisbursementCall,
} from "./result.ts";
import { system } from "./runtime.ts";
import type { Runtime } from "./runtime.ts";
import { createRawClient, createTransport } from "./transport.ts";
import type { RawClient } from "./transport.ts";
import type { Balance, Checkout, CheckoutRequest, Disbursement, DisbursementRequest } from "./types.ts";

/** Disbursements: payouts to mobile wallets. */
export interface Disbursements {
  /**
   * Sends money to a mobile wallet, at most once.
   *
   * Retries with the same reference when that is safe. If a response was lost, finds the recorded payout and returns it
   * with `recovered: true`.
   *
   * @param request `amount` is in the lowest denomination, and 100 make one unit in every currency: 15 000 FCFA is
   * `1500000`. `phoneNumber` is 10 to 15 digits without a plus sign. `reference` is your own and can be used only once.
   * @throws {DuplicateReferenceError} The reference is already in use; `existing` is the payout that uses it.
   * @throws {OutcomeUnknownError} The payout may or may not exist. Call `resume` of the error later.
   * @throws {ClientError} The call failed for another reason, and nothing was recorded. See the subclasses.
   */
  create(request: DisbursementRequest, options?: CreateOptions): CreateDisbursementCall;
  /**
   * Returns a payout that an earlier call may have created, or creates it. Safe to call at any time and as often as you
   * like, for example from a cron job: the payout is created at most once.
   *
   * Returns the payout, `recovered: true` if it existed. A refusal does not prove that an earlier request was refused too:
   * unless the payout is found, the call then throws OutcomeUnknownError, whose `cause` is the refusal.
   *
   * @param request Exactly what was sent before.
   * @throws {DuplicateReferenceError} Another payout uses the reference; this payment does not exist.
   * @throws {OutcomeUnknownError} The payout may or may not exist. Call again later.
   */
  resume(request: DisbursementRequest, options?: CallOptions): CreateDisbursementCall;
  /**
   * Returns a payout.
   *
   * @param reference The service's reference, as returned by create; not your own.
   * @throws {NotFoundError} No payout has this reference.
   */
  verify(reference: string, options?: CallOptions): ReadDisbursementCall;
  /**
   * Returns the payout with your own reference, or undefined if the service's list has none. A payout that is being
   * created at this moment may not be in the list yet, so undefined does not prove that a payment may be sent again: use
   * `resume` for that.
   *
   * @throws {NotFoundError} The service has no list. Not every service has lists.
   */
  find(merchantsReference: string, options?: CallOptions): Promise<Disbursement | undefined>;
  /**
   * Polls a payout until its status is `success` or `failed`. Webhooks are faster and need no polling.
   *
   * @param reference The service's reference, as returned by create.
   * @throws {TimeoutError} The payout is still pending; `last` is the last record read.
   * @throws {NotFoundError} No payout with this reference appeared within 10 s.
   */
  waitFor(reference: string, options?: WaitOptions): WaitForDisbursementCall;
  /**
   * Returns payouts, the newest first. Reads page after page while you iterate, and nothing before. `page()` reads one
   * page.
   *
   * @throws {NotFoundError} The service has no list. Not every service has lists.
   */
  list(filters?: DisbursementFilters, options?: CallOptions): DisbursementList;
}

/** Checkouts: payments collected through a link. */
export interface Checkouts {
  /**
   * Creates a link to a payment page. Send the customer to `url` and store `reference` with the order.
   *
   * Creates at most one checkout per `reference`. If you leave `reference` out, the client generates a reference and
   * returns it as `merchantsReference`.
   *
   * @param request `amount` is in the lowest denomination, and 100 make one unit in every currency: 15 000 FCFA is
   * `1500000`.
   * @throws {DuplicateReferenceError} The reference is already in use; `existing` is the checkout that uses it.
   * @throws {OutcomeUnknownError} The checkout may or may not exist. Call `resume` of the error later.
   * @throws {ClientError} The call failed for another reason, and nothing was recorded. See the subclasses.
   */
  create(request: CheckoutRequest, options?: CreateOptions): CreateCheckoutCall;
  /**
   * Returns a checkout that an earlier call may have created, or creates it. Safe to call at any time and as often as
   * you like. A checkout that existed has no `url`.
   *
   * @param request Exactly what was sent before, with its reference.
   * @throws {DuplicateReferenceError} Another checkout uses the reference; this checkout does not exist.
   * @throws {OutcomeUnknownError} The checkout may or may not exist. Call again later.
   */
  resume(request: CheckoutRequest & { reference: string }, options?: CallOptions): CreateCheckoutCall;
  /**
   * Returns a checkout.
   *
   * @param reference The service's reference, as returned by create; not your own.
   * @throws {NotFoundError} No checkout has this reference.
   */
  verify(reference: string, options?: CallOptions): ReadCheckoutCall;
  /**
   * Returns the checkout with your own reference, or undefined if the service's list has none.
   *
   * @throws {NotFoundError} The service has no list. Not every service has lists.
   */
  find(merchantsReference: string, options?: CallOptions): Promise<Checkout | undefined>;
  /**
   * Polls a checkout until its status is `success`, `failed` or `cancelled`. Webhooks are faster and need no polling.
   *
   * @param reference The service's reference, as returned by create.
   * @throws {TimeoutError} The checkout is still pending; `last` is the last record read.
   * @throws {NotFoundError} No checkout with this reference appeared within 10 s.
   */
  waitFor(reference: string, options?: WaitOptions): WaitForCheckoutCall;
  /**
   * Returns checkouts, the newest first. Reads page after page while you iterate, and nothing before. `page()` reads one
   * page.
   *
   * @throws {NotFoundError} The service has no list. Not every service has lists.
   */
  list(filters?: CheckoutFilters, options?: CallOptions): CheckoutList;
}

/** What the merchant can pay out, and the changes that led to it. */
export interface Balances {
  /**
   * Returns the balance of each currency that the merchant has used.
   *
   * @throws {NotFoundError} The service has no balances. Not every service has them.
   */
  list(options?: CallOptions): Promise<Balance[]>;
  /**
   * Returns the changes of the balances, the newest first, each with the balance after it. Reads page after page while
   * you iterate, and nothing before. `page()` reads one page.
   *
   * @throws {NotFoundError} The service has no statements. Not every service has them.
   */
  statement(filters?: StatementFilters, options?: CallOptions): Statement;
}

/** A client that acts for one merchant. */
export interface DisbursementClient {
  /** URL of the service, without `/v1` and without a slash at the end. */
  baseUrl: string;
  /** Payouts to mobile wallets. */
  disbursements: Disbursements;
  /** Payments collected through a link. */
  checkouts: Checkouts;
  /** What the merchant can pay out. */
  balances: Balances;
  /** The plain openapi-fetch client, typed by the contract. It sends the key, follows no redirects and never retries. */
  raw: RawClient;
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
  const context: Context = { runtime, limiter: createLimiter(runtime), transport: createTransport(rest), ...rest };
  return {
    baseUrl: rest.baseUrl,
    disbursements: resource(context, disbursement, settings) as unknown as Disbursements,
    checkouts: resource(context, checkout, settings) as unknown as Checkouts,
    balances: balancesOf(context, settings),
    raw: createRawClient(rest),
  };
}

function balancesOf(context: Context, base: Settings): Balances {
  return {
    list: async (options) => (await list(context, balance, {}, options, base).page()).items as unknown as Balance[],
    statement: (filters, options) => list(context, statement, filters, options, base) as unknown as Statement,
  };
}

function resource(context: Context, kind: Kind, base: Settings) {
  type Request = DisbursementRequest | CheckoutRequest;
  const read = (reference: string, toSettings: () => Settings, until?: (data: Data) => boolean) =>
    toCall(readFailure, () => verify(context, kind, reference, toSettings(), until));
  const isFinal = ({ status }: Data) => kind.final.test(status);
  const memory = createMemory();
  const send = (request: Request, toSettings: () => CreateSettings, inDoubt: boolean) =>
    toCall(createFailure, () => create(context, kind, request, toSettings, inDoubt, memory, resume));
  const resume = (request: Request, options?: CallOptions) =>
    send(request, () => ({ ...resolveOptions(options, base), ifExists: "return" }), true);
  return {
    create: (request: Request, options?: CreateOptions) =>
      send(request, () => resolveCreateOptions(options, base), false),
    resume,
    verify: (reference: string, options?: CallOptions) => read(reference, () => resolveOptions(options, base)),
    waitFor: (reference: string, options?: WaitOptions) =>
      read(reference, () => resolveWaitOptions(options, base), isFinal),
    find: (reference: string, options?: CallOptions) => find(context, kind, reference, options, base),
    list: (filters?: object, options?: CallOptions) => list(context, kind, filters, options, base),
  };
}
