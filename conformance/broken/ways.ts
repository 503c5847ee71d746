// Building blocks for faults in requests and responses.
import { isUtf8 } from "node:buffer";
import { routeOf } from "../contract/contract.ts";
import type { Call, Hooks, Reply } from "./fault.ts";

export type Fields = Record<string, unknown>;

export const createDisbursement = "createDisbursement";
export const verifyDisbursement = "verifyDisbursement";
export const createCheckout = "createCheckout";
export const verifyCheckout = "verifyCheckout";
/** The operations of the interface document. */
export const described = [createDisbursement, verifyDisbursement, createCheckout];

type Operations = string | readonly string[];

/** Returns true if the request is for one of these operations. `every` matches any request. */
export const isOf = ({ method, path }: Call, operations: Operations): boolean =>
  operations === "every" || [operations].flat().includes(routeOf(method, path)?.operation.operationId ?? "");

/** Returns the name of the field that the contract does not know; undefined if there is none. */
export const extraIn = (fields: Fields) => Object.keys(fields).find((name) => name.endsWith("Extra"));
export const hasExtra = (fields: Fields) => extraIn(fields) !== undefined;

/** Parses a body as a JSON object. Returns undefined if the body is anything else. */
export function fieldsOf(text: string | Buffer): Fields | undefined {
  try {
    const value: unknown = JSON.parse(String(text));
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : undefined;
  } catch {
    return undefined;
  }
}

export const without = (fields: Fields, ...names: string[]): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)));
export const dataOf = (reply: Reply): Fields => (fieldsOf(reply.text)?.["data"] ?? {}) as Fields;
export const keyOf = ({ headers }: Call): string | undefined => headers["x-api-key"]?.toString();
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
export const isError = ({ status }: Reply) => status >= 400;
export const isAccepted = ({ status }: Reply) => status >= 200 && status < 300;

export const withKey = (call: Call, key: string): Call => ({ ...call, headers: { ...call.headers, "x-api-key": key } });
export const withFields = (call: Call, fields: unknown): Call => ({
  ...call,
  body: Buffer.from(JSON.stringify(fields)),
});
export const withHeader = (reply: Reply, name: string, value?: string): Reply => {
  const headers = without(reply.headers, name) as Reply["headers"];
  return { ...reply, headers: value === undefined ? headers : { ...headers, [name]: value } };
};
export const withBody = (reply: Reply, body: unknown): Reply => ({ ...reply, text: JSON.stringify(body) });
/** Changes the status of a response and the statusCode in its body. */
export const withStatus = (reply: Reply, status: number): Reply => ({
  ...withBody(reply, { ...fieldsOf(reply.text), statusCode: status }),
  status,
});

/** Builds an error response with the fields of §7. */
export const refusal = (status: number, message = "The request was refused."): Reply => ({
  status,
  headers: { "content-type": "application/json; charset=utf-8", "x-request-id": "req_0000000000000000" },
  text: JSON.stringify({ statusCode: status, error: "Refused", message }),
});
export const html = (status: number): Reply => ({
  status,
  headers: { "content-type": "text/html" },
  text: `<html><body><h1>${status}</h1></body></html>`,
});

/** Changes the responses to these operations. If `change` returns undefined, the connection is closed. */
export const responses = (operations: Operations, change: (reply: Reply, call: Call) => Reply | undefined): Hooks => ({
  async handle(call, ask) {
    const reply = await ask(call);
    return reply && isOf(call, operations) ? change(reply, call) : reply;
  },
});

/** Changes `data` in the successful responses to these operations. */
export const data = (operations: Operations, change: (data: Fields, call: Call) => unknown): Hooks =>
  responses(operations, (reply, call) =>
    isAccepted(reply) ? withBody(reply, { ...fieldsOf(reply.text), data: change(dataOf(reply), call) }) : reply,
  );

/** Changes the body of the error responses to these operations. */
export const errors = (operations: Operations, change: (body: Fields, reply: Reply) => unknown): Hooks =>
  responses(operations, (reply) =>
    isError(reply) ? withBody(reply, change(fieldsOf(reply.text) ?? {}, reply)) : reply,
  );

/**
 * Changes JSON request bodies before the server reads them. If `change` returns its argument, the request is unchanged.
 */
export const requests = (operations: Operations, change: (fields: Fields, call: Call) => Fields): Hooks => ({
  handle(call, ask) {
    // The sound server refuses bytes that are not UTF-8, which decoding would replace.
    const fields = isOf(call, operations) && isUtf8(call.body) ? fieldsOf(call.body) : undefined;
    const changed = fields && change(fields, call);
    return ask(changed === fields ? call : withFields(call, changed));
  },
});

export const isFraction = (value: unknown) => typeof value === "number" && !Number.isInteger(value);

/** Removes a query parameter from every request. */
export const withoutFilter = (name: string) =>
  ({
    handle: (call, ask) => ask({ ...call, path: call.path.replace(new RegExp(`\\b${name}=[^&]*`), "") }),
  }) satisfies Hooks;

/** Replaces an invalid value of a field with a valid one, so that the server accepts what it must refuse. */
export const accepts = (
  operations: Operations,
  field: string,
  isInvalid: (value: unknown) => boolean,
  valid: (value: unknown, fields: Fields) => unknown,
): Hooks =>
  requests(operations, (fields) =>
    isInvalid(fields[field]) ? { ...fields, [field]: valid(fields[field], fields) } : fields,
  );

/** Responds to matching requests directly, instead of forwarding them to the sound server. */
export const instead = (
  operations: Operations,
  fits: (fields: Fields, call: Call) => boolean,
  reply: (fields: Fields, call: Call) => Reply | undefined,
): Hooks => ({
  async handle(call, ask) {
    const fields = fieldsOf(call.body) ?? {};
    return isOf(call, operations) && fits(fields, call) ? reply(fields, call) : ask(call);
  },
});

/**
 * Gives disbursements other service references, and maps these back to the original references when a client looks them
 * up. `make` receives the number of references made so far.
 */
export const otherReferences = (make: (before: number) => string): Hooks => {
  const given = new Map<string, string>();
  return {
    async handle(call, ask) {
      const inner = isOf(call, verifyDisbursement) ? given.get(lastPart(call)) : undefined;
      const reply = await ask(inner === undefined ? call : { ...call, path: `/v1/disbursements/${inner}` });
      if (!reply || !isAccepted(reply) || !isOf(call, [createDisbursement, verifyDisbursement])) return reply;
      const reference = inner === undefined ? make(given.size) : lastPart(call);
      if (inner === undefined) given.set(reference, String(dataOf(reply)["reference"]));
      return withBody(reply, { statusCode: 200, data: { ...dataOf(reply), reference } });
    },
  };
};

/** Moves a time of a record, in milliseconds. */
export const shifted = (time: unknown, ms: number): string => new Date(Date.parse(String(time)) + ms).toISOString();
