// Building blocks for servers that refuse a request but act on it nevertheless, or that remember too much of a request.
import type { Ask, Call, How, Reply, World } from "./fault.ts";
import { createAsk } from "./front.ts";
import { createDisbursement, isAccepted, isError, isOf, keyOf, refusal, withFields, withKey } from "./ways.ts";

/** Returns true for a request whose effects a fault does not suppress. `reply` is the sound server's response. */
export type Fits = (call: Call, reply: Reply, world: World) => boolean;

/** Returns the reference in a body, even if the body is malformed. */
export const referenceOf = ({ body }: Call) => /["']reference["']\s*:\s*["']([^"']*)["']/.exec(body.toString())?.[1];
export const textOf = ({ body }: Call, field: string) =>
  new RegExp(`["']${field}["']\\s*:\\s*["']([^"']*)["']`).exec(body.toString())?.[1];

/** Acts on matching requests after the sound server has refused them. */
export const afterRefusal =
  (fits: Fits, act: (call: Call, ask: Ask, world: World) => Promise<unknown>): How =>
  (world) => ({
    async handle(call, ask) {
      const reply = await ask(call);
      if (reply && isError(reply) && fits(call, reply, world)) await act(call, ask, world);
      return reply;
    },
  });

/** Pays a disbursement with the values that can be read from a request. */
export async function payFrom(call: Call, ask: Ask, world: World) {
  const reference = referenceOf(call);
  const webhookURL = textOf(call, "webhookURL");
  const valid = { amount: 100, phoneNumber: "2257038102473", country: "CI", currency: "XOF" };
  const headers = { "content-type": "application/json" };
  const create = { method: "POST", path: "/v1/disbursements", headers, body: Buffer.alloc(0) };
  const fields = { ...valid, ...(reference === undefined ? {} : { reference }), ...(webhookURL ? { webhookURL } : {}) };
  return ask(withKey(withFields(create, fields), world.key));
}

/** Pays matching requests although they are refused. */
export const pays = (fits: Fits): How => afterRefusal(fits, payFrom);

/** Sends a webhook that looks to the merchant like the webhook of a failed payout. */
export async function notify(url: string) {
  if (!URL.canParse(url)) return;
  const { origin, pathname, search } = new URL(url);
  const { ask, close } = createAsk(new URL(origin));
  const body = Buffer.from('{"event":"disbursement.failed"}');
  await ask({ method: "POST", path: pathname + search, headers: { "content-type": "application/json" }, body });
  close();
}
/** Reserves the reference of matching requests although they are refused. */
export const reserves =
  (fits: Fits, operation: string = createDisbursement): How =>
  (world) => {
    const used = new Set<string>();
    return {
      async handle(call, ask) {
        const reference = referenceOf(call) ?? "";
        if (isOf(call, operation) && keyOf(call) === world.key && used.has(reference)) return refusal(409);
        const reply = await ask(call);
        if (reply && isError(reply) && fits(call, reply, world)) used.add(reference);
        return reply;
      },
    };
  };

/**
 * Caches successful responses, and sends them in response to requests whose key is refused.
 * @param nameOf returns the name under which a request's response is cached; undefined if it is not cached
 */
export const caches =
  (operations: string | readonly string[], nameOf: (call: Call, world: World) => string | undefined): How =>
  (world) => {
    const cached = new Map<string, Reply>();
    return {
      async handle(call, ask) {
        const name = isOf({ ...call, method: call.method === "HEAD" ? "GET" : call.method }, operations)
          ? nameOf(call, world)
          : undefined;
        const reply = await ask(call);
        if (name === undefined || !reply) return reply;
        if (isAccepted(reply)) cached.set(name, reply);
        return reply.status === 401 ? (cached.get(name) ?? reply) : reply;
      },
    };
  };
