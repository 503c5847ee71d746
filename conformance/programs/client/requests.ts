// Reads the requests of a client, and judges each by the contract.
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { openapi, routeOf } from "../../contract/contract.ts";
import { createValidators } from "../../contract/validate.ts";
import type { Entry } from "./entries.ts";

export type ReadRequest = {
  kind: "create" | "read" | "list" | "other";
  method: string;
  /** The path and query. */
  path: string;
  headers: IncomingHttpHeaders;
  key: string | undefined;
  text: string;
  /** The body of a create; undefined if it is not valid. */
  body?: Entry;
  /** The service's reference of a read, or the merchant's reference that a list is filtered by. */
  reference?: string;
};

const path = "/v1/disbursements";
const requestFaultsOf = createValidators("extended")("DisbursementRequest");
const listed = new Set(
  (openapi.paths[path]["get"] as unknown as { parameters: { name?: string; $ref?: string }[] }).parameters.map(
    ({ name, $ref }) => name ?? parameterName($ref!),
  ),
);

function parameterName(ref: string): string {
  const { parameters } = openapi.components as unknown as { parameters: Record<string, { name: string }> };
  return parameters[ref.split("/").at(-1)!]!.name;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Reads a request to its end. */
export async function readRequest(request: IncomingMessage): Promise<ReadRequest> {
  const text = Buffer.concat(await request.toArray()).toString("utf8");
  const { method = "", url: target = "", headers } = request;
  const base = { method, path: target, headers, key: [headers["x-api-key"]].flat()[0], text };
  const [pathname = "", query] = target.split("?", 2);
  if (method === "POST" && pathname === path) {
    const body = parsed(text);
    return { ...base, kind: "create", ...(requestFaultsOf(body).length === 0 ? { body: body as Entry } : {}) };
  }
  if (method === "GET" && pathname === path) {
    const reference = new URLSearchParams(query).get("merchantsReference");
    return { ...base, kind: "list", ...(reference === null ? {} : { reference }) };
  }
  const [, segment] = /^\/v1\/disbursements\/([^/]+)$/.exec(pathname) ?? [];
  if (method === "GET" && segment !== undefined) return { ...base, kind: "read", reference: decoded(segment) };
  return { ...base, kind: "other" };
}

/** Returns what is wrong with a request by the contract, one line each. */
export function requestFaults(request: ReadRequest, key: string): string[] {
  const { kind, method, headers, text } = request;
  const faults: string[] = [];
  if (!routeOf(method, request.path)) faults.push(`${method} ${request.path} is not an operation of the contract`);
  if (request.key === undefined) faults.push("the request has no x-api-key");
  else if (request.key !== key) faults.push("x-api-key is not the given key");
  if (request.path.includes(key)) faults.push("the URL contains the key");
  if (kind === "create") {
    if (!/^application\/json\s*(;|$)/i.test(headers["content-type"] ?? "")) {
      faults.push(`the content-type is ${headers["content-type"] ?? "missing"} instead of application/json`);
    }
    faults.push(...requestFaultsOf(parsed(text)));
  }
  if (kind === "list") {
    const names = [...new URLSearchParams(request.path.split("?", 2)[1]).keys()];
    faults.push(...names.filter((name) => !listed.has(name)).map((name) => `the list has no parameter ${name}`));
  }
  return faults;
}
