// Building blocks for faults that keep no state: they change requests and responses.
import { isUtf8 } from "node:buffer";
import { fieldsOf, isOf, isPage, isText, sent, withFields, withKey, type Fields, type Operations } from "./calls.ts";
import type { Ask, Call, How, Reply, World } from "./fault.ts";
import { dataOf, isAccepted, isError, refusal, withBody, withData, withStatus } from "./replies.ts";

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
export const results = (change: (created: Fields, call: Call) => unknown) => data("createDisbursement", change);

/** Changes what verify returns. */
export const records = (change: (record: Fields, call: Call) => unknown) => data("verifyDisbursement", change);

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

/**
 * Replaces an invalid value of a field with a valid one, so that the server accepts what it must refuse.
 * @param invalid a pattern of invalid texts, or a function that returns true for an invalid value
 * @param valid the valid value, or a function that returns another one for each request
 */
export const accepts = (
  operations: Operations,
  field: string,
  invalid: RegExp | ((value: unknown) => boolean),
  valid: unknown,
): How => {
  const isInvalid = typeof invalid === "function" ? invalid : (value: unknown) => isText(value) && invalid.test(value);
  const value = () => (typeof valid === "function" ? (valid as () => unknown)() : valid);
  return requests(operations, (fields) => (isInvalid(fields[field]) ? { ...fields, [field]: value() } : fields));
};

/** Removes a query parameter from the requests for these operations. */
export const ignoresQuery = (name: string, operations: Operations = "every"): How =>
  forwards((call) =>
    isOf(call, operations) ? { ...call, path: call.path.replace(new RegExp(`\\b${name}=[^&]*`), "") } : call,
  );

/** Refuses matching requests for these operations. */
export const refuses = (
  fits: (fields: Fields, call: Call) => boolean,
  status: number | Reply = 422,
  operations: Operations = "createDisbursement",
): How =>
  handles(async (call, ask) => {
    if (!isOf(call, operations) || !fits(sent(call), call)) return ask(call);
    return typeof status === "number" ? refusal(status) : status;
  });

/** Gives matching requests for these operations the first merchant's key, so that the sound server accepts them. */
export const opens = (operations: Operations, fits: (call: Call, world: World) => boolean): How =>
  forwards((call, world) => (isOf(call, operations) && fits(call, world) ? withKey(call, world.key) : call));
