// The broken receivers. Each is the sound receiver with a single fault, under the requirements that the fault violates.
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { eventNames } from "../../programs/receiver/events.ts";
import {
  book,
  expectedMacs,
  isEqual,
  readingAtMost,
  received,
  soundPieces,
  type Authentic,
  type Pieces,
  type Received,
  type Reply,
  type Variant,
} from "./reference.ts";

const { effectOf, handle, isAuthentic, isFresh, parse, read } = soundPieces;

/** Changes the values that an event books. */
const booksAs = (change: (values: { merchantsReference: string; amount: number }) => object): Partial<Pieces> => ({
  effectOf(given, parsed) {
    const { merchantsReference, amount } = parsed.data;
    return effectOf(given, { ...parsed, data: { ...parsed.data, ...change({ merchantsReference, amount }) } });
  },
});

/** Handles events of some names differently. */
const onEvents = (match: RegExp, different: Pieces["handle"]): Partial<Pieces> => ({
  handle: async (event) => (match.test(event.parsed.event) ? different(event) : handle(event)),
});

const isUnknown = ({ parsed }: Authentic) => !eventNames.includes(parsed.event);
const onUnknown = (different: Pieces["handle"]): Partial<Pieces> => ({
  handle: async (event) => (isUnknown(event) ? different(event) : handle(event)),
});

const header = ({ headers }: IncomingMessage, name: string) => String(headers[name] ?? "");

/** Returns the last value of a header that may be doubled. */
const lastOf = (request: IncomingMessage, name: string) =>
  request.rawHeaders.findLast((_, index) => index % 2 === 1 && request.rawHeaders[index - 1]?.toLowerCase() === name) ??
  "";
const firstOf = (request: IncomingMessage, name: string) =>
  request.rawHeaders.find((_, index) => index % 2 === 1 && request.rawHeaders[index - 1]?.toLowerCase() === name) ?? "";

/** Handles one request after the other. */
function inTurn(): Partial<Pieces> {
  let lock: Promise<unknown> = Promise.resolve();
  return {
    read(request) {
      const turn = lock.then(() => read(request));
      lock = turn.catch(() => undefined);
      return turn;
    },
  };
}

/** Verifies with further keys. */
const withKeys = (...keys: Buffer[]): Partial<Pieces> => ({
  isAuthentic: (request) =>
    isAuthentic({ ...request, world: { ...request.world, keys: [...request.world.keys, ...keys] } }),
});

/** Accepts some requests without verifying them. */
const trusts = (isTrusted: (request: Received) => boolean): Partial<Pieces> => ({
  isAuthentic: (request) => isTrusted(request) || isAuthentic(request),
});

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

/** Handles an event if `isKnown` does not recognise it, with a memory of its own. */
const remembering = (isKnown: (event: Authentic) => boolean): Partial<Pieces> => ({
  async handle(event) {
    if (isKnown(event)) return received();
    book(event);
    return received();
  },
});

/** Handles an event in two steps. A kill can come between the steps. */
const inSteps = (
  ms: number,
  first: (event: Authentic) => void,
  second: (event: Authentic) => void,
): Partial<Pieces> => ({
  async handle(event): Promise<Reply> {
    if (event.world.durable.seen.has(event.key)) return received();
    first(event);
    await event.world.pause(ms);
    second(event);
    return received();
  },
});

const remember = ({ world, key }: Authentic) => void world.durable.seen.add(key);
const act = (event: Authentic) => {
  const effect = event.world.pieces.effectOf(event.stamp, event.parsed);
  if (effect) event.world.durable.effects.push(effect);
};
const nothing = () => undefined;

/** Remembers only the last ids. */
function lastIds(most: number): Partial<Pieces> {
  const ids: string[] = [];
  return remembering(({ key }) => {
    const isKnown = ids.includes(key);
    if (!isKnown) ids.push(key);
    if (ids.length > most) ids.shift();
    return isKnown;
  });
}

/** Stores events, and acts on all stored events whenever an event arrives. Stored events survive a kill. */
function inbox(): Partial<Pieces> {
  const stored: Authentic[] = [];
  const workOff = async (world: Authentic["world"]) => {
    await world.pause(0);
    if (!world.isFailing) for (const each of stored.splice(0)) book(each);
  };
  return {
    async handle(event) {
      const { world, key } = event;
      if (world.durable.seen.has(key) || stored.some((each) => each.key === key)) return received();
      stored.push(event);
      void workOff(world);
      return { status: 202 };
    },
  };
}

/** Remembers each id for some time. */
function rememberingFor(ms: number): Partial<Pieces> {
  const seen = new Map<string, number>();
  return remembering(({ key }) => {
    const isKnown = performance.now() - (seen.get(key) ?? -Infinity) < ms;
    if (!isKnown) seen.set(key, performance.now());
    return isKnown;
  });
}

/** By the requirements without `receiver.`, separated by spaces. */
const faults: Readonly<Record<string, Readonly<Record<string, Partial<Pieces> & Pick<Variant, "limits">>>>> = {
  "accepts-genuine": {
    "answers-302": {
      handle: async (event) => ({ ...(await handle(event)), status: 302, headers: { location: "/done" } }),
    },
  },
  "accepts-genuine takes-effect": {
    "refuses-checkouts": onEvents(/^checkout/, async () => ({ status: 400 })),
    "secret-as-text": {
      isAuthentic: (request) =>
        isAuthentic({
          ...request,
          world: { ...request.world, keys: request.world.keys.map((key) => Buffer.from(key.toString("base64"))) },
        }),
    },
  },
  "takes-effect": {
    "ignores-cancelled": onEvents(/cancelled/, async () => received()),
    "books-twice": {
      async handle(event) {
        const reply = await handle(event);
        if (event.parsed.event.endsWith("completed")) book(event);
        return reply;
      },
    },
  },
  "in-time": {
    "works-too-long": {
      limits: { timeoutMs: 200 },
      async handle(event) {
        await event.world.pause(1000);
        return handle(event);
      },
    },
  },
  "unknown-event": {
    "refuses-unknown": onUnknown(async () => ({ status: 400 })),
    "takes-unknown-for-paid": {
      effectOf: ({ id }, { data }) => (data["status"] === "success" ? { ...data, id } : undefined),
    },
  },
  "unknown-fields": {
    "strict-fields": {
      parse(body) {
        const parsed = parse(body);
        const isStrict = Object.keys(JSON.parse(body.toString()) as object).length === 2;
        return isStrict ? parsed : undefined;
      },
    },
  },
  "exact-values": {
    "rounded-amounts": booksAs(({ amount }) => ({ amount: Math.fround(amount) })),
    "trims-references": booksAs(({ merchantsReference }) => ({ merchantsReference: merchantsReference.trim() })),
    "numeric-references": booksAs(({ merchantsReference }) => {
      const isNumber = merchantsReference.trim() !== "" && Number.isFinite(Number(merchantsReference));
      return isNumber ? { merchantsReference: String(Number(merchantsReference)) } : {};
    }),
    "short-references": booksAs(({ merchantsReference }) => ({ merchantsReference: merchantsReference.slice(0, 32) })),
    "latin-references": {
      parse: (body) => parse(Buffer.from(body.toString("latin1"))),
    },
  },
  "large-body": {
    "small-bodies": readingAtMost(8_192),
  },
  "slow-body": {
    "first-chunk": {
      async read(request) {
        if (header(request, "content-length") === "0") return Buffer.alloc(0);
        const [chunk] = (await once(request, "data")) as [Buffer];
        request.resume();
        return chunk;
      },
    },
  },
  "any-order": {
    "newest-only": {
      async handle(event) {
        const { memory } = event.world;
        const made = Date.parse(String(event.parsed.data["createdAt"]));
        if (made < memory.last) return received();
        memory.last = made;
        return handle(event);
      },
    },
    "rising-timestamps": {
      isAuthentic(request) {
        const { memory } = request.world;
        const at = Number(request.stamp.timestamp);
        const isNext = isAuthentic(request) && at >= memory.last;
        if (isNext) memory.last = at;
        return isNext;
      },
    },
  },
  "told-apart": {
    "known-by-payment": { keyOf: (_, { data }) => String(data.reference) },
    "known-by-order": { keyOf: (_, { data }) => String(data.merchantsReference) },
    "ids-in-any-case": { keyOf: ({ id }) => id.toLowerCase() },
    "known-by-values": { keyOf: (_, { data }) => JSON.stringify([data.amount, data["customer"], data["createdAt"]]) },
  },
  "header-case": {
    "lower-case-headers": {
      stamp: ({ rawHeaders, headers }) => {
        const value = (name: string) => (rawHeaders.includes(name) ? String(headers[name]) : "");
        return {
          id: value("webhook-id"),
          timestamp: value("webhook-timestamp"),
          signature: value("webhook-signature"),
        };
      },
    },
  },
  "more-headers": {
    "no-proxies": {
      admits: ({ headers }) => (headers.forwarded === undefined ? undefined : { status: 403 }),
    },
  },
  "doubled-headers": {
    "first-and-last-id": {
      stamp: (request) => ({ ...soundPieces.stamp(request), id: firstOf(request, "webhook-id") }),
      async handle(event) {
        const key = lastOf(event.request, "webhook-id");
        return handle({ ...event, key });
      },
    },
  },
  "charset-accepted": {
    "exact-content-type": {
      admits: (request) => (header(request, "content-type") === "application/json" ? undefined : { status: 415 }),
    },
  },
  "honest-status": {
    "drops-other-types": {
      admits: (request) => (header(request, "content-type").includes("json") ? undefined : received()),
    },
  },
  "post-only": {
    "every-method": { admits: () => undefined },
  },
  "whole-body": {
    "remembers-headers": {
      admits(request, { durable }) {
        const id = header(request, "webhook-id");
        if (durable.seen.has(`headers of ${id}`)) return received();
        durable.seen.add(`headers of ${id}`);
        return undefined;
      },
    },
  },
  "no-event-ignored": {
    "fails-on-no-json": {
      parse: (body) => JSON.parse(body.toString()) as ReturnType<Pieces["parse"]>,
    },
    "books-what-it-cannot-use": {
      parse: (body) => parse(body) ?? { event: "disbursement.completed", data: {} as never },
    },
    "ends-what-it-cannot-use": {
      async handle(event) {
        return event.parsed.event === "" ? { status: 410 } : handle(event);
      },
      parse: (body) => parse(body) ?? { event: "", data: {} as never },
    },
  },
  "survives-strangers": {
    "parses-first": {
      isAuthentic: (request) => JSON.parse(request.body.toString()) !== undefined && isAuthentic(request),
    },
    "hangs-on-large-body": {
      limits: { timeoutMs: 500 },
      async read(request) {
        const body = await read(request);
        return body ?? new Promise<never>(() => undefined);
      },
    },
  },
  "not-held-up": {
    "one-at-a-time": { limits: { timeoutMs: 500 }, ...inTurn() },
  },
  "forged-refused signature-required id-covered": {
    "verifies-nothing": {
      isAuthentic: () => true,
    },
  },
  "signature-required": {
    "optional-signature": trusts(({ stamp }) => stamp.signature === ""),
    "empty-matches": trusts(({ stamp }) => stamp.signature.split(" ").includes("v1,")),
  },
  "forged-refused body-covered timestamp-covered id-covered": {
    "form-only": trusts(({ stamp }) => /v1,[A-Za-z0-9+/]{43}=/.test(stamp.signature)),
  },
  "forged-refused": {
    "empty-key": withKeys(Buffer.alloc(0)),
    "any-of-many": trusts(({ stamp }) => stamp.signature.length > 1000),
  },
  "body-covered": {
    "trusts-changed-status": trusts(({ body }) => body.includes('"checkout.completed"')),
  },
  "bytes-covered": {
    "verifies-rewritten-json": {
      covered: rewritten,
    },
    "verifies-trimmed-body": {
      covered: (body) => Buffer.from(body.toString().trim()),
    },
    "verifies-line-feeds": {
      covered: (body) => Buffer.from(body.toString().replaceAll("\r\n", "\n")),
    },
    "drops-byte-order-marks": {
      covered: (body) => Buffer.from(new TextDecoder().decode(body)),
      parse: (body) => parse(Buffer.from(new TextDecoder().decode(body))),
    },
  },
  "stale-refused future-refused": {
    "no-age": { isFresh: () => true },
    "seven-minutes": {
      isFresh: (age) => Math.abs(age) <= 420,
    },
  },
  "stale-refused": {
    "old-is-fine": { isFresh: (age) => age > -300 },
  },
  "future-refused": {
    "future-is-fine": { isFresh: (age) => age < 300 },
    milliseconds: {
      isFresh: (age) => isFresh(age) || age < -1e9,
    },
  },
  "skew-accepted": {
    "no-skew": {
      isFresh: (age) => Math.abs(age) < 15,
    },
    "no-future": {
      isFresh: (age) => age > -5 && age < 300,
    },
  },
  "whole-signature": {
    "compares-prefix": { matches: (offered, expected) => offered !== "" && expected.startsWith(offered) },
    "compares-all-but-two": { matches: (offered, expected) => isEqual(offered.slice(0, -2), expected.slice(0, -2)) },
    "compares-length": { matches: (offered, expected) => offered.length === expected.length },
    "ignores-case": { matches: (offered, expected) => isEqual(offered.toLowerCase(), expected.toLowerCase()) },
  },
  "version-checked": {
    contains: {
      isAuthentic(request) {
        const { isComplete, isFresh: isYoung } = request.world.pieces;
        const isUsable = isComplete(request.stamp) && isYoung(Date.now() / 1000 - Number(request.stamp.timestamp));
        return isUsable && expectedMacs(request).some((mac) => request.stamp.signature.includes(mac));
      },
    },
    "any-version": {
      offered: (signature) => signature.split(" ").map((one) => one.split(",").at(-1) ?? ""),
    },
  },
  "any-signature": {
    "one-signature": {
      offered: (signature) => [signature.replace("v1,", "")],
    },
    "first-signature": {
      offered: (signature) => [signature.split(" ")[0]?.replace("v1,", "") ?? ""],
    },
    "three-signatures": {
      offered: (signature) => soundPieces.offered(signature).slice(0, 3),
    },
  },
  rotation: {
    "new-secret-only": {
      isAuthentic: (request) =>
        isAuthentic({ ...request, world: { ...request.world, keys: request.world.keys.slice(0, 1) } }),
    },
  },
  "forgery-blocks-nothing": {
    "remembers-forgeries": {
      isAuthentic(request) {
        const isGenuine = isAuthentic(request);
        if (!isGenuine) request.world.durable.seen.add(request.stamp.id);
        return isGenuine;
      },
    },
  },
  "leaks-nothing": {
    "states-signature": {
      refuse: (request) => ({ status: 400, body: `expected ${expectedMacs(request).join(" or ")}` }),
    },
    "states-secret": {
      refuse: ({ world }) => ({ status: 400, body: `not signed with ${world.keys[0]?.toString("base64")}` }),
    },
  },
  "headers-required": {
    "trusts-without-headers": trusts(({ stamp }) => stamp.id === ""),
    "not-a-number": trusts(({ stamp }) => Number.isNaN(Number(stamp.timestamp))),
    "float-timestamps": {
      isComplete: ({ id, timestamp, signature }) => id !== "" && timestamp !== "" && signature !== "",
      isFresh,
    },
    "verifies-without-id": {
      isComplete: ({ timestamp, signature }) => /^\d+$/.test(timestamp) && signature !== "",
    },
    "fails-without-headers": {
      isAuthentic(request) {
        if (request.stamp.id === "") throw new Error("no id");
        return isAuthentic(request);
      },
    },
  },
  "never-gone": {
    "gone-if-forged": {
      refuse: () => ({ status: 410 }),
    },
  },
  "forged-refused signature-required": {
    "answers-200-to-all": {
      refuse: () => ({ status: 200 }),
    },
  },
  "forged-refused body-covered": {
    "acts-on-forged": {
      refuse(request) {
        const parsed = parse(request.body);
        if (parsed) void handle({ ...request, parsed, key: request.stamp.id });
        return { status: 400 };
      },
    },
  },
  "once-in-turn once-at-once": {
    "no-memory": remembering(() => false),
  },
  "once-in-turn": {
    "known-by-signature": {
      keyOf: ({ signature }) => signature,
    },
    "fails-on-repetitions": {
      async handle(event) {
        return event.world.durable.seen.has(event.key) ? { status: 500 } : handle(event);
      },
    },
  },
  "once-at-once": {
    "looks-then-acts": inSteps(raceMs, nothing, book),
    "looks-then-inserts": {
      async handle(event) {
        if (event.world.durable.seen.has(event.key)) return received();
        await event.world.pause(2);
        book(event);
        return received();
      },
    },
    "acts-then-remembers": inSteps(raceMs, act, remember),
    "gives-up-when-busy": {
      async handle(event) {
        const { memory, durable } = event.world;
        if (durable.seen.has(event.key) || memory.seen.has(event.key)) return received();
        memory.seen.add(event.key);
        await event.world.pause(raceMs);
        return { status: 500 };
      },
    },
  },
  remembers: {
    "last-ten-events": lastIds(10),
    "memory-of-a-moment": rememberingFor(333),
  },
  "lost-response": {
    "drops-when-alone": {
      async handle(event) {
        const { world, key, request } = event;
        if (world.durable.seen.has(key)) return received();
        remember(event);
        await world.pause(raceMs);
        if (!request.socket.destroyed) act(event);
        return received();
      },
    },
    "remembers-after-response": {
      async handle(event) {
        if (event.world.durable.seen.has(event.key)) return received();
        act(event);
        await event.world.pause(raceMs);
        if (!event.request.socket.destroyed) remember(event);
        return received();
      },
    },
  },
  "failure-retried": {
    "swallows-failures": {
      async handle(event) {
        const reply = await handle(event);
        return reply.status === 500 ? received() : reply;
      },
    },
    "remembers-failures": {
      async handle(event) {
        if (event.world.durable.seen.has(event.key)) return received();
        remember(event);
        if (event.world.isFailing) return { status: 500 };
        act(event);
        return received();
      },
    },
    "half-an-effect": {
      async handle(event) {
        const { world } = event;
        if (world.durable.seen.has(event.key)) return received();
        act(event);
        if (world.isFailing) return { status: 500 };
        remember(event);
        return received();
      },
    },
  },
  "remembers-after-restart": {
    "memory-only": remembering(({ world, key }) => {
      const isKnown = world.memory.seen.has(key);
      world.memory.seen.add(key);
      return isKnown;
    }),
  },
  "keeps-acknowledged survives-crash": {
    "responds-first": {
      async handle(event) {
        const { world, key } = event;
        if (world.durable.seen.has(key)) return received();
        remember(event);
        void world.pause(crashMs).then(() => act(event));
        return { status: 202 };
      },
    },
  },
  "keeps-acknowledged": {
    "queues-in-memory": {
      async handle(event) {
        const { world } = event;
        void world.pause(crashMs).then(() => void handle(event));
        return { status: 202 };
      },
    },
    "sweeps-on-arrival": inbox(),
  },
  "survives-crash": {
    "remembers-first": inSteps(crashMs, remember, act),
    "remembers-first-briefly": {
      async handle(event): Promise<Reply> {
        if (event.world.durable.seen.has(event.key)) return received();
        await event.world.pause(8);
        return inSteps(2, remember, act).handle!(event);
      },
    },
    "acts-first": inSteps(crashMs, act, remember),
  },
};

export const brokenReceivers: readonly Variant[] = Object.entries(faults).flatMap(([violated, group]) =>
  Object.entries(group).map(([id, { limits = {}, ...pieces }]) => ({
    id: `receiver-${id}`,
    violates: violated.split(" ").map((requirement) => `receiver.${requirement}`),
    pieces,
    limits,
  })),
);
