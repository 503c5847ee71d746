import type { RequestHandler } from "express";
import { withBudget, type TimeBudget } from "../domain/time-budget.ts";

/** Callers are told to wait 15 seconds; the rest is for the network, the body and other work. */
const STORAGE_MS = 10_000;

/**
 * Limits how long a request waits for the storage, over all its operations (D56). Repeat it after middleware that reads
 * the body, whose events do not belong to the request.
 */
export const withTimeBudget: RequestHandler = (_req, res, next) => {
  const budget: TimeBudget = (res.locals.timeBudget ??= { leftMs: STORAGE_MS });
  withBudget(budget, next);
};
