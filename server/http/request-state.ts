import type { Response } from "express";
import type { Change } from "../domain/changes.ts";
import type { OpenCheckout } from "../domain/payments.ts";
import type { Merchant } from "../domain/merchants.ts";
import type { Access } from "../domain/sign-in.ts";

/** The state of a request. Middleware sets the fields for the handlers that run after it. */
export interface RequestState {
  /** The value of `x-request-id`. */
  requestId: string;
  /** The operation of the contract, with the parameters in its path. */
  operation: { id: string; parameters: Readonly<Record<string, string>> };
  /** The merchant of the API key, or of the page of the dashboard. */
  merchant: Merchant;
  keyId: string;
  /** The visitor of a page of the dashboard. */
  visit: Visit;
  /** The checkout of a payment page. */
  opened: OpenCheckout;
  /** What the request has recorded, if it may record anything (D111). */
  changes: Change[];
  /** A new key or link, whose page may fail. The page with the error then shows it. */
  shownOnce: string;
  /** The body of the response, for the log of requests. */
  returned: object;
}

export interface Visit {
  session: Access;
  /** The token that every form of the session contains. */
  csrf: string;
}

/**
 * The state of the request that this response belongs to. Read and write the state only through this function, because
 * Express does not type it.
 */
export const stateOf = (res: Pick<Response, "locals">): Partial<RequestState> => res.locals;
