import type { RequestHandler } from "express";
import { withBudget } from "../domain/time-budget.ts";
import { stateOf } from "./request-state.ts";

/** The contract tells callers to wait 15 seconds. The other 5 are for the network, the body and other work. */
const STORAGE_MS = 10_000;

/**
 * Limits how long a request waits for the storage, over all its operations (D56). Repeat it after middleware that reads
 * the body, whose events do not belong to the request.
 */
export const withTimeBudget: RequestHandler = (_req, res, next) => {
  withBudget((stateOf(res).timeBudget ??= { leftMs: STORAGE_MS }), next);
};
