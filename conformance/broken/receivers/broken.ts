// The broken receivers. Each is the sound receiver with a single fault, under the requirements that the fault violates.
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { eventNames } from "../../programs/receiver/webhook.ts";
import {
  book,
  expectedMacs,
  headerOf,
  readingAtMost,
  received,
  soundPieces as sound,
  type Authentic,
  type Parsed,
  type Pieces,
  type Received,
  type Variant,
} from "./reference.ts";

type Handle = Pieces["handle"];
type Step = (event: Authentic) => void;

type Fault = Omit<Variant, "id">;

/** A fault that violates requirements, which are named without `receiver.` and separated by spaces. */
const violates = (
  requirements: string,
  { limits = {}, ...pieces }: Partial<Pieces> & Pick<Variant, "limits">,
): Fault => ({
  violates: requirements.split(" ").map((requirement) => `receiver.${requirement}`),
  pieces,
  limits,
});

/** Responds to some events, and does nothing else. */
const onEvents = (requirements: string, matches: (name: string) => boolean, status: number) =>
  violates(requirements, {
    handle: async (event) => (matches(event.parsed.event) ? { status } : sound.handle(event)),
  });

/** Returns the values of a header that may occur twice. */
const valuesOf = ({ rawHeaders }: IncomingMessage, name: string) =>
  rawHeaders.filter((_, index) => rawHeaders[index - 1]?.toLowerCase() === name && index % 2 === 1);

/** Reads one request after the other. */
function inTurn(): Partial<Pieces> {
  let lock: Promise<unknown> = Promise.resolve();
  return {
    read(request) {
      const turn = lock.then(() => sound.read(request));
      lock = turn.catch(() => undefined);
      return turn;
    },
  };
}

/** Verifies with other keys. */
const withKeys = (requirements: string, change: (keys: readonly Buffer[]) => Buffer[]) =>
  violates(requirements, {
    isAuthentic: (request) =>
      sound.isAuthentic({ ...request, world: { ...request.world, keys: change(request.world.keys) } }),
  });

/** Accepts some requests without verifying them. */
const trusts = (requirements: string, isTrusted: (request: Received) => boolean) =>
  violates(requirements, { isAuthentic: (request) => isTrusted(request) || sound.isAuthentic(request) });

const rewritten = (body: Buffer) => {
  try {
    return Buffer.from(JSON.stringify(JSON.parse(body.toString())));
  } catch {
    return body;
  }
};

/** Longer than eight requests need to arrive together. */
const raceMs = 100;
/** Longer than a run waits before it kills the receiver. */
const crashMs = 400;

/** Handles an event unless it was handled. */
const unlessSeen = (work: Handle): Partial<Pieces> => ({
  handle: async (event) => (event.world.durable.seen.has(event.key) ? received() : work(event)),
});

/** Remembers events only until it is killed, and books each event that `isKnown` does not recognise. */
const remembering = (isKnown: (seen: Set<string>, key: string) => boolean): Partial<Pieces> => ({
  async handle(event) {
    const { seen } = event.world.memory;
    if (!isKnown(seen, event.key)) book(event);
    seen.add(event.key);
    return received();
  },
});

/** Handles an event in two steps. A kill can come between the steps. */
const inSteps = (ms: number, first: Step, second: Step) =>
  unlessSeen(async (event) => {
    first(event);
    await event.world.pause(ms);
    second(event);
    return received();
  });

const remember: Step = ({ world, key }) => void world.durable.seen.add(key);
const act: Step = (event) => {
  const effect = event.world.pieces.effectOf(event.stamp, event.parsed);
  if (effect) event.world.durable.effects.push(effect);
};

const faults: Readonly<Record<string, Fault>> = {
  "secret-as-text": withKeys("accepts-genuine takes-effect", (keys) =>
    keys.map((key) => Buffer.from(key.toString("base64"))),
  ),
  "ignores-cancelled": onEvents("takes-effect", (name) => name.endsWith("cancelled"), 204),
  "books-twice": violates("takes-effect", {
    async handle(event) {
      if (event.parsed.event.endsWith("completed")) book(event);
      book(event);
      return received();
    },
  }),
  "acts-again-later": violates("takes-effect", {
    async handle(event) {
      // The second effect of each event comes with the next event, so that only the end of the run shows it.
      const [last] = event.world.durable.queue.splice(0, 1, event);
      if (last) book(last);
      return sound.handle(event);
    },
  }),
  "works-too-long": violates("in-time", {
    limits: { timeoutMs: 200 },
    handle: (event) => event.world.pause(1000).then(() => sound.handle(event)),
  }),
  "refuses-unknown": onEvents("unknown-event", (name) => !eventNames.includes(name), 400),
  "takes-unknown-for-paid": violates("unknown-event", {
    effectOf: ({ id }, { data }) => (data["status"] === "success" ? { ...data, id } : undefined),
  }),
  "strict-fields": violates("unknown-fields", {
    parse: (body) => (Object.keys(JSON.parse(body.toString()) as object).length === 2 ? sound.parse(body) : undefined),
  }),
  "rounded-amounts": violates("exact-values", {
    effectOf: (given, { event, data }) =>
      sound.effectOf(given, { event, data: { ...data, amount: Math.fround(data.amount) } }),
  }),
  "latin-references": violates("exact-values", { parse: (body) => sound.parse(Buffer.from(body.toString("latin1"))) }),
  "small-bodies": violates("large-body", readingAtMost(8_192)),
  "first-chunk": violates("slow-body", {
    async read(request) {
      if (headerOf(request, "content-length") === "0") return Buffer.alloc(0);
      const [chunk] = (await once(request, "data")) as [Buffer];
      request.resume();
      return chunk;
    },
  }),
  "newest-only": violates("any-order", {
    isAuthentic(request) {
      const { memory } = request.world;
      const createdAt = Date.parse(String(sound.parse(request.body)?.data["createdAt"]));
      const isNext = sound.isAuthentic(request) && createdAt >= memory.last;
      if (isNext) memory.last = createdAt;
      return isNext;
    },
  }),
  "known-by-order": violates("told-apart", { keyOf: (_, { data }) => String(data.merchantsReference) }),
  "ids-in-any-case": violates("told-apart", { keyOf: ({ id }) => id.toLowerCase() }),
  "lower-case-headers": violates("header-case", {
    stamp: (request) =>
      request.rawHeaders.includes("webhook-id") ? sound.stamp(request) : { id: "", timestamp: "", signature: "" },
  }),
  "no-proxies": violates("more-headers", {
    admits: ({ headers }) => (headers.forwarded === undefined ? undefined : { status: 403 }),
  }),
  "first-and-last-id": violates("doubled-headers", {
    stamp: (request) => ({ ...sound.stamp(request), id: valuesOf(request, "webhook-id").at(0) ?? "" }),
    handle: (event) => sound.handle({ ...event, key: valuesOf(event.request, "webhook-id").at(-1) ?? "" }),
  }),
  "exact-content-type": violates("charset-accepted", {
    admits: (request) => (headerOf(request, "content-type") === "application/json" ? undefined : { status: 415 }),
  }),
  "drops-other-types": violates("honest-status", {
    admits: (request) => (headerOf(request, "content-type").includes("json") ? undefined : received()),
  }),
  "every-method": violates("post-only", { admits: () => undefined }),
  "remembers-headers": violates("whole-body", {
    admits(request, { durable: { seen } }) {
      const name = `headers of ${headerOf(request, "webhook-id")}`;
      if (seen.has(name)) return received();
      seen.add(name);
      return undefined;
    },
  }),
  "fails-on-no-json": violates("no-event-ignored", { parse: (body) => JSON.parse(body.toString()) as Parsed }),
  "parses-first": violates("survives-strangers", {
    isAuthentic: (request) => JSON.parse(request.body.toString()) !== undefined && sound.isAuthentic(request),
  }),
  "hangs-on-large-body": violates("survives-strangers", {
    limits: { timeoutMs: 500 },
    read: async (request) => (await sound.read(request)) ?? new Promise<never>(() => undefined),
  }),
  "one-at-a-time": violates("not-held-up", { limits: { timeoutMs: 500 }, ...inTurn() }),
  "optional-signature": trusts("signature-required", ({ stamp }) => stamp.signature === ""),
  "empty-matches": trusts("signature-required", ({ stamp }) => stamp.signature.split(" ").includes("v1,")),
  "form-only": trusts("forged-refused body-covered timestamp-covered id-covered", ({ stamp }) =>
    /v1,[A-Za-z0-9+/]{43}=/.test(stamp.signature),
  ),
  "verifies-rewritten-json": violates("bytes-covered", { covered: rewritten }),
  "seven-minutes": violates("stale-refused future-refused", { isFresh: (age) => Math.abs(age) <= 420 }),
  milliseconds: violates("future-refused", { isFresh: (age) => sound.isFresh(age) || age < -1e9 }),
  "no-skew": violates("skew-accepted", { isFresh: (age) => Math.abs(age) < 15 }),
  "compares-prefix": violates("whole-signature", {
    matches: (offered, expected) => offered !== "" && expected.startsWith(offered),
  }),
  "any-version": violates("version-checked", {
    offered: (signature) => signature.split(" ").map((one) => one.split(",").at(-1) ?? ""),
  }),
  "first-signature": violates("any-signature", {
    offered: (signature) => [signature.split(" ")[0]?.replace("v1,", "") ?? ""],
  }),
  "new-secret-only": withKeys("rotation", (keys) => keys.slice(0, 1)),
  "remembers-forgeries": violates("forgery-blocks-nothing", {
    refuse(request) {
      request.world.durable.seen.add(request.stamp.id);
      return sound.refuse(request);
    },
  }),
  "states-signature": violates("leaks-nothing", {
    refuse: (request) => ({ status: 400, body: `expected ${expectedMacs(request).join(" or ")}` }),
  }),
  "not-a-number": trusts("headers-required", ({ stamp }) => Number.isNaN(Number(stamp.timestamp))),
  "gone-if-forged": violates("never-gone", { refuse: () => ({ status: 410 }) }),
  "answers-200-to-all": violates("forged-refused signature-required", { refuse: () => ({ status: 200 }) }),
  "acts-on-forged": violates("forged-refused body-covered", {
    refuse(request) {
      const parsed = sound.parse(request.body);
      if (parsed) void sound.handle({ ...request, parsed, key: request.stamp.id });
      return { status: 400 };
    },
  }),
  "known-by-signature": violates("once-in-turn", { keyOf: ({ signature }) => signature }),
  "fails-on-repetitions": violates("once-in-turn", {
    handle: async (event) => (event.world.durable.seen.has(event.key) ? { status: 500 } : sound.handle(event)),
  }),
  "looks-then-acts": violates(
    "once-at-once",
    inSteps(raceMs, () => undefined, book),
  ),
  "last-ten-events": violates(
    "remembers",
    remembering((seen, key) => [...seen].slice(-10).includes(key)),
  ),
  "memory-of-a-moment": violates(
    "remembers",
    remembering((seen, key) => {
      setTimeout(() => seen.delete(key), 333);
      return seen.has(key);
    }),
  ),
  "drops-when-alone": violates(
    "lost-response",
    // It acts only if the sender still waits for the response.
    inSteps(raceMs, remember, (event) => void (event.request.socket.destroyed || act(event))),
  ),
  "swallows-failures": violates("failure-retried", {
    async handle(event) {
      const { status } = await sound.handle(event);
      return status === 500 ? received() : { status };
    },
  }),
  "memory-only": violates(
    "remembers-after-restart",
    remembering((seen, key) => seen.has(key)),
  ),
  "responds-first": violates(
    "keeps-acknowledged survives-crash",
    unlessSeen(async (event) => {
      remember(event);
      void event.world.pause(crashMs).then(() => act(event));
      return { status: 202 };
    }),
  ),
  "remembers-first": violates(
    "survives-crash",
    unlessSeen(async (event) => {
      await event.world.pause(8);
      return inSteps(2, remember, act).handle!(event);
    }),
  ),
  "acts-first": violates("survives-crash", inSteps(crashMs, act, remember)),
};

export const brokenReceivers: readonly Variant[] = Object.entries(faults).map(([id, fault]) => ({
  id: `receiver-${id}`,
  ...fault,
}));
