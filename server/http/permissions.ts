import type { RequestHandler } from "express";
import type { operations } from "../../generated/openapi.ts";
import { ServiceError } from "../domain/errors.ts";
import type { Scope } from "../domain/keys.ts";
import { stateOf } from "./request-state.ts";

/** The operations that this server implements. Operations named `on…` are webhooks, which the server sends. */
export type OperationId = Exclude<keyof operations, `on${string}`>;

/**
 * For each operation, the scopes that permit it: a key needs one of these. Operations of the sandbox, with an empty
 * list, need a key without scopes (D88).
 */
export const PERMITTED_BY: Readonly<Record<OperationId, readonly Scope[]>> = {
  createDisbursement: ["disburse"],
  verifyDisbursement: ["read", "disburse"],
  listDisbursements: ["read"],
  createCheckout: ["checkout"],
  verifyCheckout: ["read", "checkout"],
  listCheckouts: ["read"],
  listBalances: ["read"],
  listStatements: ["read"],
  readClock: [],
  advanceClock: [],
  resetSandbox: [],
  readChaos: [],
  setChaos: [],
  setBalance: [],
  listEvents: [],
  listDeliveries: [],
  replayDelivery: [],
  finishCheckout: [],
  readWebhookSecret: [],
  rotateWebhookSecret: [],
};

/** The operations that read what a create has recorded. */
const VERIFY: Partial<Record<OperationId, OperationId>> = {
  createDisbursement: "verifyDisbursement",
  createCheckout: "verifyCheckout",
};

/**
 * Refuses requests whose key has scopes that do not permit the operation. If the key may read what a create has recorded,
 * the refusal is left to the handler, because a known reference comes first (D1). Runs after authentication.
 */
export function requirePermission(operation: OperationId): RequestHandler {
  const permits = (which: OperationId | undefined, scopes: readonly Scope[]) =>
    which !== undefined && scopes.some((scope) => PERMITTED_BY[which].includes(scope));
  const permittedBy = PERMITTED_BY[operation];
  const needed = permittedBy.length === 0 ? "an API key without scopes" : `the scope ${permittedBy.join(" or ")}`;
  return (_req, res, next) => {
    const state = stateOf(res);
    const { scopes } = state;
    if (!scopes || permits(operation, scopes)) return next();
    const message = `This operation needs ${needed}, and this API key has only ${scopes.join(" and ")}.`;
    const refusal = new ServiceError("key_not_permitted", message);
    if (!permits(VERIFY[operation], scopes)) throw refusal;
    state.refusal = refusal;
    next();
  };
}
