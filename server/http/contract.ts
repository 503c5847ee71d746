import type { Request, RequestHandler, Response, Router } from "express";
import express from "express";
import type { operations } from "../../generated/openapi.ts";
import document from "../../generated/openapi.json" with { type: "json" };
import type { Actor } from "../domain/audit.ts";
import { noteChanges } from "../domain/changes.ts";
import { ConnectionDropped, type ServiceError } from "../domain/errors.ts";
import { traceparentOf } from "../domain/telemetry.ts";
import type { KeyOwner, Merchant } from "../domain/merchants.ts";
import { refusalOf, type OperationId } from "./authentication.ts";
import {
  createValidator,
  declaredInput,
  isConstrained,
  type Declared,
  type InputDeclaration,
} from "./contract-input.ts";
import { onlyFor } from "./http-error.ts";
import { arrived, readJson, through } from "./json-body.ts";
import { beginOther, beginPayment, inTime, type RequestRoom } from "./request-limit.ts";
import { stateOf } from "./request-state.ts";
import { CsvPage } from "./views.ts";

type Parameters<Op extends OperationId, In extends "path" | "query"> = NonNullable<operations[Op]["parameters"][In]>;
type Body<Op extends OperationId> = operations[Op] extends {
  requestBody: { content: { "application/json": infer B } };
}
  ? B
  : undefined;
type Data<Op extends OperationId> = operations[Op]["responses"][200]["content"]["application/json"]["data"];

/** A request that conforms to the contract. */
export interface Call<Op extends OperationId> {
  merchant: Merchant;
  /** The key of the request, for the audit trail. */
  actor: Actor;
  /** The API key of the request. */
  keyId: string;
  /** Why the key may not make this create, unless its reference is known. */
  refusal: ServiceError | undefined;
  /** The trace context to store with what the request creates. */
  traceparent: string | undefined;
  path: Parameters<Op, "path">;
  query: Declared<Parameters<Op, "query">>;
  body: Declared<Body<Op>>;
}

/** One handler per operationId of the spec; a missing handler does not compile. */
export type Handlers = { [Op in OperationId]: (call: Call<Op>) => Promise<Data<Op> | CsvPage> };

interface Options {
  handlers: Handlers;
  /** Finds the request's key and its merchant. */
  authenticate(req: Request): Promise<KeyOwner>;
  /** True if a network can delay the storage (D56). */
  limitsStorageTime: boolean;
  /** @throws ServiceError if the merchant sends more requests than it may */
  limit(merchant: Merchant): Promise<void>;
  /** Where requests wait for room when they have arrived completely. */
  room: RequestRoom;
  /** Delays or fails a request if its merchant has switched that on; not on the paths under /sandbox (D17). */
  disturb(merchant: Merchant): Promise<void>;
  /** True if the connection is to be dropped instead of this response, on the same paths. */
  losesResponse(merchant: Merchant): boolean;
  /** True to serve the paths under /sandbox (D18). */
  sandbox: boolean;
}

const METHODS = ["get", "post", "put", "patch", "delete"] as const;
type Method = (typeof METHODS)[number];
interface Operation extends InputDeclaration {
  operationId: OperationId;
}
const PATHS = Object.entries(document.paths as Record<string, Partial<Record<Method, Operation>>>);

/** Each payment path has a separate validator, for speed. All sandbox paths share one (D22). */
const groupOf = (path: string): string => (path.startsWith("/sandbox/") ? "/sandbox/" : path);

export interface Contract {
  router: Router;
  /** Rejects if the contract is invalid. */
  prove(): Promise<void>;
}

/** Creates an Express route for every path of the spec. Each request is validated before its handler runs. */
export function createContract(options: Options): Contract {
  const served = PATHS.filter(([path]) => options.sandbox || !path.startsWith("/sandbox/"));
  const groups = Object.entries(Object.groupBy(served, ([path]) => groupOf(path)));
  const validators = new Map(groups.map(([group, items]) => [group, createValidator(items!.map(([path]) => path))]));
  const router = express.Router({ caseSensitive: true, strict: true });
  for (const [path, item] of served) {
    const route = router.route(path.replace(/\{(\w+)\}/g, ":$1"));
    const validator = validators.get(groupOf(path))!;
    const methods = METHODS.filter((method) => item[method]);
    for (const method of methods) {
      const operation = item[method]!;
      const check = isConstrained(operation) ? validator.check : undefined;
      route[method](serve(options, operation, { path, method, check }));
    }
    const allow = methods.map((method) => (method === "get" ? "GET, HEAD" : method.toUpperCase())).join(", ");
    route.all(onlyFor(allow));
  }

  async function prove() {
    // Proves one validator after the other, so that requests are served in between.
    for (const validator of validators.values()) await validator.prove();
  }

  return { router, prove };
}

const hasBody = ({ headers }: Request) =>
  headers["content-length"] !== undefined || headers["transfer-encoding"] !== undefined;

interface Place {
  path: string;
  method: Method;
  check: ((req: Request, res: Response) => Promise<void>) | undefined;
}

/**
 * Sends a response of 200 as Express would, but does not decide about the type, an ETag and freshness for each
 * response.
 */
function sendJson(res: Response, body: object): void {
  const text = JSON.stringify(body);
  res.setHeader("Content-Type", "application/json; charset=utf-8");
  res.setHeader("Content-Length", Buffer.byteLength(text));
  res.end(text);
}

/** Serves an operation. Requests are refused in the order of the steps (D1). */
function serve(options: Options, operation: Operation, { path, method, check }: Place): RequestHandler {
  const { handlers, authenticate, limit, room, disturb, losesResponse, limitsStorageTime } = options;
  const { operationId, requestBody } = operation;
  const isControl = path.startsWith("/sandbox/");
  const isPayment = !isControl && !operationId.startsWith("list");
  const input = declaredInput(operation);
  const handle = handlers[operationId] as (call: object) => Promise<unknown>;

  async function answer(req: Request, res: Response): Promise<void> {
    const state = stateOf(res);
    state.operation = { id: operationId, parameters: req.params as Record<string, string> };
    if (method !== "get") state.changes = [];
    async function identify() {
      const owner = await authenticate(req);
      Object.assign(state, { merchant: owner.merchant, keyId: owner.keyId });
      return owner;
    }
    let { merchant, keyId, scopes } = await identify();
    await limit(merchant);
    if (!isControl) await disturb(merchant);
    const refusal = refusalOf(operationId, scopes);
    if (requestBody) req.body = await readJson(req, res);
    await through(arrived, req, res);
    const hasWaited = await (isPayment ? beginPayment(room, merchant.id, res) : beginOther(room, merchant.id));
    // The body and the wait may take long. Meanwhile the key may have been revoked or the merchant's clock moved.
    if (hasWaited || hasBody(req)) ({ merchant, keyId } = await identify());
    await check?.(req, res);
    const call = {
      merchant,
      actor: `key ${keyId}`,
      keyId,
      refusal,
      traceparent: state.trace && traceparentOf(state.trace),
      path: req.params,
      query: input.query(req.query),
      body: input.body(req.body),
    };
    const data = await (state.changes ? noteChanges(state.changes, () => handle(call)) : handle(call));
    if (!isControl && losesResponse(merchant)) throw new ConnectionDropped();
    if (data instanceof CsvPage) return data.send(req, res);
    state.returned = { statusCode: 200, data };
    sendJson(res, state.returned);
  }

  // A sandbox control has no time limit, because it may wait for settlements and webhooks.
  return isControl || !limitsStorageTime ? answer : (req, res) => inTime(() => answer(req, res));
}
