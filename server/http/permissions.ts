import type { RequestHandler } from "express";
import type { operations } from "../../generated/openapi.ts";
import { ServiceError } from "../domain/errors.ts";
import type { Scope } from "../domain/keys.ts";
import { requireActive } from "../domain/merchants.ts";
import { stated, stateOf } from "./request-state.ts";

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
  connectListener: [],
  claimDeliveries: [],
  reportAttempt: [],
  disconnectListener: [],
  finishCheckout: [],
  readWebhookSecret: [],
  rotateWebhookSecret: [],
};

/**
 * Refuses requests whose key has scopes that do not permit the operation, and creates of a suspended merchant. Runs after
 * authentication.
 */
export function requirePermission(operation: OperationId): RequestHandler {
  const permittedBy = PERMITTED_BY[operation];
  const needed = permittedBy.length === 0 ? "an API key without scopes" : `the scope ${permittedBy.join(" or ")}`;
  const creates = operation === "createDisbursement" || operation === "createCheckout";
  return (_req, res, next) => {
    const { scopes } = stateOf(res);
    if (!scopes || scopes.some((scope) => permittedBy.includes(scope))) {
      if (creates) requireActive(stated(res, "merchant"));
      return next();
    }
    const message = `This operation needs ${needed}, and this API key has only ${scopes.join(" and ")}.`;
    throw new ServiceError("key_not_permitted", message);
  };
}
