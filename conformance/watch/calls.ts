// Reads an exchange as the suite's rules expect it: the documented operation, the bodies' values, and what is known of it.
import { routeOf } from "../contract/contract.ts";
import type { Validator } from "../contract/validate.ts";
import type { Effect } from "../results.ts";
import type { TargetResponse } from "../target/exchange.ts";
import { parsedJson } from "../target/values.ts";
import type { Body, Exchange, Headers } from "./traffic.ts";

export type Fields = Record<string, unknown>;

export type Call = {
  exchange: Exchange;
  /** The path from `/v1/` or `/sandbox/` on, without the query. */
  path: string;
  operation: string;
  /** The request's body: undefined if it is not known, or not JSON. */
  sent: unknown;
  /** The response, as the suite's rules read it; undefined if there was none. */
  response: TargetResponse | undefined;
  status: number;
  /** The fields of `data` in the response. */
  data: Fields;
  /** True if the source recorded all headers of the request, or of the response. */
  hasAllHeaders: { request: boolean; response: boolean };
};

export const isKnown = (body: Body | undefined): body is string => typeof body === "string";
export const isObject = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Every HTTP client sends a host, and every server a date. A log without them has a selection of the headers. */
const isComplete = (headers: Headers | undefined, name: string) => headers?.[name] !== undefined;

/** The schema of the request of each create. */
export const requestSchemas: Record<string, string> = {
  createDisbursement: "DisbursementRequest",
  createCheckout: "CheckoutRequest",
};

function effectOf(
  { method, body }: Exchange,
  operation: string,
  sent: unknown,
  validator: (schema: string) => Validator,
) {
  if (method === "GET" || method === "HEAD") return "none";
  const schema = requestSchemas[operation];
  // Whether the service must reject an unknown body is not known. A rule about rejected requests must not apply.
  const isValid = !isKnown(body) || schema === undefined || (isObject(sent) && validator(schema)(sent).length === 0);
  return isValid ? "moves-money" : "must-be-rejected";
}

/** Splits a path before `/v1/` or `/sandbox/`: a gateway may serve the API below another path. */
function splitPath(path: string): [prefix: string, rest: string] {
  if (path.startsWith("/v1/")) return ["", path];
  const [prefix = ""] = /^(\/[\w~-]+)+(?=\/v1\/)|^(\/[\w~-]+)+(?=\/sandbox\/)/.exec(path) ?? [];
  return [prefix, path.slice(prefix.length)];
}

/** Returns a function that reads exchanges, in the order of their arrival. */
export function createCallReader(validator: (schema: string) => Validator) {
  // Until a path below another one succeeds, only paths without a prefix are the API. A wrong path is not the API.
  let prefixes: ReadonlySet<string> = new Set([""]);
  let hasPlain = false;

  return (exchange: Exchange): Call => {
    const [prefix, rest] = splitPath(exchange.path);
    const isAccepted = exchange.response?.status === 200 && routeOf(exchange.method, rest) !== undefined;
    hasPlain ||= isAccepted && prefix === "";
    if (isAccepted && !prefixes.has(prefix))
      prefixes = new Set([...(hasPlain ? [""] : []), ...[...prefixes].filter((each) => each !== ""), prefix]);
    return readCall(exchange, prefixes.has(prefix) ? rest : `/other${exchange.path}`, validator);
  };
}

function readCall(exchange: Exchange, path: string, validator: (schema: string) => Validator): Call {
  const { method, headers, body, response: received } = exchange;
  const operation = routeOf(method, path)?.operation.operationId ?? "";
  const sent = isKnown(body) && body !== "" ? parsedJson(body) : undefined;
  const effect: Effect = effectOf(exchange, operation, sent, validator);
  const text = isKnown(received?.body) ? received.body : "";
  const response: TargetResponse | undefined = received && {
    request: {
      method,
      path,
      effect,
      headers: headers as Record<string, string>,
      json: sent,
      body: isKnown(body) ? body : "",
    },
    // The texts of faults quote this, so it has no text of the service.
    exchange: { responseBody: `a body of ${text.length} characters` } as TargetResponse["exchange"],
    status: received.status,
    headers: received.headers as Record<string, string>,
    ...(received.continued ? { continued: true } : {}),
    text,
    json: text === "" ? undefined : parsedJson(text),
  };
  const { data } = (response?.json ?? {}) as { data?: unknown };
  return {
    exchange,
    path: path.split("?")[0]!,
    operation,
    sent,
    response,
    status: received?.status ?? 0,
    data: isObject(data) ? data : {},
    hasAllHeaders: {
      request: isComplete(headers, "host") || isComplete(headers, ":authority"),
      response: isComplete(received?.headers, "date"),
    },
  };
}
