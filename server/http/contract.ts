import type { RequestHandler, Router } from "express";
import express from "express";
import type { operations } from "../../generated/openapi.ts";
import document from "../../generated/openapi.json" with { type: "json" };
import { ApiError } from "../domain/errors.ts";
import { jsonBody } from "./json-body.ts";
import type { Merchant } from "../domain/storage.ts";
import { createValidator, type Validator } from "./validator.ts";

/** The operations that this server answers; the `on…` ones are what it calls (webhooks). */
type OperationId = Exclude<keyof operations, `on${string}`>;

type Parameters<Op extends OperationId, In extends "path" | "query"> = NonNullable<operations[Op]["parameters"][In]>;
type Body<Op extends OperationId> = operations[Op] extends {
  requestBody: { content: { "application/json": infer B } };
}
  ? B
  : undefined;
type Data<Op extends OperationId> = operations[Op]["responses"][200]["content"]["application/json"]["data"];

/** A request that has passed the contract. */
export interface Call<Op extends OperationId> {
  merchant: Merchant;
  path: Parameters<Op, "path">;
  query: Parameters<Op, "query">;
  body: Body<Op>;
}

/** One handler for every operation of the spec, by its operationId; a missing one does not compile. */
export type Handlers = { [Op in OperationId]: (call: Call<Op>) => Promise<Data<Op>> };

interface Options {
  handlers: Handlers;
  /** Whose request it is, from its key; runs before the body is read. */
  authenticate(key: string | undefined): Promise<Merchant>;
  /** Run once the merchant is known (in `res.locals.merchant`). */
  limits: RequestHandler[];
  /** Whether the paths under /sandbox exist (D18). */
  sandbox: boolean;
}

const METHODS = ["get", "post", "put", "patch", "delete"] as const;
interface Operation {
  operationId: string;
  requestBody?: object;
  parameters?: { in?: string; schema?: object }[];
}
type PathItem = Partial<Record<(typeof METHODS)[number], Operation>>;

export interface Contract {
  router: Router;
  /** Rejects when the contract cannot be used. */
  prove(): Promise<void>;
}

/** Express routes for every path of the spec, each request checked against it before its handler runs. */
export function createContract({ handlers, authenticate, limits, sandbox }: Options): Contract {
  const validators = new Map<string, Validator>();
  const validatorFor = (group: string): Validator => {
    const paths = Object.keys(document.paths).filter((path) => groupOf(path) === group);
    const validator = validators.get(group) ?? createValidator(paths);
    validators.set(group, validator);
    return validator;
  };
  const router = express.Router({ caseSensitive: true, strict: true });
  const identify: RequestHandler = async (req, res, next) => {
    res.locals.merchant = await authenticate(req.get("x-api-key"));
    next();
  };
  for (const [path, item] of Object.entries(document.paths as Record<string, PathItem>)) {
    if (path.startsWith("/sandbox/") && !sandbox) continue;
    const route = router.route(path.replace(/\{(\w+)\}/g, ":$1"));
    const allowed: string[] = [];
    for (const method of METHODS) {
      const operation = item[method];
      if (!operation) continue;
      allowed.push(...(method === "get" ? ["GET", "HEAD"] : [method.toUpperCase()]));
      // A body may take its time: whose key it is, and what time it is for that merchant, is asked again after it.
      const body = operation.requestBody ? [jsonBody, identify] : [];
      const check = isConstrained(operation) ? [validatorFor(groupOf(path)).check] : [];
      route[method](identify, ...limits, ...body, ...check, answer(handlers, operation.operationId as OperationId));
    }
    route.all(({ method }) => {
      throw new ApiError("method-not-allowed", `${method} is not for this path; see Allow.`, {
        Allow: allowed.join(", "),
      });
    });
  }

  async function prove() {
    // One after the other, so that requests get their turn in between.
    for (const validator of validators.values()) await validator.prove();
  }

  return { router, prove };
}

/** Whether there are requests that an operation refuses. A path with any text in it has none; to look would cost (D27). */
function isConstrained({ requestBody, parameters = [] }: Operation): boolean {
  const isFree = ({ in: place, schema }: (typeof parameters)[number]) =>
    place === "path" && JSON.stringify(schema) === '{"type":"string"}';
  return requestBody !== undefined || !parameters.every(isFree);
}

/** Payments are checked by a validator for each path, the sandbox by one for all: it has no need to be fast (D27). */
const groupOf = (path: string): string => (path.startsWith("/sandbox/") ? "/sandbox/" : path);

function answer<Op extends OperationId>(handlers: Handlers, operationId: Op): RequestHandler {
  const handler = handlers[operationId] as (call: Call<Op>) => Promise<Data<Op>>;
  return async (req, res) => {
    const { merchant } = res.locals as { merchant: Merchant };
    const data = await handler({ merchant, path: req.params, query: req.query, body: req.body } as unknown as Call<Op>);
    res.json({ statusCode: 200, data });
  };
}
