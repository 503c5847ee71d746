// Reads the requests of a client, and judges each by the contract.
import { openapi, routeOf } from "../../contract/contract.ts";
import { createValidators } from "../../contract/validate.ts";
import type { Call as Request } from "../../model/messages.ts";
import type { Entry } from "./entries.ts";

export type ReadRequest = Omit<Request, "body"> & {
  kind: "create" | "read" | "list" | "other";
  key: string | undefined;
  text: string;
  /** The body of a create; undefined if it is not valid. */
  body?: Entry;
  /** The service's reference of a read, or the merchant's reference that a list is filtered by. */
  reference?: string | undefined;
};

const path = "/v1/disbursements";
const bodyFaultsOf = createValidators("extended")("DisbursementRequest");

type Parameter = { name: string; $ref?: string };
const { parameters } = openapi.components as unknown as { parameters: Record<string, Parameter> };
const listed = new Set(
  (openapi.paths[path]["get"] as unknown as { parameters: Parameter[] }).parameters.map(
    ({ name, $ref }) => name ?? parameters[$ref!.split("/").at(-1)!]!.name,
  ),
);

/** Returns the result of a function; undefined if it throws. */
function attempt<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}

export function readRequest({ body: bytes, ...request }: Request): ReadRequest {
  const text = bytes.toString("utf8");
  const { method, path: target, headers } = request;
  const base = { ...request, key: [headers["x-api-key"]].flat()[0], text };
  const { pathname, searchParams } = new URL(target, "http://service");
  if (method === "POST" && pathname === path) {
    const body = attempt(() => JSON.parse(text) as Entry);
    return { ...base, kind: "create", ...(body && bodyFaultsOf(body).length === 0 ? { body } : {}) };
  }
  if (method === "GET" && pathname === path) {
    return { ...base, kind: "list", reference: searchParams.get("merchantsReference") ?? undefined };
  }
  const [, segment] = /^\/v1\/disbursements\/([^/]+)$/.exec(pathname) ?? [];
  if (method !== "GET" || segment === undefined) return { ...base, kind: "other" };
  return { ...base, kind: "read", reference: attempt(() => decodeURIComponent(segment)) ?? segment };
}

/** Returns what is wrong with a request by the contract, one line each. */
export function requestFaults({ kind, method, headers, text, path: target, key: sentKey }: ReadRequest, key: string) {
  const faults: string[] = [];
  if (!routeOf(method, target)) faults.push(`${method} ${target} is not an operation of the contract`);
  if (sentKey === undefined) faults.push("the request has no x-api-key");
  else if (sentKey !== key) faults.push("x-api-key is not the given key");
  if (target.includes(key)) faults.push("the URL contains the key");
  if (kind === "create") {
    const type = String(headers["content-type"] ?? "missing");
    if (!/^application\/json\s*(;|$)/i.test(type)) {
      faults.push(`the content-type is ${type} instead of application/json`);
    }
    faults.push(...bodyFaultsOf(attempt(() => JSON.parse(text) as unknown)));
  }
  if (kind === "list") {
    const names = [...new URL(target, "http://service").searchParams.keys()];
    faults.push(...names.filter((name) => !listed.has(name)).map((name) => `the list has no parameter ${name}`));
  }
  return faults;
}
