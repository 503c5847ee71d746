// Broken receivers that handle genuine events, requests or repetitions wrongly.
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { eventNames } from "../../programs/receiver/events.ts";
import { book, readingAtMost, received, soundPieces, type Authentic, type Pieces } from "./reference.ts";
import { broken, type Variant } from "./variant.ts";

const { effectOf, handle, read, parse, isAuthentic, stamp } = soundPieces;

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

/** Recognises repeated events by a key other than their id. */
const knownBy = (key: Pieces["keyOf"]): Partial<Pieces> => ({ keyOf: key });

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

export const brokenEvents: readonly Variant[] = [
  broken("answers-302", "Redirects to a page after it has handled an event.", "accepts-genuine", {
    handle: async (event) => ({ ...(await handle(event)), status: 302, headers: { location: "/done" } }),
  }),
  broken("answers-409-to-all", "Answers every event with 409.", "accepts-genuine once-in-turn", {
    handle: async (event) => ({ ...(await handle(event)), status: 409 }),
  }),
  broken("refuses-checkouts", "Knows only the events of disbursements.", "accepts-genuine takes-effect", {
    ...onEvents(/^checkout/, async () => ({ status: 400 })),
  }),
  broken("ignores-cancelled", "Acknowledges cancelled checkouts and does nothing.", "takes-effect", {
    ...onEvents(/cancelled/, async () => received()),
  }),
  broken("books-twice", "Books a completed payment in two places of its code.", "takes-effect", {
    async handle(event) {
      const reply = await handle(event);
      if (event.parsed.event.endsWith("completed")) book(event);
      return reply;
    },
  }),
  broken(
    "works-too-long",
    "Works longer than the service waits before it responds.",
    "in-time",
    {
      async handle(event) {
        await event.world.pause(1000);
        return handle(event);
      },
    },
    { timeoutMs: 200 },
  ),
  broken("refuses-unknown", "Refuses events of unknown types.", "unknown-event", {
    ...onUnknown(async () => ({ status: 400 })),
  }),
  broken("fails-on-unknown", "Has no branch for events of unknown types.", "unknown-event", {
    ...onUnknown(async () => ({ status: 500 })),
  }),
  broken("takes-unknown-for-paid", "Looks at the status alone and not at the type.", "unknown-event", {
    effectOf: ({ id }, { data }) => (data["status"] === "success" ? { ...data, id } : undefined),
  }),
  broken("strict-fields", "Validates events strictly and refuses unknown fields.", "unknown-fields", {
    parse(body) {
      const parsed = parse(body);
      const isStrict = Object.keys(JSON.parse(body.toString()) as object).length === 2;
      return isStrict ? parsed : undefined;
    },
  }),
  broken(
    "narrow-amounts",
    "Keeps amounts as 32-bit numbers.",
    "exact-values",
    booksAs(({ amount }) => ({ amount: amount | 0 })),
  ),
  broken("rounded-amounts", "Keeps amounts as single-precision numbers.", "exact-values", {
    ...booksAs(({ amount }) => ({ amount: Math.fround(amount) })),
  }),
  broken("trims-references", "Trims merchants' references.", "exact-values", {
    ...booksAs(({ merchantsReference }) => ({ merchantsReference: merchantsReference.trim() })),
  }),
  broken("lower-case-references", "Writes merchants' references in lower case.", "exact-values", {
    ...booksAs(({ merchantsReference }) => ({ merchantsReference: merchantsReference.toLowerCase() })),
  }),
  broken("normalises-references", "Normalises merchants' references.", "exact-values", {
    ...booksAs(({ merchantsReference }) => ({ merchantsReference: merchantsReference.normalize("NFC") })),
  }),
  broken("numeric-references", "Takes merchants' references of digits for numbers.", "exact-values", {
    ...booksAs(({ merchantsReference }) => {
      const isNumber = merchantsReference.trim() !== "" && Number.isFinite(Number(merchantsReference));
      return isNumber ? { merchantsReference: String(Number(merchantsReference)) } : {};
    }),
  }),
  broken("short-references", "Keeps 32 characters of merchants' references.", "exact-values", {
    ...booksAs(({ merchantsReference }) => ({ merchantsReference: merchantsReference.slice(0, 32) })),
  }),
  broken("latin-references", "Reads bodies as Latin-1.", "exact-values", {
    parse: (body) => parse(Buffer.from(body.toString("latin1"))),
  }),
  broken("small-bodies", "Refuses bodies of more than 8 KiB.", "large-body", readingAtMost(8_192)),
  broken("first-chunk", "Takes the first piece of a body for the whole.", "slow-body", {
    async read(request) {
      if (header(request, "content-length") === "0") return Buffer.alloc(0);
      const [chunk] = (await once(request, "data")) as [Buffer];
      request.resume();
      return chunk;
    },
  }),
  broken("newest-only", "Drops events that are older than the newest event.", "any-order", {
    async handle(event) {
      const { memory } = event.world;
      const made = Date.parse(String(event.parsed.data["createdAt"]));
      if (made < memory.last) return received();
      memory.last = made;
      return handle(event);
    },
  }),
  broken("rising-timestamps", "Refuses timestamps that are older than the last timestamp.", "any-order", {
    isAuthentic(request) {
      const { memory } = request.world;
      const at = Number(request.stamp.timestamp);
      const isNext = isAuthentic(request) && at >= memory.last;
      if (isNext) memory.last = at;
      return isNext;
    },
  }),
  broken("known-by-payment", "Recognises events by the payment's reference.", "told-apart", {
    ...knownBy((_, { data }) => String(data.reference)),
  }),
  broken("known-by-order", "Recognises events by the merchant's reference.", "told-apart", {
    ...knownBy((_, { data }) => String(data.merchantsReference)),
  }),
  broken("known-by-order-and-amount", "Recognises events by the merchant's reference and the amount.", "told-apart", {
    ...knownBy((_, { data }) => `${data.merchantsReference} ${data.amount}`),
  }),
  broken(
    "short-ids",
    "Keeps sixteen characters of ids.",
    "told-apart",
    knownBy(({ id }) => id.slice(0, 16)),
  ),
  broken("ends-of-ids", "Recognises events by the last sixteen characters of their ids.", "told-apart", {
    ...knownBy(({ id }) => id.slice(-16)),
  }),
  broken("ids-in-any-case", "Takes ids that differ in upper and lower case for the same.", "told-apart", {
    ...knownBy(({ id }) => id.toLowerCase()),
  }),
  broken("known-by-values", "Recognises events by amount and recipient.", "told-apart", {
    ...knownBy((_, { data }) => JSON.stringify([data.amount, data["customer"], data["createdAt"]])),
  }),
  broken("lower-case-headers", "Reads headers only if their names are in lower case.", "header-case", {
    stamp: ({ rawHeaders, headers }) => {
      const value = (name: string) => (rawHeaders.includes(name) ? String(headers[name]) : "");
      return { id: value("webhook-id"), timestamp: value("webhook-timestamp"), signature: value("webhook-signature") };
    },
  }),
  broken("no-proxies", "Refuses requests that came through a proxy.", "more-headers", {
    admits: ({ headers }) => (headers.forwarded === undefined ? undefined : { status: 403 }),
  }),
  broken("first-and-last-id", "Verifies the first webhook-id and remembers the last webhook-id.", "doubled-headers", {
    stamp: (request) => ({ ...stamp(request), id: firstOf(request, "webhook-id") }),
    async handle(event) {
      const key = lastOf(event.request, "webhook-id");
      return handle({ ...event, key });
    },
  }),
  broken("exact-content-type", "Refuses a content type with a charset.", "charset-accepted", {
    admits: (request) => (header(request, "content-type") === "application/json" ? undefined : { status: 415 }),
  }),
  broken("drops-other-types", "Acknowledges other content types than JSON and drops them.", "honest-status", {
    admits: (request) => (header(request, "content-type").includes("json") ? undefined : received()),
  }),
  broken("fails-on-other-types", "Fails on other content types than JSON.", "honest-status", {
    admits: (request) => (header(request, "content-type").includes("json") ? undefined : { status: 500 }),
  }),
  broken("every-method", "Handles requests of every method.", "post-only", { admits: () => undefined }),
  broken("remembers-headers", "Remembers an event as soon as its headers have arrived.", "whole-body", {
    admits(request, { durable }) {
      const id = header(request, "webhook-id");
      if (durable.seen.has(`headers of ${id}`)) return received();
      durable.seen.add(`headers of ${id}`);
      return undefined;
    },
  }),
  broken("fails-on-no-json", "Fails on bodies that are not JSON.", "no-event-ignored", {
    parse: (body) => JSON.parse(body.toString()) as ReturnType<Pieces["parse"]>,
  }),
  broken("books-what-it-cannot-use", "Books signed bodies that are not events.", "no-event-ignored", {
    parse: (body) => parse(body) ?? { event: "disbursement.completed", data: {} as never },
  }),
  broken("ends-what-it-cannot-use", "Answers signed bodies that are not events with 410.", "no-event-ignored", {
    async handle(event) {
      return event.parsed.event === "" ? { status: 410 } : handle(event);
    },
    parse: (body) => parse(body) ?? { event: "", data: {} as never },
  }),
  broken(
    "parses-first",
    "Parses a body before it verifies its signature, and fails if it cannot.",
    "survives-strangers",
    {
      isAuthentic: (request) => JSON.parse(request.body.toString()) !== undefined && isAuthentic(request),
    },
  ),
  broken(
    "hangs-on-large-body",
    "Never responds to a body that is too large.",
    "survives-strangers",
    {
      async read(request) {
        const body = await read(request);
        return body ?? new Promise<never>(() => undefined);
      },
    },
    { timeoutMs: 500 },
  ),
  broken("one-at-a-time", "Reads one request after the other.", "not-held-up", inTurn(), { timeoutMs: 500 }),
];
