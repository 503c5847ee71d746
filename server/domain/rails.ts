import { ServiceError } from "./errors.ts";
import type { Failure, FinalStatus, PaymentKind } from "./records.ts";

/** A payment as a rail gets it. The amount is in the lowest denomination of the currency. */
export interface RailPayment {
  kind: PaymentKind;
  /**
   * Our reference. A rail stores our reference with the payment, and every call about a payment has the same reference,
   * so that a repeated call cannot pay twice.
   */
  reference: string;
  amount: number;
  country: string;
  currency: string;
  /** The recipient. Only a disbursement has a number here: only the rail knows the payer of a checkout. */
  phoneNumber?: string;
  /** The language of a checkout's page. */
  locale?: "en" | "fr";
  /** Real time, in milliseconds since 1970. */
  createdAt: number;
  /** The rail's own reference, once the rail has named it. */
  railReference?: string;
}

/** All statuses that a rail may name. */
export const RAIL_STATUSES: readonly RailAnswer["status"][] = ["pending", "success", "failed", "cancelled"];

/** What a rail knows of a payment. `pending`: the rail has it, and will end it. The other statuses are final. */
export interface RailAnswer {
  status: "pending" | FinalStatus;
  /** Why the payment failed. */
  failure?: Failure;
  /** The rail's own reference. */
  railReference?: string;
  /** What the rail charges, in the lowest denomination. */
  fee?: number;
  /** Where a payer pays a checkout. */
  url?: string;
}

/** What every call gets. */
export interface RailCall {
  /** Aborted when nobody waits for the call any more. */
  signal: AbortSignal;
  /** Where the rail reports results. */
  notifyUrl: string;
  /** Where a payer returns after paying a checkout. */
  returnUrl: string;
  /**
   * True if an earlier call may have reached the rail. A refusal of this call then proves nothing, because an earlier
   * call may have paid and may be the reason of the refusal: throw instead of resolving with `failed`.
   */
  inDoubt: boolean;
}

/** A notification that a rail has sent. */
export interface RailNotification {
  /** With lower-case names. */
  headers: Readonly<Record<string, string | string[] | undefined>>;
  /** What a module has added to `notifyUrl`, for example our reference. Nobody has signed it. */
  query: URLSearchParams;
  /** The bytes of the body, for signatures. */
  body: Uint8Array;
}

/** A payment in the rail's list, for reconciliation. It has our reference, the rail's reference, or both. */
export interface RailEntry extends RailAnswer {
  /** Our reference. */
  reference?: string;
  amount: number;
  currency: string;
  /** Real time, in milliseconds since 1970. */
  createdAt: number;
}

/**
 * What carries the money (D73). Anything that a rail throws leaves the outcome unknown: the payment stays pending, is
 * looked up, and is then sent again with the same reference (D74).
 */
export interface Rail {
  /**
   * Pays. Called at least once for each payment, always with the same reference, so the rail must know a repeated
   * reference. Resolves with `failed` only if the rail has said that it did not and will not pay.
   * @throws RailError if it is known that the rail did not take the payment; any other error leaves this unknown
   */
  pay(payment: RailPayment, call: RailCall): Promise<RailAnswer>;
  /**
   * Looks a payment up. Resolves with `missing` only if the rail has said that it has no such payment, and with
   * `unsearchable` if the rail cannot be asked by this payment's references.
   */
  find(payment: RailPayment, call: RailCall): Promise<RailAnswer | "missing" | "unsearchable">;
  /** Opens a checkout and resolves with its `url`. A rail without it serves no checkouts. */
  collect?(payment: RailPayment, call: RailCall): Promise<RailAnswer>;
  /**
   * Reads a notification about the payment with our `reference`. If the notification has no `answer`, or names another
   * `amount`, the server looks the payment up.
   * @throws RailError if the notification is not the rail's
   */
  receive?(notification: RailNotification): Promise<{ reference: string; amount?: number; answer?: RailAnswer }>;
  /** Lists the payments that the rail created in a period, for reconciliation. */
  list?(period: { from: number; to: number }, signal: AbortSignal): AsyncIterable<RailEntry>;
  /** Sends the rail a request that changes nothing. @throws RailError if the rail refuses the credentials */
  check?(signal: AbortSignal): Promise<void>;
  /** Called when the server stops, after the last call. */
  close?(): Promise<void>;
}

interface RailErrorOptions {
  /** After how many milliseconds the rail may be asked again. */
  retryAfterMs?: number;
  /** True if the rail cannot work before a person has changed the configuration, for example a wrong key. */
  needsRepair?: boolean;
}

/** The rail did not take the payment of this call: it refused the connection, its rate limit, or the credentials. */
export class RailError extends Error {
  override name = "RailError";
  readonly options: Readonly<RailErrorOptions>;

  constructor(message: string, options: RailErrorOptions = {}) {
    super(message);
    this.options = options;
  }
}

/** What a route depends on. */
export type Routed = Pick<RailPayment, "kind" | "country" | "currency" | "phoneNumber">;

/** Returns the rail of a payment, or the refusal `not_served` if no rail carries the payment. */
export function routed(routeOf: Rails["routeOf"], payment: Routed): { rail: string } | { refusal: ServiceError } {
  const rail = routeOf(payment);
  if (rail !== undefined) return { rail };
  const { kind, country, currency } = payment;
  const what = kind === "checkout" ? "collects payments" : "pays";
  const message = `This service ${what} nothing in ${currency} in ${country}.`;
  return { refusal: new ServiceError("not_served", message) };
}

/** The rails of a live service, and which of them carries which payment. */
export interface Rails {
  /** In the order of the configuration. */
  names: readonly string[];
  get(name: string): Rail | undefined;
  /** The rail for a payment; undefined if none serves it. */
  routeOf(payment: Routed): string | undefined;
  /** The most requests per second to a rail from all processes together; undefined without a limit. */
  rateOf(name: string): number | undefined;
  /** Closes all rails. Also resolves if a rail cannot be closed. */
  close(): Promise<void>;
}
