// Reads and changes requests, for faults.
import type { operations } from "../../generated/openapi.ts";
import { routeOf } from "../contract/contract.ts";
import type { Call, World } from "./fault.ts";

export type Fields = Record<string, unknown>;

/** The operations that the interface document describes. */
export const described: readonly Operation[] = ["createDisbursement", "verifyDisbursement", "createCheckout"];

/** The operations that create payments. */
export const creates: readonly Operation[] = ["createDisbursement", "createCheckout"];

/** The lists of payments. */
export const lists: readonly Operation[] = ["listDisbursements", "listCheckouts"];

export type Operation = keyof operations;
export type Operations = Operation | "every" | readonly Operation[];

/** Returns true if the request is for one of these operations. `every` matches any request. */
export const isOf = ({ method, path }: Call, operations: Operations): boolean =>
  operations === "every" || [operations].flat().some((id) => id === routeOf(method, path)?.operation.operationId);

/** Parses a body as a JSON object. Returns undefined if the body is anything else. */
export function fieldsOf(text: string | Buffer): Fields | undefined {
  try {
    const value: unknown = JSON.parse(String(text));
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the fields of a request; an empty object if its body is not a JSON object. */
export const sent = ({ body }: Call): Fields => fieldsOf(body) ?? {};

/** Returns the fields of a request that creates a disbursement; undefined for any other request. */
export const disbursementIn = (call: Call): Fields | undefined =>
  isOf(call, "createDisbursement") ? fieldsOf(call.body) : undefined;

/** Returns a text field of a body, even if the body is malformed. */
export const textIn = ({ body }: Call, field: string) =>
  new RegExp(`["']${field}["']\\s*:\\s*["']([^"']*)["']`).exec(body.toString())?.[1];

export const isText = (value: unknown): value is string => typeof value === "string";

export const without = (fields: Fields, ...names: string[]): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)));

/** Returns the name of the undocumented field that a check has added; undefined if there is none. */
export const extraIn = (fields: Fields) => Object.keys(fields).find((name) => name.endsWith("Extra"));

/** Returns a record's time, moved by some milliseconds. */
export const shifted = (time: unknown, ms: number): string => new Date(Date.parse(String(time)) + ms).toISOString();

/** Returns a function that swaps the arguments of two calls within `ms`. A call without a partner gets its own back. */
export const exchangesWithin = <T>(ms: number, { sleep }: World) => {
  let waiting: { own: T; resolve: (other: T) => void } | undefined;
  return async (own: T): Promise<T> => {
    const earlier = waiting;
    waiting = undefined;
    earlier?.resolve(own);
    if (earlier) return earlier.own;
    const { promise, resolve } = Promise.withResolvers<T>();
    const mine = { own, resolve };
    waiting = mine;
    const other = await Promise.race([promise, sleep(ms)]);
    if (waiting === mine) waiting = undefined;
    return other ?? own;
  };
};
/** Returns a function that returns true at every nth call. */
export const everyNth = (n: number) => {
  let count = 0;
  return () => (count += 1) % n === 0;
};

export const keyOf = ({ headers }: Call): string => headers["x-api-key"]?.toString() ?? "";

export const hasNoKey = ({ headers }: Call) => headers["x-api-key"] === undefined;

export const isOfSecond = (call: Call, { secondKey }: World) => keyOf(call) === secondKey;

export const typeOf = ({ headers }: Call) => String(headers["content-type"] ?? "");

export const pathOf = ({ path }: Call) => path.split("?")[0]!;

export const isPage = ({ path }: Call) => path.startsWith("/checkouts/");

/** Returns the last segment of the path, decoded and without the query. */
export function lastPart({ path }: Call): string {
  const part = path.split("?")[0]?.split("/").at(-1) ?? "";
  try {
    return decodeURIComponent(part);
  } catch {
    // Leave an invalid percent-encoding to the sound server.
    return part;
  }
}

export const withHeaders = (call: Call, headers: Call["headers"]): Call => ({
  ...call,
  headers: { ...call.headers, ...headers },
});

export const withKey = (call: Call, key: string): Call => withHeaders(call, { "x-api-key": key });

export const asJson = (call: Call): Call => withHeaders(call, { "content-type": "application/json" });

export const withFields = (call: Call, fields: unknown): Call => ({
  ...call,
  body: Buffer.from(JSON.stringify(fields)),
});
