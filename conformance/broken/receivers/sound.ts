// Sound receivers that differ from the reference receiver where receivers may differ.
import {
  book,
  isEqual,
  readingAtMost,
  received,
  soundPieces,
  type Authentic,
  type Pieces,
  type Variant,
} from "./reference.ts";
import type { Data } from "../../programs/receiver/webhook.ts";

/**
 * Handles an event once. A repetition that arrives while the event is being handled gets a response that makes the
 * service retry.
 */
async function claiming(event: Authentic) {
  const { world, key } = event;
  if (world.durable.seen.has(key)) return received();
  if (world.memory.seen.has(key)) return { status: 503, headers: { "retry-after": "5" } };
  world.memory.seen.add(key);
  await world.pause(10);
  world.memory.seen.delete(key);
  return soundPieces.handle(event);
}

/** Stores an event durably, acknowledges it and handles it afterwards. */
async function queueing(event: Authentic) {
  const { world, key } = event;
  if (world.durable.seen.has(key)) return received();
  if (world.isFailing) return { status: 500 };
  world.durable.seen.add(key);
  world.durable.queue.push(event);
  void workOff(event);
  return { status: 202 };
}

/** Handles an event of the queue after a short time. */
async function workOff(event: Authentic) {
  const { pause, durable } = event.world;
  await pause(30);
  durable.queue.splice(durable.queue.indexOf(event), 1);
  book(event);
}

const changes: Readonly<Record<string, Partial<Pieces>>> = {
  reference: {},
  claims: { handle: claiming },
  queue: { handle: queueing },
  "known-by-type-and-payment": {
    keyOf: (_, { event, data }) => `${event} ${String(data.reference)}`,
  },
  "keeps-what-it-cannot-use": {
    parse: (body) => soundPieces.parse(body) ?? { event: "", data: {} as Data },
  },
  "three-minutes": { isFresh: (age) => Math.abs(age) <= 180 },
  "largest-webhook": readingAtMost(16_384),
  "json-only": {
    admits: (request, world) =>
      request.headers["content-type"]?.startsWith("application/json")
        ? soundPieces.admits(request, world)
        : { status: request.method === "POST" ? 415 : 405 },
  },
  "decodes-signatures": {
    matches: (offered, expected) =>
      isEqual(Buffer.from(offered, "base64").toString("hex"), Buffer.from(expected, "base64").toString("hex")),
  },
  "closes-on-large-bodies": {
    async read(request) {
      const body = await soundPieces.read(request);
      if (!body) request.socket.destroy();
      return body ?? Buffer.alloc(0);
    },
  },
  "refuses-early": {
    admits: (request, world) =>
      request.headers["webhook-signature"]
        ? soundPieces.admits(request, world)
        : { status: 401, headers: { connection: "close" } },
  },
};

export const soundReceivers: readonly Variant[] = Object.entries(changes).map(([id, pieces]) => ({
  id: `receiver-sound-${id}`,
  violates: [],
  pieces,
}));
