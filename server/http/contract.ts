import type { Request, RequestHandler, Response, Router } from "express";
import express from "express";
import document from "../../generated/openapi.json" with { type: "json" };
import { collectChanges } from "../domain/changes.ts";
import { ConnectionDropped, ServiceError } from "../domain/errors.ts";
import { modeOf } from "../domain/keys.ts";
import type { KeyOwner, Merchant } from "../domain/merchants.ts";
import type { ChaosSwitch } from "../domain/outcomes.ts";
import type { KeyUses } from "../workers/housekeeping.ts";
import { authenticate, refusalOf, type OperationId } from "./authentication.ts";
import { inputOf, type InputDeclaration } from "./contract-input.ts";
import { createHandlers, type HandlerContext, type Send } from "./handlers.ts";
import { onlyFor } from "./http-error.ts";
import { arrived, BODY_LIMIT, bodyBytes, readJson, through } from "./json-body.ts";
import { beginOther, beginPayment, callerAt, inTime, type RequestLimit, type RequestRoom } from "./request-limit.ts";
import { stateOf } from "./request-state.ts";

export interface ContractContext extends HandlerContext {
  /** Counts requests without a valid key. */
  failedKeys: RequestLimit;
  keyUses: Pick<KeyUses, "note">;
  chaos: ChaosSwitch;
  /** Where requests wait for room when they have arrived completely. */
  room: RequestRoom;
  /** Aborted when the server stops. */
  stopping: AbortSignal;
}

interface Operation extends InputDeclaration {
  operationId: OperationId;
}
/** The operations of a path, by method. */
type Item = Partial<Record<"get" | "post" | "put" | "delete", Operation>>;

/** True for the paths that only a sandbox serves (D18). */
const isControl = (path: string): boolean => path.startsWith("/sandbox/");

/** Creates an Express route for every path of the spec. Each request is validated before its handler runs. */
export function createContract(context: ContractContext): Router {
  const handlers = createHandlers(context);
  const router = express.Router({ caseSensitive: true, strict: true });
  for (const [path, item] of Object.entries(document.paths as object as Record<string, Item>)) {
    if (isControl(path) && !context.config.sandbox) continue;
    const route = router.route(path.replace(/\{(\w+)\}/g, ":$1"));
    for (const [method, operation] of Object.entries(item))
      route[method as keyof Item](serve(context, path, operation, handlers[operation.operationId] as Handle));
    route.all(onlyFor(Object.keys(item).toSorted().join(", ").toUpperCase().replace("GET", "GET, HEAD")));
  }
  return router;
}

/** Finds the request's key and its merchant. */
async function identify(context: ContractContext, req: Request, res: Response): Promise<KeyOwner> {
  const { storage, config, keyUses, failedKeys } = context;
  try {
    const owner = await authenticate(storage, req.get("x-api-key"), modeOf(config));
    keyUses.note(owner);
    Object.assign(stateOf(res), { merchant: owner.merchant, keyId: owner.keyId });
    return owner;
  } catch (error) {
    if (error instanceof ServiceError && error.code === "unauthorized") failedKeys.count(callerAt(req.ip));
    throw error;
  }
}

/**
 * Limits each merchant's requests per second, across all processes (D15), to the rate that was agreed with the merchant,
 * or else to the usual one.
 */
async function limitRate({ storage, config }: ContractContext, { id, terms }: Merchant): Promise<void> {
  const perSecond = terms?.rateLimit ?? config.rateLimit;
  if (perSecond === undefined || (await storage.takeRequest(id, perSecond))) return;
  const message = "Too many requests. Retry after the number of seconds in the Retry-After header.";
  throw new ServiceError("rate_limited", message, { retryAfterSeconds: 1 });
}

/** Delays a request and fails it before anything is recorded, if its merchant has switched that on (D17). */
async function disturb({ chaos, clock, stopping }: ContractContext, merchant: Merchant): Promise<void> {
  const latencyMs = chaos.latencyMs(merchant);
  // When the server stops, delayed requests go on immediately.
  if (latencyMs > 0) await clock.sleep(latencyMs, stopping);
  if (!chaos.strikes(merchant, "failedRequestsPercent")) return;
  throw new ServiceError("internal_error", "The chaos switch failed this request.");
}

const hasBody = ({ headers }: Request) =>
  headers["content-length"] !== undefined || headers["transfer-encoding"] !== undefined;

/** Sends a response of 200 as `res.json` would, which decides about type, ETag and freshness again for each (6 % of a verify). */
function sendJson(res: Response, body: object): void {
  const text = JSON.stringify(body);
  res.setHeader("Content-Type", "application/json; charset=utf-8");
  res.setHeader("Content-Length", Buffer.byteLength(text));
  res.end(text);
}

type Handle = (call: object) => Promise<object | Send>;

/** Serves an operation. Requests are refused in the order of the steps (D1). */
function serve(context: ContractContext, path: string, operation: Operation, handle: Handle): RequestHandler {
  const { room, chaos } = context;
  const { operationId, requestBody } = operation;
  const isOfSandbox = isControl(path);
  const isPayment = !isOfSandbox && !operationId.startsWith("list");
  const input = inputOf(path, operation);
  const readBytes = bodyBytes(requestBody?.["x-max-bytes"] ?? BODY_LIMIT);

  async function answer(req: Request, res: Response): Promise<void> {
    const state = stateOf(res);
    state.operation = { id: operationId, parameters: req.params as Record<string, string> };
    if (req.method !== "GET" && req.method !== "HEAD") state.changes = [];
    let { merchant, keyId, scopes } = await identify(context, req, res);
    await limitRate(context, merchant);
    if (!isOfSandbox) await disturb(context, merchant);
    const refusal = refusalOf(operationId, scopes);
    if (requestBody) req.body = await readJson(readBytes, req, res);
    await through(arrived, req, res);
    const hasWaited = await (isPayment ? beginPayment(room, merchant.id, res) : beginOther(room, merchant.id));
    // The body and the wait may take long. Meanwhile the key may have been revoked or the merchant's clock moved.
    if (hasWaited || hasBody(req)) ({ merchant, keyId } = await identify(context, req, res));
    input.check(req, res);
    const call = {
      merchant,
      actor: `key ${keyId}`,
      keyId,
      refusal,
      path: req.params,
      query: input.query(req.query),
      body: input.body(req.body),
    };
    const data = await (state.changes ? collectChanges(state.changes, () => handle(call)) : handle(call));
    if (!isOfSandbox && chaos.losesResponse(merchant, operationId)) throw new ConnectionDropped();
    if (typeof data === "function") return data(req, res);
    state.returned = { statusCode: 200, data };
    sendJson(res, state.returned);
  }

  // A control of the sandbox has no time limit, because it may wait for settlements and webhooks.
  return isOfSandbox ? answer : (req, res) => inTime(() => answer(req, res));
}
