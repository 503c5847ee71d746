// The broken receivers. Each is the sound receiver with a single fault, under the requirements that the fault violates.
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { eventNames } from "../../programs/receiver/webhook.ts";
import {
  book,
  expectedMacs,
  headerOf,
  isEqual,
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

/** Changes the values that an event books. */
const booksAs = (change: (values: Parsed["data"]) => object): Partial<Pieces> => ({
  effectOf: (given, parsed) => sound.effectOf(given, { ...parsed, data: { ...parsed.data, ...change(parsed.data) } }),
});

/** Handles some events differently. */
const onEvents = (matches: (name: string) => boolean, different: Handle): Partial<Pieces> => ({
  handle: async (event) => (matches(event.parsed.event) ? different(event) : sound.handle(event)),
});

/** Returns the values of a header that may be doubled. */
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
const withKeys = (change: (keys: readonly Buffer[]) => Buffer[]): Partial<Pieces> => ({
  isAuthentic: (request) =>
    sound.isAuthentic({ ...request, world: { ...request.world, keys: change(request.world.keys) } }),
});

/** Accepts some requests without verifying them. */
const trusts = (isTrusted: (request: Received) => boolean): Partial<Pieces> => ({
  isAuthentic: (request) => isTrusted(request) || sound.isAuthentic(request),
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

/** Handles an event unless it was handled. */
const unlessSeen = (work: Handle): Partial<Pieces> => ({
  handle: async (event) => (event.world.durable.seen.has(event.key) ? received() : work(event)),
});

/** Handles an event if `isKnown` does not recognise it, with a memory of its own. */
const remembering = (isKnown: (event: Authentic) => boolean): Partial<Pieces> => ({
  async handle(event) {
    if (!isKnown(event)) book(event);
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

/** Handles an event in two steps, between which a failure ends the work. */
const failsBetween = (first: Step, second: Step) =>
  unlessSeen(async (event) => {
    first(event);
    if (event.world.isFailing) return { status: 500 };
    second(event);
    return received();
  });

/** Acknowledges an event, and acts later. */
const actsLater = (first: Step, second: Step) =>
  unlessSeen(async (event) => {
    first(event);
    void event.world.pause(crashMs).then(() => second(event));
    return { status: 202 };
  });

const remember: Step = ({ world, key }) => void world.durable.seen.add(key);
const act: Step = (event) => {
  const effect = event.world.pieces.effectOf(event.stamp, event.parsed);
  if (effect) event.world.durable.effects.push(effect);
};
const nothing: Step = () => undefined;
/** Takes a step only if the sender still waits for the response. */
const ifHeard =
  (step: Step): Step =>
  (event) =>
    void (event.request.socket.destroyed || step(event));

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

/** Remembers each id for some time. */
function rememberingFor(ms: number): Partial<Pieces> {
  const seen = new Map<string, number>();
  return remembering(({ key }) => {
    const isKnown = performance.now() - (seen.get(key) ?? -Infinity) < ms;
    if (!isKnown) seen.set(key, performance.now());
    return isKnown;
  });
}

/** Stores events, and acts on all stored events whenever an event arrives. Stored events survive a kill. */
function inbox(): Partial<Pieces> {
  const stored: Authentic[] = [];
  return unlessSeen(async (event) => {
    const { world, key } = event;
    if (stored.some((each) => each.key === key)) return received();
    stored.push(event);
    void world.pause(0).then(() => (world.isFailing ? [] : stored.splice(0)).forEach(book));
    return { status: 202 };
  });
}

/** Accepts only events for which a number is at least the number of the last event. */
const risingBy =
  (numberOf: (request: Received) => number): Pieces["isAuthentic"] =>
  (request) => {
    const { memory } = request.world;
    const number = numberOf(request);
    const isNext = sound.isAuthentic(request) && number >= memory.last;
    if (isNext) memory.last = number;
    return isNext;
  };

/** By the requirements without `receiver.`, separated by spaces. */
const faults: Readonly<Record<string, Readonly<Record<string, Partial<Pieces> & Pick<Variant, "limits">>>>> = {
  "accepts-genuine": {
    "answers-302": {
      handle: async (event) => ({ ...(await sound.handle(event)), status: 302, headers: { location: "/done" } }),
    },
  },
  "accepts-genuine takes-effect": {
    "refuses-checkouts": onEvents(
      (name) => name.startsWith("checkout"),
      async () => ({ status: 400 }),
    ),
    "secret-as-text": withKeys((keys) => keys.map((key) => Buffer.from(key.toString("base64")))),
  },
  "takes-effect": {
    "ignores-cancelled": onEvents(
      (name) => name.endsWith("cancelled"),
      async () => received(),
    ),
    "books-twice": {
      async handle(event) {
        if (event.parsed.event.endsWith("completed")) book(event);
        book(event);
        return received();
      },
    },
  },
  "in-time": {
    "works-too-long": {
      limits: { timeoutMs: 200 },
      handle: (event) => event.world.pause(1000).then(() => sound.handle(event)),
    },
  },
  "unknown-event": {
    "refuses-unknown": onEvents(
      (name) => !eventNames.includes(name),
      async () => ({ status: 400 }),
    ),
    "takes-unknown-for-paid": {
      effectOf: ({ id }, { data }) => (data["status"] === "success" ? { ...data, id } : undefined),
    },
  },
  "unknown-fields": {
    "strict-fields": {
      parse: (body) =>
        Object.keys(JSON.parse(body.toString()) as object).length === 2 ? sound.parse(body) : undefined,
    },
  },
  "exact-values": {
    "rounded-amounts": booksAs(({ amount }) => ({ amount: Math.fround(amount) })),
    "trims-references": booksAs(({ merchantsReference }) => ({ merchantsReference: merchantsReference.trim() })),
    "numeric-references": booksAs(({ merchantsReference: text }) => {
      const isNumber = text.trim() !== "" && Number.isFinite(Number(text));
      return isNumber ? { merchantsReference: String(Number(text)) } : {};
    }),
    "short-references": booksAs(({ merchantsReference }) => ({ merchantsReference: merchantsReference.slice(0, 32) })),
    "latin-references": { parse: (body) => sound.parse(Buffer.from(body.toString("latin1"))) },
  },
  "large-body": { "small-bodies": readingAtMost(8_192) },
  "slow-body": {
    "first-chunk": {
      async read(request) {
        if (headerOf(request, "content-length") === "0") return Buffer.alloc(0);
        const [chunk] = (await once(request, "data")) as [Buffer];
        request.resume();
        return chunk;
      },
    },
  },
  "any-order": {
    "newest-only": {
      isAuthentic: risingBy(({ body }) => Date.parse(String(sound.parse(body)?.data["createdAt"]))),
    },
    "rising-timestamps": { isAuthentic: risingBy(({ stamp }) => Number(stamp.timestamp)) },
  },
  "told-apart": {
    "known-by-payment": { keyOf: (_, { data }) => String(data.reference) },
    "known-by-order": { keyOf: (_, { data }) => String(data.merchantsReference) },
    "ids-in-any-case": { keyOf: ({ id }) => id.toLowerCase() },
    "known-by-values": { keyOf: (_, { data }) => JSON.stringify([data.amount, data["customer"], data["createdAt"]]) },
  },
  "header-case": {
    "lower-case-headers": {
      stamp: (request) =>
        request.rawHeaders.includes("webhook-id") ? sound.stamp(request) : { id: "", timestamp: "", signature: "" },
    },
  },
  "more-headers": {
    "no-proxies": { admits: ({ headers }) => (headers.forwarded === undefined ? undefined : { status: 403 }) },
  },
  "doubled-headers": {
    "first-and-last-id": {
      stamp: (request) => ({ ...sound.stamp(request), id: valuesOf(request, "webhook-id").at(0) ?? "" }),
      handle: (event) => sound.handle({ ...event, key: valuesOf(event.request, "webhook-id").at(-1) ?? "" }),
    },
  },
  "charset-accepted": {
    "exact-content-type": {
      admits: (request) => (headerOf(request, "content-type") === "application/json" ? undefined : { status: 415 }),
    },
  },
  "honest-status": {
    "drops-other-types": {
      admits: (request) => (headerOf(request, "content-type").includes("json") ? undefined : received()),
    },
  },
  "post-only": { "every-method": { admits: () => undefined } },
  "whole-body": {
    "remembers-headers": {
      admits(request, { durable: { seen } }) {
        const name = `headers of ${headerOf(request, "webhook-id")}`;
        if (seen.has(name)) return received();
        seen.add(name);
        return undefined;
      },
    },
  },
  "no-event-ignored": {
    "fails-on-no-json": { parse: (body) => JSON.parse(body.toString()) as Parsed },
    "books-what-it-cannot-use": {
      parse: (body) => sound.parse(body) ?? { event: "disbursement.completed", data: {} as never },
    },
    "ends-what-it-cannot-use": {
      ...onEvents(
        (name) => name === "",
        async () => ({ status: 410 }),
      ),
      parse: (body) => sound.parse(body) ?? { event: "", data: {} as never },
    },
  },
  "survives-strangers": {
    "parses-first": {
      isAuthentic: (request) => JSON.parse(request.body.toString()) !== undefined && sound.isAuthentic(request),
    },
    "hangs-on-large-body": {
      limits: { timeoutMs: 500 },
      read: async (request) => (await sound.read(request)) ?? new Promise<never>(() => undefined),
    },
  },
  "not-held-up": { "one-at-a-time": { limits: { timeoutMs: 500 }, ...inTurn() } },
  "forged-refused signature-required id-covered": { "verifies-nothing": { isAuthentic: () => true } },
  "signature-required": {
    "optional-signature": trusts(({ stamp }) => stamp.signature === ""),
    "empty-matches": trusts(({ stamp }) => stamp.signature.split(" ").includes("v1,")),
  },
  "forged-refused body-covered timestamp-covered id-covered": {
    "form-only": trusts(({ stamp }) => /v1,[A-Za-z0-9+/]{43}=/.test(stamp.signature)),
  },
  "forged-refused": {
    "empty-key": withKeys((keys) => [...keys, Buffer.alloc(0)]),
    "any-of-many": trusts(({ stamp }) => stamp.signature.length > 1000),
  },
  "body-covered": { "trusts-changed-status": trusts(({ body }) => body.includes('"checkout.completed"')) },
  "bytes-covered": {
    "verifies-rewritten-json": { covered: rewritten },
    "verifies-trimmed-body": { covered: (body) => Buffer.from(body.toString().trim()) },
    "verifies-line-feeds": { covered: (body) => Buffer.from(body.toString().replaceAll("\r\n", "\n")) },
    "drops-byte-order-marks": {
      covered: (body) => Buffer.from(new TextDecoder().decode(body)),
      parse: (body) => sound.parse(Buffer.from(new TextDecoder().decode(body))),
    },
  },
  "stale-refused future-refused": {
    "no-age": { isFresh: () => true },
    "seven-minutes": { isFresh: (age) => Math.abs(age) <= 420 },
  },
  "stale-refused": { "old-is-fine": { isFresh: (age) => age > -300 } },
  "future-refused": {
    "future-is-fine": { isFresh: (age) => age < 300 },
    milliseconds: { isFresh: (age) => sound.isFresh(age) || age < -1e9 },
  },
  "skew-accepted": {
    "no-skew": { isFresh: (age) => Math.abs(age) < 15 },
    "no-future": { isFresh: (age) => age > -5 && age < 300 },
  },
  "whole-signature": {
    "compares-prefix": { matches: (offered, expected) => offered !== "" && expected.startsWith(offered) },
    "compares-all-but-two": { matches: (offered, expected) => isEqual(offered.slice(0, -2), expected.slice(0, -2)) },
    "compares-length": { matches: (offered, expected) => offered.length === expected.length },
    "ignores-case": { matches: (offered, expected) => isEqual(offered.toLowerCase(), expected.toLowerCase()) },
  },
  "version-checked": {
    "any-version": { offered: (signature) => signature.split(" ").map((one) => one.split(",").at(-1) ?? "") },
  },
  "any-signature": {
    "first-signature": { offered: (signature) => [signature.split(" ")[0]?.replace("v1,", "") ?? ""] },
    "three-signatures": { offered: (signature) => sound.offered(signature).slice(0, 3) },
  },
  rotation: { "new-secret-only": withKeys((keys) => keys.slice(0, 1)) },
  "forgery-blocks-nothing": {
    "remembers-forgeries": {
      refuse(request) {
        request.world.durable.seen.add(request.stamp.id);
        return sound.refuse(request);
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
    },
    "verifies-without-id": { isComplete: ({ timestamp, signature }) => /^\d+$/.test(timestamp) && signature !== "" },
    "fails-without-headers": {
      isComplete(stamp) {
        if (stamp.id === "") throw new Error("no id");
        return sound.isComplete(stamp);
      },
    },
  },
  "never-gone": { "gone-if-forged": { refuse: () => ({ status: 410 }) } },
  "forged-refused signature-required": { "answers-200-to-all": { refuse: () => ({ status: 200 }) } },
  "forged-refused body-covered": {
    "acts-on-forged": {
      refuse(request) {
        const parsed = sound.parse(request.body);
        if (parsed) void sound.handle({ ...request, parsed, key: request.stamp.id });
        return { status: 400 };
      },
    },
  },
  "once-in-turn once-at-once": { "no-memory": remembering(() => false) },
  "once-in-turn": {
    "known-by-signature": { keyOf: ({ signature }) => signature },
    "fails-on-repetitions": {
      handle: async (event) => (event.world.durable.seen.has(event.key) ? { status: 500 } : sound.handle(event)),
    },
  },
  "once-at-once": {
    "looks-then-acts": inSteps(raceMs, nothing, book),
    "looks-then-inserts": inSteps(2, nothing, book),
    "acts-then-remembers": inSteps(raceMs, act, remember),
    "gives-up-when-busy": unlessSeen(async ({ world, key }) => {
      if (world.memory.seen.has(key)) return received();
      world.memory.seen.add(key);
      await world.pause(raceMs);
      return { status: 500 };
    }),
  },
  remembers: { "last-ten-events": lastIds(10), "memory-of-a-moment": rememberingFor(333) },
  "lost-response": {
    "drops-when-alone": inSteps(raceMs, remember, ifHeard(act)),
    "remembers-after-response": inSteps(raceMs, act, ifHeard(remember)),
  },
  "failure-retried": {
    "swallows-failures": {
      async handle(event) {
        const { status } = await sound.handle(event);
        return status === 500 ? received() : { status };
      },
    },
    "remembers-failures": failsBetween(remember, act),
    "half-an-effect": failsBetween(act, remember),
  },
  "remembers-after-restart": {
    "memory-only": remembering(({ world: { memory }, key }) => {
      const isKnown = memory.seen.has(key);
      memory.seen.add(key);
      return isKnown;
    }),
  },
  "keeps-acknowledged survives-crash": { "responds-first": actsLater(remember, act) },
  "keeps-acknowledged": {
    "queues-in-memory": actsLater(nothing, (event) => void sound.handle(event)),
    "sweeps-on-arrival": inbox(),
  },
  "survives-crash": {
    "remembers-first": inSteps(crashMs, remember, act),
    "remembers-first-briefly": unlessSeen(async (event) => {
      await event.world.pause(8);
      return inSteps(2, remember, act).handle!(event);
    }),
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
