// Building blocks for faults that remember earlier requests, or act on refused requests.
import {
  asJson,
  disbursementIn,
  fieldsOf,
  isOf,
  isText,
  keyOf,
  lastPart,
  textIn,
  withFields,
  withKey,
  type Fields,
  type Operations,
} from "./calls.ts";
import { handles, responses } from "./changes.ts";
import type { Changeable } from "../model/merchant.ts";
import type { Ask, Call, How, Reply, World } from "./fault.ts";
import { dataOf, isAccepted, isError, refusal, withData } from "./replies.ts";
import { signed } from "./webhooks.ts";

/** The first accepted request with a reference. */
type First = { fields: Fields; call: Call; at: number; isUnderWay: boolean };

/**
 * Pays a repeated reference if `when` returns true. The sound server gets another reference, which is changed back in
 * responses and webhooks, so that only the second payment is wrong.
 */
export const paysAgain =
  (when: (fields: Fields, first: First, call: Call) => boolean, operation: Operations = "createDisbursement"): How =>
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

const payoutReference = (call: Call) => disbursementIn(call)?.["reference"];

/** Refuses a request with 409 if an accepted request with the same name (`nameOf`) had another owner (`ownerOf`). */
export const refusesNamesakes =
  (nameOf: (call: Call) => unknown, ownerOf: (call: Call) => unknown): How =>
  () => {
    const owners = new Map<unknown, unknown>();
    return handles(async (call, ask) => {
      const [name, owner] = [nameOf(call), ownerOf(call)];
      if (name === undefined) return ask(call);
      if (owners.has(name) && owners.get(name) !== owner) return refusal(409);
      const reply = await ask(call);
      if (reply && isAccepted(reply)) owners.set(name, owner);
      return reply;
    });
  };
/** Refuses a reference with 409 if it is equal to another reference of the merchant when both are normalised. */
export const confuses = (normalise: (reference: string) => string): How =>
  refusesNamesakes((call) => {
    const reference = payoutReference(call);
    return isText(reference) ? `${keyOf(call)} ${normalise(reference)}` : undefined;
  }, payoutReference);

/** Shows changed fields in records. `changeOf` returns the fields that a request changes, and the record's reference. */
export const changesRecords =
  (
    changeOf: (call: Call, reply: Reply) => readonly [reference: unknown, change: Fields] | undefined,
    operation: Operations = "verifyDisbursement",
  ): How =>
  () => {
    const changed = new Map<unknown, Fields>();
    return handles(async (call, ask) => {
      const reply = await ask(call);
      if (!reply) return reply;
      const change = changeOf(call, reply);
      if (change) changed.set(...change);
      if (!isOf(call, operation) || !isAccepted(reply)) return reply;
      const record = dataOf(reply);
      const { reference, merchantsReference } = record;
      return withData(reply, { ...record, ...changed.get(reference), ...changed.get(merchantsReference) });
    });
  };

/** Returns a function that returns true for a reference that was first seen more than `oldAge` ago. */
export const ageing = ({ oldAge }: World) => {
  const born = new Map<unknown, number>();
  return (reference: unknown) => {
    const since = born.get(reference) ?? Date.now();
    born.set(reference, since);
    return Date.now() - since > oldAge;
  };
};

/** Returns 404 for each record in its first `ms` milliseconds. */
export const readsLate =
  (ms: number): How =>
  () => {
    const hidden = new Map<unknown, number>();
    return responses(["createDisbursement", "verifyDisbursement"], (reply, call) => {
      if (!isAccepted(reply)) return reply;
      if (isOf(call, "createDisbursement")) hidden.set(dataOf(reply)["reference"], performance.now() + ms);
      else if (performance.now() < (hidden.get(lastPart(call)) ?? 0)) return refusal(404);
      return reply;
    });
  };

/**
 * Gives disbursements other service references, in everything that the server says, and maps these back to the original
 * references when a client looks them up. `make` receives the number of references made so far.
 */
export const otherReferences =
  (make: (before: number) => string): How =>
  () => {
    const given = new Map<string, string>();
    const said = (text: string) =>
      text.replaceAll(/\bDSB[0-9A-Z]{21}\b/g, (own) => {
        const other = given.get(own) ?? make(given.size);
        given.set(own, other);
        return other;
      });
    return {
      async handle(call, ask) {
        const asked = isOf(call, "verifyDisbursement") ? lastPart(call) : undefined;
        const [own] = [...given].find(([, other]) => other === asked) ?? [];
        const reply = await ask(own === undefined ? call : { ...call, path: `/v1/disbursements/${own}` });
        if (!reply) return reply;
        const location = reply.headers.location?.split("/").map((part) => encodeURIComponent(said(part)));
        const headers = { ...reply.headers, ...(location && { location: location.join("/") }) };
        return { ...reply, headers, text: said(reply.text) };
      },
      webhook: (message, deliver) => deliver(signed({ ...message, body: said(message.body) })),
    };
  };

/**
 * Caches successful responses, and sends them in place of refusals, by default of those because of the key.
 * @param nameOf returns the name under which a request's response is cached; undefined if it is not cached
 */
export const caches =
  (operations: Operations, nameOf: (call: Call, world: World) => string | undefined, refusals = [401]): How =>
  () => {
    const cached = new Map<string, Reply>();
    return handles(async (call, ask, world) => {
      const isRead = isOf({ ...call, method: call.method === "HEAD" ? "GET" : call.method }, operations);
      const name = isRead ? nameOf(call, world) : undefined;
      const reply = await ask(call);
      if (name === undefined || !reply) return reply;
      if (isAccepted(reply)) cached.set(name, reply);
      return refusals.includes(reply.status) ? (cached.get(name) ?? reply) : reply;
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
  (
    fits: Fits,
    operation: Operations = "createDisbursement",
    referenceOf = (call: Call) => textIn(call, "reference") ?? "",
  ): How =>
  () => {
    const used = new Set<string>();
    return handles(async (call, ask, world) => {
      const reference = textIn(call, "reference") ?? "";
      if (isOf(call, operation) && keyOf(call) === world.key && used.has(reference)) return refusal(409);
      const reply = await ask(call);
      if (reply && isError(reply) && fits(call, reply, world)) used.add(referenceOf(call));
      return reply;
    });
  };

/** Sends a webhook about matching requests although they are refused. */
export const notifies = (fits: Fits) => afterRefusal(fits, (call) => notify(textIn(call, "webhookURL")));

/** Sends a webhook that looks to the merchant like the webhook of a failed payout. */
export async function notify(url: string | undefined) {
  if (url === undefined || !URL.canParse(url)) return;
  const body = JSON.stringify({ event: "disbursement.failed" });
  await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body }).catch(() => undefined);
}

/** Holds work back until the clock of the merchant's account is moved. */
export function untilAdvance() {
  const waiting: (() => void)[] = [];
  let isMoving = false;
  return {
    hold: (work: () => void) => (isMoving ? work() : void waiting.push(work)),
    advancing: (account: Changeable): Pick<Changeable, "advanceTo"> => ({
      async advanceTo(time) {
        isMoving = true;
        for (const work of waiting.splice(0)) work();
        await account.advanceTo(time);
        isMoving = false;
      },
    }),
  };
}
