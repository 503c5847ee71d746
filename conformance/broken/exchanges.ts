// Building blocks for faults in requests and responses.
import { isUtf8 } from "node:buffer";
import { routeOf } from "../contract/contract.ts";
import type { Ask, Call, How, Reply, World } from "./fault.ts";

export type Fields = Record<string, unknown>;

export const createDisbursement = "createDisbursement";
export const verifyDisbursement = "verifyDisbursement";
export const createCheckout = "createCheckout";
export const verifyCheckout = "verifyCheckout";
/** The operations of the interface document. */
export const described = [createDisbursement, verifyDisbursement, createCheckout];
/** The operations that create payments. */
export const creates = [createDisbursement, createCheckout];
/** The lists of payments. */
export const lists = ["listDisbursements", "listCheckouts"];

type Operations = string | readonly string[];

/** Returns true if the request is for one of these operations. `every` matches any request. */
export const isOf = ({ method, path }: Call, operations: Operations): boolean =>
  operations === "every" || [operations].flat().includes(routeOf(method, path)?.operation.operationId ?? "");

/** Parses a body as a JSON object. Returns undefined if the body is anything else. */
export function fieldsOf(text: string | Buffer): Fields | undefined {
  try {
    const value: unknown = JSON.parse(String(text));
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : undefined;
  } catch {
    return undefined;
  }
}
/** Returns the fields of a request, or none. */
export const sent = ({ body }: Call): Fields => fieldsOf(body) ?? {};
/** Returns the fields of a request that creates a disbursement; undefined for any other request. */
export const disbursementIn = (call: Call): Fields | undefined =>
  isOf(call, createDisbursement) ? fieldsOf(call.body) : undefined;
/** Returns a text field of a body, even if the body is malformed. */
export const textIn = ({ body }: Call, field: string) =>
  new RegExp(`["']${field}["']\\s*:\\s*["']([^"']*)["']`).exec(body.toString())?.[1];

export const isText = (value: unknown): value is string => typeof value === "string";
export const without = (fields: Fields, ...names: string[]): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)));
/** Returns the name of the field that the contract does not know; undefined if there is none. */
export const extraIn = (fields: Fields) => Object.keys(fields).find((name) => name.endsWith("Extra"));
/** Moves a time of a record, in milliseconds. */
export const shifted = (time: unknown, ms: number): string => new Date(Date.parse(String(time)) + ms).toISOString();
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

export const isError = ({ status }: Reply) => status >= 400;
export const isAccepted = ({ status }: Reply) => status >= 200 && status < 300;
export const dataOf = (reply: Reply): Fields => (fieldsOf(reply.text)?.["data"] ?? {}) as Fields;
export const itemsOf = (reply: Reply) => (dataOf(reply)["items"] ?? []) as Fields[];
export const withHeader = (reply: Reply, name: string, value?: string): Reply => {
  const headers = without(reply.headers, name) as Reply["headers"];
  return { ...reply, headers: value === undefined ? headers : { ...headers, [name]: value } };
};
export const withBody = (reply: Reply, body: unknown): Reply => ({ ...reply, text: JSON.stringify(body) });
export const withData = (reply: Reply, data: unknown): Reply => withBody(reply, { ...fieldsOf(reply.text), data });
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
export const success = (data: unknown): Reply => withBody(refusal(200), { statusCode: 200, data });
export const html = (status: number): Reply => ({
  status,
  headers: { "content-type": "text/html" },
  text: `<html><body><h1>${status}</h1></body></html>`,
});

/** Handles each request in place of forwarding it. */
export const handles =
  (handle: (call: Call, ask: Ask, world: World) => ReturnType<Ask>): How =>
  (world) => ({ handle: (call, ask) => handle(call, ask, world) });

/** Forwards each request changed. */
export const forwards = (change: (call: Call, world: World) => Call): How =>
  handles((call, ask, world) => ask(change(call, world)));

/** Changes the responses to these operations. If `change` returns undefined, the connection is closed. */
export const responses = (
  operations: Operations,
  change: (reply: Reply, call: Call, world: World) => Reply | undefined,
): How =>
  handles(async (call, ask, world) => {
    const reply = await ask(call);
    return reply && isOf(call, operations) ? change(reply, call, world) : reply;
  });

/** Changes the payment pages. */
export const pages = (change: (reply: Reply, call: Call) => Reply): How =>
  responses("every", (reply, call) => (isPage(call) ? change(reply, call) : reply));

/** Changes `data` in the successful responses to these operations. */
export const data = (operations: Operations, change: (data: Fields, call: Call) => unknown): How =>
  responses(operations, (reply, call) => (isAccepted(reply) ? withData(reply, change(dataOf(reply), call)) : reply));
/** Changes what the creation of a disbursement returns. */
export const results = (change: (created: Fields, call: Call) => unknown) => data(createDisbursement, change);
/** Changes what verify returns. */
export const records = (change: (record: Fields, call: Call) => unknown) => data(verifyDisbursement, change);
/** Changes the items of a list. */
export const items = (operations: Operations, change: (items: Fields[], call: Call) => unknown) =>
  data(operations, (page, call) => ({ ...page, items: change(page["items"] as Fields[], call) }));

/** Changes the body of the error responses to these operations. */
export const errors = (operations: Operations, change: (body: Fields, reply: Reply) => unknown): How =>
  responses(operations, (reply) =>
    isError(reply) ? withBody(reply, change(fieldsOf(reply.text) ?? {}, reply)) : reply,
  );

/** Returns one status instead of another to matching requests for these operations. */
export const statuses = (
  operations: Operations,
  from: number,
  to: number,
  fits: (fields: Fields | undefined, call: Call) => boolean = () => true,
): How =>
  responses(operations, (reply, call) =>
    reply.status === from && fits(fieldsOf(call.body), call) ? withStatus(reply, to) : reply,
  );

/**
 * Changes JSON request bodies before the server reads them. If `change` returns its argument, the request is unchanged.
 */
export const requests = (operations: Operations, change: (fields: Fields, call: Call) => Fields): How =>
  forwards((call) => {
    // The sound server refuses bytes that are not UTF-8, which decoding would replace.
    const fields = isOf(call, operations) && isUtf8(call.body) ? fieldsOf(call.body) : undefined;
    const changed = fields && change(fields, call);
    return changed === fields ? call : withFields(call, changed);
  });
/** Changes a text field of a request before the server reads it. */
export const texts = (operations: Operations, field: string, change: (text: string) => string): How =>
  requests(operations, (fields) => {
    const value = fields[field];
    return isText(value) ? { ...fields, [field]: change(value) } : fields;
  });
/** Replaces an invalid value of a field with a valid one, so that the server accepts what it must refuse. */
export const accepts = (
  operations: Operations,
  field: string,
  isInvalid: (value: unknown) => boolean,
  valid: (value: unknown) => unknown,
): How =>
  requests(operations, (fields) => (isInvalid(fields[field]) ? { ...fields, [field]: valid(fields[field]) } : fields));
/** Removes a query parameter from the requests for these operations. */
export const ignoresQuery = (name: string, operations: Operations = "every"): How =>
  forwards((call) =>
    isOf(call, operations) ? { ...call, path: call.path.replace(new RegExp(`\\b${name}=[^&]*`), "") } : call,
  );

/** Refuses matching requests for these operations. */
export const refuses = (
  fits: (fields: Fields, call: Call) => boolean,
  status: number | Reply = 422,
  operations: Operations = createDisbursement,
): How =>
  handles(async (call, ask) => {
    if (!isOf(call, operations) || !fits(sent(call), call)) return ask(call);
    return typeof status === "number" ? refusal(status) : status;
  });

/** Gives matching requests for these operations the first merchant's key, so that the sound server accepts them. */
export const opens = (operations: Operations, fits: (call: Call, world: World) => boolean): How =>
  forwards((call, world) => (isOf(call, operations) && fits(call, world) ? withKey(call, world.key) : call));

/** The first accepted request with a reference. */
type First = { fields: Fields; call: Call; at: number; isUnderWay: boolean };

/**
 * Pays a repeated reference if `when` returns true. Responses and webhooks have the reference of the request, so that
 * only the second payment is wrong.
 */
export const paysAgain =
  (when: (fields: Fields, first: First, call: Call) => boolean, operation = createDisbursement): How =>
  () => {
    const known = new Map<string, First>();
    const again: unknown[] = [];
    const asSent = (text: string) => text.replaceAll(/"again-(\d+)"/g, (_, place) => JSON.stringify(again[place]));
    const pay = async (call: Call, ask: Ask) => {
      const fields = isOf(call, operation) ? fieldsOf(call.body) : undefined;
      const reference = fields?.["reference"];
      if (!fields || !isText(reference)) return ask(call);
      const name = `${keyOf(call)} ${reference}`;
      const first = known.get(name);
      if (first && when(fields, first, call))
        return ask(withFields(call, { ...fields, reference: `again-${again.push(reference) - 1}` }));
      const entry = first ?? { fields, call, at: Date.now(), isUnderWay: true };
      known.set(name, entry);
      const reply = await ask(call);
      if (!first && (!reply || !isAccepted(reply))) known.delete(name);
      if (!first) entry.isUnderWay = false;
      return reply;
    };
    return {
      async handle(call, ask) {
        const reply = await pay(call, ask);
        return reply && { ...reply, text: asSent(reply.text) };
      },
      webhook: (message, deliver) => deliver({ ...message, body: asSent(message.body) }),
    };
  };

/** Refuses a reference with 409 if another reference of the merchant has the same key. */
export const confuses =
  (key: (reference: string) => string, reply: (first: Reply) => Reply = () => refusal(409)): How =>
  () => {
    const used = new Map<string, { reference: string; reply: Reply }>();
    return handles(async (call, ask) => {
      const reference = disbursementIn(call)?.["reference"];
      if (!isText(reference)) return ask(call);
      const name = `${keyOf(call)} ${key(reference)}`;
      const first = used.get(name);
      if (first && first.reference !== reference) return reply(first.reply);
      const own = await ask(call);
      if (own && isAccepted(own)) used.set(name, { reference, reply: own });
      return own;
    });
  };

/** Shows changed fields in records. `changeOf` returns the fields that a request changes, and the record's reference. */
export const changesRecords =
  (changeOf: (call: Call, reply: Reply) => readonly [reference: unknown, change: Fields] | undefined): How =>
  () => {
    const changed = new Map<unknown, Fields>();
    return handles(async (call, ask) => {
      const reply = await ask(call);
      if (!reply) return reply;
      const change = changeOf(call, reply);
      if (change) changed.set(...change);
      if (!isOf(call, verifyDisbursement) || !isAccepted(reply)) return reply;
      const record = dataOf(reply);
      const { reference, merchantsReference } = record;
      return withData(reply, { ...record, ...changed.get(reference), ...changed.get(merchantsReference) });
    });
  };

/** Returns true for a record that was first seen at least `oldAge` ago. */
export const ageing = ({ oldAge }: World) => {
  const born = new Map<unknown, number>();
  return (reference: unknown) => {
    const since = born.get(reference) ?? Date.now();
    born.set(reference, since);
    return Date.now() - since > oldAge;
  };
};

/** Returns 404 for each new record for a time. */
export const readsLate =
  (ms: number): How =>
  () => {
    const hidden = new Map<unknown, number>();
    return responses([createDisbursement, verifyDisbursement], (reply, call) => {
      if (!isAccepted(reply)) return reply;
      if (isOf(call, createDisbursement)) hidden.set(dataOf(reply)["reference"], performance.now() + ms);
      else if (performance.now() < (hidden.get(lastPart(call)) ?? 0)) return refusal(404);
      return reply;
    });
  };

/**
 * Gives disbursements other service references, and maps these back to the original references when a client looks them
 * up. `make` receives the number of references made so far.
 */
export const otherReferences =
  (make: (before: number) => string): How =>
  () => {
    const given = new Map<string, string>();
    return handles(async (call, ask) => {
      const inner = isOf(call, verifyDisbursement) ? given.get(lastPart(call)) : undefined;
      const reply = await ask(inner === undefined ? call : { ...call, path: `/v1/disbursements/${inner}` });
      if (!reply || !isAccepted(reply) || !isOf(call, [createDisbursement, verifyDisbursement])) return reply;
      const reference = inner === undefined ? make(given.size) : lastPart(call);
      if (inner === undefined) given.set(reference, String(dataOf(reply)["reference"]));
      return withData(reply, { ...dataOf(reply), reference });
    });
  };

/**
 * Caches successful responses, and sends them in response to requests whose key is refused.
 * @param nameOf returns the name under which a request's response is cached; undefined if it is not cached
 */
export const caches =
  (operations: Operations, nameOf: (call: Call, world: World) => string | undefined): How =>
  () => {
    const cached = new Map<string, Reply>();
    return handles(async (call, ask, world) => {
      const isRead = isOf({ ...call, method: call.method === "HEAD" ? "GET" : call.method }, operations);
      const name = isRead ? nameOf(call, world) : undefined;
      const reply = await ask(call);
      if (name === undefined || !reply) return reply;
      if (isAccepted(reply)) cached.set(name, reply);
      return reply.status === 401 ? (cached.get(name) ?? reply) : reply;
    });
  };

/** Returns true for a refused request on which a server nevertheless acts. */
export type Fits = (call: Call, reply: Reply, world: World) => boolean;

/** Acts on matching requests after the sound server has refused them. */
export const afterRefusal = (fits: Fits, act: (call: Call, ask: Ask, world: World) => Promise<unknown>): How =>
  handles(async (call, ask, world) => {
    const reply = await ask(call);
    if (reply && isError(reply) && fits(call, reply, world)) await act(call, ask, world);
    return reply;
  });

/** Pays a disbursement with the values that can be read from a request. */
export async function payFrom(call: Call, ask: Ask, world: World) {
  const given = { reference: textIn(call, "reference"), webhookURL: textIn(call, "webhookURL") };
  const fields = { amount: 100, phoneNumber: "2257038102473", country: "CI", currency: "XOF", ...given };
  const create = { method: "POST", path: "/v1/disbursements", headers: {}, body: Buffer.alloc(0) };
  return ask(withKey(asJson(withFields(create, fields)), world.key));
}

/** Reserves the reference of matching requests although they are refused. */
export const reserves =
  (fits: Fits, operation = createDisbursement): How =>
  () => {
    const used = new Set<string>();
    return handles(async (call, ask, world) => {
      const reference = textIn(call, "reference") ?? "";
      if (isOf(call, operation) && keyOf(call) === world.key && used.has(reference)) return refusal(409);
      const reply = await ask(call);
      if (reply && isError(reply) && fits(call, reply, world)) used.add(reference);
      return reply;
    });
  };

/** Sends a webhook that looks to the merchant like the webhook of a failed payout. */
export async function notify(url: string | undefined) {
  if (url === undefined || !URL.canParse(url)) return;
  const body = JSON.stringify({ event: "disbursement.failed" });
  await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body }).catch(() => undefined);
}
