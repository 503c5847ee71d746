import { balance, checkout, disbursement, statement } from "./job.ts";
import type { Context, Data, Kind } from "./job.ts";
import { createLimiter } from "./limiter.ts";
import { resolveClientOptions, resolveCreateOptions, resolveOptions, resolveWaitOptions } from "./options.ts";
import type { CallOptions, ClientOptions, CreateOptions, CreateSettings, Settings, WaitOptions } from "./options.ts";
import { find, list, verify } from "./read.ts";
import type { List, ListFilters, StatementFilters } from "./read.ts";
import { create, createMemory } from "./recovery.ts";
import { createFailure, readFailure, toCall } from "./result.ts";
import type { CreateCall, Existing, ReadCall } from "./result.ts";
import { system } from "./runtime.ts";
import type { Runtime } from "./runtime.ts";
import { createRawClient, createTransport } from "./transport.ts";
import type { RawClient } from "./transport.ts";
import type {
  Balance,
  Checkout,
  CheckoutRequest,
  CheckoutStatus,
  CreatedCheckout,
  CreatedDisbursement,
  Disbursement,
  DisbursementRequest,
  DisbursementStatus,
  Final,
  StatementEntry,
} from "./types.ts";

/** The calls about payouts, or about checkouts. "Record" stands for either. */
interface Records<Request, Created extends Existing, R extends { status: string }, Status> {
  /**
   * Creates a record, at most once.
   *
   * Retries with the same reference when that is safe. If a response was lost, finds the existing record and returns it
   * with `recovered: true`.
   *
   * @param request `amount` is in the lowest denomination, and 100 make one unit in every currency: 15 000 FCFA is
   * `1500000`. `phoneNumber` is 10 to 15 digits without a plus sign. `reference` is your own and can be used only once; of
   * a checkout, if you leave it out, the client generates it and returns it as `merchantsReference`.
   * @throws {DuplicateReferenceError} The reference is already in use; `existing` is the record that uses it.
   * @throws {OutcomeUnknownError} The record may or may not exist. Call `resume` of the error later.
   * @throws {ClientError} The call failed for another reason, and nothing was recorded. See the subclasses.
   */
  create(request: Request, options?: CreateOptions): CreateCall<Created>;
  /**
   * Returns a record that an earlier call may have created, or creates it. Safe to call at any time and as often as you
   * like, for example from a cron job: the record is created at most once. A checkout that existed has no `url`.
   *
   * Returns the record, `recovered: true` if it existed. A refusal does not prove that an earlier request was refused too:
   * unless the record is found, the call then throws OutcomeUnknownError, whose `cause` is the refusal.
   *
   * @param request Exactly what was sent before, with its reference.
   * @throws {DuplicateReferenceError} Another record uses the reference; this payment does not exist.
   * @throws {OutcomeUnknownError} The record may or may not exist. Call again later.
   */
  resume(request: Request & { reference: string }, options?: CallOptions): CreateCall<Created>;
  /**
   * Returns a record.
   *
   * @param reference The service's reference, as returned by create; not your own.
   * @throws {NotFoundError} No record has this reference.
   */
  verify(reference: string, options?: CallOptions): ReadCall<R>;
  /**
   * Returns the record with your own reference, or undefined if the service's list has none. A record that is being
   * created at this moment may not be in the list yet, so undefined does not prove that a payment may be sent again: use
   * `resume` for that.
   *
   * @throws {NotFoundError} The service has no list. Not every service has lists.
   */
  find(merchantsReference: string, options?: CallOptions): Promise<R | undefined>;
  /**
   * Polls a record until its status is final: `success` or `failed`, of a checkout also `cancelled`. Webhooks are faster
   * and need no polling.
   *
   * @param reference The service's reference, as returned by create.
   * @throws {TimeoutError} The record is still pending; `last` is the last record read.
   * @throws {NotFoundError} No record with this reference appeared within 10 s.
   */
  waitFor(reference: string, options?: WaitOptions): ReadCall<Final<R, Status>>;
  /**
   * Returns records, the newest first. Reads page after page while you iterate, and nothing before. `page()` reads one
   * page.
   *
   * @throws {NotFoundError} The service has no list. Not every service has lists.
   */
  list(filters?: ListFilters<Status>, options?: CallOptions): List<R>;
}

/** Payouts to mobile wallets. */
export interface Disbursements extends Records<
  DisbursementRequest,
  CreatedDisbursement,
  Disbursement,
  DisbursementStatus
> {}

/** Payments collected through a link. Send the customer to its `url`, and store its `reference` with the order. */
export interface Checkouts extends Records<CheckoutRequest, CreatedCheckout, Checkout, CheckoutStatus> {}

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
  statement(filters?: StatementFilters, options?: CallOptions): List<StatementEntry>;
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
    statement: (filters, options) =>
      list(context, statement, filters, options, base) as unknown as List<StatementEntry>,
  };
}

function resource(context: Context, kind: Kind, base: Settings) {
  type Request = DisbursementRequest | CheckoutRequest;
  const read = (reference: string, toSettings: () => Settings, until?: (data: Data) => boolean) =>
    toCall(readFailure, () => verify(context, kind, reference, toSettings(), until));
  const isFinal = ({ status }: Data) => kind.final.test(status);
  const memory = createMemory();
  const send = (request: Request, toSettings: () => CreateSettings, inDoubt: boolean) =>
    toCall(createFailure, () => create(context, kind, request, toSettings, { inDoubt, resume, memory }));
  const resume = (request: Request, options?: CallOptions) =>
    send(request, () => ({ ...resolveOptions(options, base), ifExists: "return" }), true);
  return {
    create: (request: Request, options?: CreateOptions) =>
      send(request, () => resolveCreateOptions(options, base), false),
    resume,
    verify: (reference: string, options?: CallOptions) => read(reference, () => resolveOptions(options, base)),
    waitFor: (reference: string, options?: WaitOptions) =>
      read(reference, () => resolveWaitOptions(options, base), isFinal),
    find: async (reference: string, options?: CallOptions) =>
      find(context, kind, reference, resolveOptions(options, base)),
    list: (filters?: object, options?: CallOptions) => list(context, kind, filters, options, base),
  };
}
