// Reads the requests of a client, and judges each by the contract.
import { routeOf } from "../../contract/contract.ts";
import { parametersOf, readBody } from "../../model/input.ts";
import type { Call as Request } from "../../model/messages.ts";
import type { Entry } from "./entries.ts";

export type ReadRequest = Omit<Request, "body"> & {
  kind: "create" | "read" | "list" | "other";
  key: string | undefined;
  text: string;
  /** The body of a create; undefined if it is not valid. */
  body?: Entry | undefined;
  /** The service's reference of a read, or the merchant's reference that a list is filtered by. */
  reference?: string | undefined;
  /** What is wrong with the request by the contract, one line each. */
  faults: string[];
};

const path = "/v1/disbursements";

const listParameters = new Set(parametersOf(path).parameters.map(({ name }) => name));

/** @param key the key that the client was given */
export function readRequest(request: Request, key: string): ReadRequest {
  const { body: bytes, ...rest } = request;
  const { method, path: target, headers } = rest;
  const [sentKey] = [headers["x-api-key"]].flat();
  const faults: string[] = [];
  if (!routeOf(method, target)) faults.push(`${method} ${target} is not an operation of the contract`);
  if (sentKey === undefined) faults.push("the request has no x-api-key");
  else if (sentKey !== key) faults.push("x-api-key is not the given key");
  if (target.includes(key)) faults.push("the URL contains the key");
  const read = { ...rest, key: sentKey, text: bytes.toString("utf8"), faults };
  /** Returns what a function reads. If the function throws, notes the fault and returns undefined. */
  const readOrFault = <T>(work: () => T): T | undefined => {
    try {
      return work();
    } catch (error) {
      faults.push((error as Error).message);
      return undefined;
    }
  };
  const { pathname, searchParams } = new URL(target, "http://service");
  if (method === "POST" && pathname === path) {
    return { ...read, kind: "create", body: readOrFault(() => readBody(request, "DisbursementRequest")) };
  }
  if (method === "GET" && pathname === path) {
    const unknown = [...searchParams.keys()].filter((name) => !listParameters.has(name));
    faults.push(...unknown.map((name) => `the list has no parameter ${name}`));
    return { ...read, kind: "list", reference: searchParams.get("merchantsReference") ?? undefined };
  }
  const [, segment] = /^\/v1\/disbursements\/([^/]+)$/.exec(pathname) ?? [];
  if (method !== "GET" || segment === undefined) return { ...read, kind: "other" };
  return { ...read, kind: "read", reference: readOrFault(() => decodeURIComponent(segment)) };
}
