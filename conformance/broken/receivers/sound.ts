// Sound receivers that differ from the reference receiver where receivers may differ.
import { book, isEqual, readingAtMost, received, soundPieces, type Authentic } from "./reference.ts";
import type { Data } from "../../programs/receiver/events.ts";
import { sound, type Variant } from "./variant.ts";

const { handle, admits } = soundPieces;

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
  return handle(event);
}

/** Keeps an event durably, acknowledges it and handles it afterwards. */
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

export const soundReceivers: readonly Variant[] = [
  sound("reference", "The reference.", {}),
  sound("answers-json", "Answers with 200 and JSON.", {
    handle: async (event) => {
      const { status } = await handle(event);
      return status < 300 ? { status: 200, body: '{"received":true}' } : { status };
    },
  }),
  sound("answers-401", "Answers forged events with 401.", { refuse: () => ({ status: 401 }) }),
  sound("answers-403-in-html", "Answers forged events with 403 and HTML.", {
    refuse: () => ({ status: 403, headers: { "content-type": "text/html" }, body: "<h1>Forbidden</h1>" }),
  }),
  sound("claims", "Answers with 503 while another request handles the event.", { handle: claiming }),
  sound("queue", "Keeps events in a durable queue and handles them after the response.", { handle: queueing }),
  sound("slow", "Takes a while for each event.", {
    async handle(event) {
      await event.world.pause(20);
      return handle(event);
    },
  }),
  sound("known-by-type-and-payment", "Recognises events by their type and the payment's reference.", {
    keyOf: (_, { event, data }) => `${event} ${String(data.reference)}`,
  }),
  sound("keeps-what-it-cannot-use", "Acknowledges signed bodies that are not events, as the contract says.", {
    parse: (body) => soundPieces.parse(body) ?? { event: "", data: {} as Data },
  }),
  sound("three-minutes", "Accepts timestamps that are three minutes off.", { isFresh: (age) => Math.abs(age) <= 180 }),
  sound("largest-webhook", "Reads no more than the largest webhook of the contract.", readingAtMost(16_384)),
  sound("json-only", "Refuses other content types than JSON with 415.", {
    admits: (request, world) =>
      request.headers["content-type"]?.startsWith("application/json")
        ? admits(request, world)
        : { status: request.method === "POST" ? 415 : 405 },
  }),
  sound("decodes-signatures", "Decodes signatures before it compares them.", {
    matches: (offered, expected) =>
      isEqual(Buffer.from(offered, "base64").toString("hex"), Buffer.from(expected, "base64").toString("hex")),
  }),
  sound("closes-on-large-bodies", "Closes the connection when a body is too large.", {
    async read(request) {
      const body = await soundPieces.read(request);
      if (!body) request.socket.destroy();
      return body ?? Buffer.alloc(0);
    },
  }),
  sound("refuses-early", "Refuses requests without webhook headers before it reads their bodies.", {
    admits: (request, world) =>
      request.headers["webhook-signature"] ? admits(request, world) : { status: 401, headers: { connection: "close" } },
  }),
];
