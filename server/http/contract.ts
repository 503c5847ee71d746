import type { Request, RequestHandler, Response, Router } from "express";
import express from "express";
import type { operations } from "../../generated/openapi.ts";
import document from "../../generated/openapi.json" with { type: "json" };
import type { Actor } from "../domain/audit.ts";
import { noteChanges } from "../domain/changes.ts";
import { ConnectionDropped, ServiceError } from "../domain/errors.ts";
import { traceparentOf } from "../domain/trace.ts";
import { hashKey, type SecretHash } from "../domain/keys.ts";
import type { KeyOwner, Merchant } from "../domain/merchants.ts";
import { declaredInput, type Declared, type InputDeclaration } from "./contract-input.ts";
import { CsvPage } from "./csv-page.ts";
import { arrived, jsonBody } from "./json-body.ts";
import { requirePermission, type OperationId } from "./permissions.ts";
import { beginOther, beginPayment, type RequestRoom } from "./request-limit.ts";
import { stated, stateOf } from "./request-state.ts";
import { withTimeBudget } from "./with-time-budget.ts";
import { createValidator, type Validator } from "./validator.ts";

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
  /**
   * Finds the request's key and its merchant; runs before the body is read.
   * @param hash of the key
   */
  authenticate(req: Request, hash: SecretHash): Promise<KeyOwner>;
  /** True if a network can delay the storage (D56). */
  limitsStorageTime: boolean;
  /** Middleware that runs after authentication, with the merchant in the state of the request. */
  limits: RequestHandler[];
  /** Where requests wait for room when they have arrived completely. */
  room: RequestRoom;
  /** Middleware that runs after `limits`, on all paths except those under /sandbox (D67). */
  disturb: RequestHandler;
  /** True if the connection is to be dropped instead of this response, on the same paths. */
  losesResponse(merchant: Merchant): boolean;
  /** True to serve the paths under /sandbox (D18). */
  sandbox: boolean;
}

const METHODS = ["get", "post", "put", "patch", "delete"] as const;
interface Operation extends InputDeclaration {
  operationId: string;
}
type PathItem = Partial<Record<(typeof METHODS)[number], Operation>>;

export interface Contract {
  router: Router;
  /** Rejects if the contract is invalid. */
  prove(): Promise<void>;
}

/** Creates an Express route for every path of the spec. Each request is validated before its handler runs. */
export function createContract(options: Options): Contract {
  const { handlers, authenticate, limits, room, disturb, losesResponse, limitsStorageTime, sandbox } = options;
  const validators = new Map<string, Validator>();
  const validatorFor = (group: string): Validator => {
    const paths = Object.keys(document.paths).filter((path) => groupOf(path) === group);
    const validator = validators.get(group) ?? createValidator(paths);
    validators.set(group, validator);
    return validator;
  };
  const router = express.Router({ caseSensitive: true, strict: true });
  const identifyFor =
    (operationId: string): RequestHandler =>
    async (req, res, next) => {
      // Express clears the parameters of a request that is refused.
      const state = stateOf(res);
      state.operation = { id: operationId, parameters: req.params as Record<string, string> };
      state.keyHash ??= hashKey(req.get("x-api-key") ?? "");
      const { merchant, keyId, scopes } = await authenticate(req, state.keyHash);
      state.merchant = merchant;
      state.keyId = keyId;
      if (scopes) state.scopes = scopes;
      next();
    };
  for (const [path, item] of Object.entries(document.paths as Record<string, PathItem>)) {
    const isControl = path.startsWith("/sandbox/");
    if (isControl && !sandbox) continue;
    const [before, isLost] = isControl ? [limits, () => false] : [[...limits, disturb], losesResponse];
    // A sandbox control has no time budget, because it may wait for settlements and webhooks.
    const budget = isControl || !limitsStorageTime ? [] : [withTimeBudget];
    const route = router.route(path.replace(/\{(\w+)\}/g, ":$1"));
    const allowed: string[] = [];
    for (const method of METHODS) {
      const operation = item[method];
      if (!operation) continue;
      allowed.push(...(method === "get" ? ["GET", "HEAD"] : [method.toUpperCase()]));
      const identify = identifyFor(operation.operationId);
      const begin = method === "get" ? [] : [mayRecord];
      const permit = requirePermission(operation.operationId as OperationId);
      const body = operation.requestBody ? [jsonBody, arrived] : [arrived];
      const isPayment = !isControl && !operation.operationId.startsWith("list");
      // The body and the wait may take long. Authenticate again after them, because meanwhile the key may have been
      // revoked or the merchant's clock moved.
      const begins: RequestHandler = async (req, res, next) => {
        const { id } = stated(res, "merchant");
        const hasWaited = await (isPayment ? beginPayment(room, id, res) : beginOther(room, id));
        return hasWaited || hasBody(req) ? identify(req, res, next) : next();
      };
      const check = isConstrained(operation) ? [validatorFor(groupOf(path)).check] : [];
      const handle = handlers[operation.operationId as OperationId] as Handle;
      const send = respond(handle, declaredInput(operation), isLost);
      route[method](
        ...begin,
        ...budget,
        identify,
        ...before,
        permit,
        ...body,
        begins,
        ...budget,
        ...check,
        ...budget,
        send,
      );
    }
    route.all(({ method }) => {
      const allow = allowed.join(", ");
      throw new ServiceError("method_not_allowed", `Method ${method} is not allowed here. Allowed: ${allow}.`, {
        allow,
      });
    });
  }

  async function prove() {
    // Proves one validator after the other, so that requests are served in between.
    for (const validator of validators.values()) await validator.prove();
  }

  return { router, prove };
}

const hasBody = ({ headers }: Request) =>
  headers["content-length"] !== undefined || headers["transfer-encoding"] !== undefined;

/**
 * True if the operation has constraints to validate (D27). A path parameter that may be any string has no constraint.
 */
function isConstrained({ requestBody, parameters = [] }: Operation): boolean {
  const isFree = ({ in: place, schema }: (typeof parameters)[number]) => place === "path" && isAnyString(schema);
  return requestBody !== undefined || !parameters.every(isFree);
}

/** True for a schema that accepts every string. Descriptions, examples and `x-…` extensions constrain nothing. */
function isAnyString(schema: object = {}): boolean {
  const name = "$ref" in schema ? String(schema.$ref).split("/").at(-1)! : undefined;
  const resolved = name === undefined ? schema : document.components.schemas[name as "ServiceReference"];
  const keywords = Object.keys(resolved).filter((key) => !/^(description|examples|x-.+)$/.test(key));
  return keywords.join() === "type" && "type" in resolved && resolved.type === "string";
}

const mayRecord: RequestHandler = (_req, res, next) => {
  stateOf(res).changes = [];
  next();
};

/** Each payment path has a separate validator, for speed. All sandbox paths share one (D27). */
const groupOf = (path: string): string => (path.startsWith("/sandbox/") ? "/sandbox/" : path);

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

type Handle = (call: Call<OperationId>) => Promise<unknown>;

function respond(
  handle: Handle,
  input: ReturnType<typeof declaredInput>,
  isLost: Options["losesResponse"],
): RequestHandler {
  return async (req, res) => {
    const state = stateOf(res);
    const [merchant, keyId] = [stated(res, "merchant"), stated(res, "keyId")];
    const call = {
      merchant,
      actor: `key ${keyId}`,
      keyId,
      refusal: state.refusal,
      traceparent: state.trace && traceparentOf(state.trace),
      path: req.params,
      query: input.query(req.query),
      body: input.body(req.body),
    };
    const run = () => handle(call as unknown as Call<OperationId>);
    const data = await (state.changes ? noteChanges(state.changes, run) : run());
    if (isLost(merchant)) throw new ConnectionDropped();
    if (data instanceof CsvPage) return data.send(req, res);
    const returned = { statusCode: 200, data };
    state.returned = returned;
    sendJson(res, returned);
  };
}
