// A sound receiver, made of pieces that a variant can replace. The receiver runs in this process, and can be killed.
import { timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { Limits } from "../../programs/receiver/context.ts";
import { eventNames, keyOf, macOf, type Data, type Stamp } from "../../programs/receiver/webhook.ts";
import type { Effect, Subject } from "../../programs/receiver/subject.ts";

export type Parsed = { event: string; data: Data };

export type Reply = { status: number; body?: string; headers?: Record<string, string> };

/** A received webhook. `world` is the receiver that received the request. */
export type Received = { request: IncomingMessage; body: Buffer; stamp: Stamp; world: World };

/** An authentic event. The receiver recognises repetitions by `key`. */
export type Authentic = Received & { parsed: Parsed; key: string };

export type World = {
  /** The keys of the receiver's secrets. */
  keys: readonly Buffer[];
  pieces: Pieces;
  /** What survives a kill. */
  durable: { effects: Effect[]; seen: Set<string>; queue: Authentic[] };
  /** What a kill erases. A variant may add to it. */
  memory: { seen: Set<string>; last: number };
  /** True while effects fail. */
  isFailing: boolean;
  /** Waits, and never returns if the receiver is killed meanwhile. */
  pause(ms: number): Promise<void>;
};

/** The pieces of a receiver. Pieces that a variant omits behave as in this file. */
export type Pieces = {
  /** Reads the body; undefined if it is too large. */
  read(request: IncomingMessage): Promise<Buffer | undefined>;
  /** Responds to a request as soon as its headers have arrived, instead of handling it. */
  admits(request: IncomingMessage, world: World): Reply | undefined;
  stamp(request: IncomingMessage): Stamp;
  isComplete(stamp: Stamp): boolean;
  /** Judges the age of an event, in seconds; negative if it is from the future. */
  isFresh(age: number): boolean;
  /** Returns what a signature covers besides id and timestamp. */
  covered(body: Buffer): Uint8Array;
  /** Returns the MACs that a value of `webhook-signature` offers. */
  offered(signature: string): string[];
  /** Compares an offered MAC with the expected MAC, both in base64. */
  matches(offered: string, expected: string): boolean;
  isAuthentic(received: Received): boolean;
  parse(body: Buffer): Parsed | undefined;
  keyOf(stamp: Stamp, parsed: Parsed): string;
  /** Returns the effect of an event; undefined if it has none. */
  effectOf(stamp: Stamp, parsed: Parsed): Effect | undefined;
  /** Handles an authentic event. */
  handle(event: Authentic): Promise<Reply>;
  /** Responds to a request that is not authentic. */
  refuse(received: Received): Reply;
};

/** The sound receiver with other pieces. */
export type Variant = {
  id: string;
  /** The ids of the requirements that it violates; an empty array for a sound receiver. */
  violates: readonly string[];
  pieces: Partial<Pieces>;
  limits?: Partial<Limits>;
};

const largest = 1024 * 1024;

export const isEqual = (a: string, b: string) =>
  a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b));

export const headerOf = (request: IncomingMessage, name: string) => [request.headers[name] ?? ""].flat().join(", ");

export const received = (): Reply => ({ status: 204 });

/** Books the effect of an event and remembers the event, in one step. */
export function book({ stamp, parsed, key, world }: Authentic) {
  const effect = world.pieces.effectOf(stamp, parsed);
  if (effect) world.durable.effects.push(effect);
  world.durable.seen.add(key);
}

/** Returns the MACs that the receiver expects for a request, one for each of its keys. */
export const expectedMacs = ({ stamp, body, world }: Received): string[] =>
  world.keys.map((key) => macOf(key, stamp.id, stamp.timestamp, world.pieces.covered(body)));

export const soundPieces: Pieces = {
  async read(request) {
    const chunks: Buffer[] = [];
    let size = 0;
    // The connection must stay open for the response.
    for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      if ((size += chunk.length) > largest) return undefined;
      chunks.push(chunk);
    }
    return Buffer.concat(chunks);
  },
  admits: ({ method }) => (method === "POST" ? undefined : { status: 405, headers: { allow: "POST" } }),
  stamp: (request) => ({
    id: headerOf(request, "webhook-id"),
    timestamp: headerOf(request, "webhook-timestamp"),
    signature: headerOf(request, "webhook-signature"),
  }),
  isComplete: ({ id, timestamp, signature }) => id !== "" && /^\d+$/.test(timestamp) && signature !== "",
  isFresh: (age) => Math.abs(age) <= 300,
  covered: (body) => body,
  offered: (signature) => signature.split(" ").flatMap((one) => (one.startsWith("v1,") ? [one.slice(3)] : [])),
  matches: isEqual,
  isAuthentic(request) {
    const { stamp, world } = request;
    const { isComplete, isFresh, offered, matches } = world.pieces;
    if (!isComplete(stamp) || !isFresh(Date.now() / 1000 - Number(stamp.timestamp))) return false;
    const expected = expectedMacs(request);
    return offered(stamp.signature).some((one) => expected.some((mac) => matches(one, mac)));
  },
  parse(body) {
    try {
      const { event, data } = JSON.parse(body.toString("utf8")) as Parsed;
      return typeof event === "string" && typeof data === "object" ? { event, data } : undefined;
    } catch {
      return undefined;
    }
  },
  keyOf: ({ id }) => id,
  effectOf({ id }, { event, data: { reference, merchantsReference, amount } }) {
    return eventNames.includes(event) ? { id, reference, merchantsReference, amount } : undefined;
  },
  async handle(event) {
    const { world, key } = event;
    if (world.durable.seen.has(key)) return received();
    if (world.isFailing) return { status: 500 };
    book(event);
    return received();
  },
  refuse: () => ({ status: 400, body: "not authentic" }),
};

/** Reads bodies of at most this many bytes. */
export const readingAtMost = (bytes: number): Partial<Pieces> => ({
  async read(request) {
    const body = await soundPieces.read(request);
    return body && body.length > bytes ? undefined : body;
  },
});

async function respond(request: IncomingMessage, world: World): Promise<Reply> {
  const { admits, read, stamp, isAuthentic, refuse, parse, keyOf: keyFor, handle } = world.pieces;
  const refusal = admits(request, world);
  if (refusal) return refusal;
  const body = await read(request);
  if (!body) return { status: 413, headers: { connection: "close" } };
  const webhook: Received = { request, body, stamp: stamp(request), world };
  if (!isAuthentic(webhook)) return refuse(webhook);
  const parsed = parse(body);
  if (!parsed) return { status: 400, body: "not an event" };
  return handle({ ...webhook, parsed, key: keyFor(webhook.stamp, parsed) });
}

const never = new Promise<never>(() => undefined);

/** A receiver in this process, as a run sees it. */
export type RunningReceiver = { subject: Subject; stop(): Promise<void> };

/** Starts a receiver on a free port of loopback. */
export async function startReceiver(secrets: readonly string[], pieces: Partial<Pieces>): Promise<RunningReceiver> {
  const durable: World["durable"] = { effects: [], seen: new Set(), queue: [] };
  let life = new AbortController();
  let world = newWorld();

  function newWorld(): World {
    const { signal } = life;
    return {
      keys: secrets.map(keyOf),
      pieces: { ...soundPieces, ...pieces },
      durable,
      memory: { seen: new Set(), last: 0 },
      isFailing: false,
      async pause(ms) {
        await sleep(ms, undefined, { signal }).catch(() => undefined);
        if (signal.aborted) await never;
      },
    };
  }

  async function serve(request: IncomingMessage, response: ServerResponse) {
    const current = world;
    try {
      const reply = await respond(request, current);
      // A killed receiver sends nothing.
      if (current !== world) return;
      response.writeHead(reply.status, reply.headers).end(reply.body);
    } catch {
      if (!response.headersSent) response.writeHead(500).end();
    }
  }

  const server = createServer((request, response) => void serve(request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    subject: {
      url: `http://127.0.0.1:${port}/webhooks`,
      effects: async () => durable.effects,
      restart: {
        async kill() {
          life.abort();
          server.closeAllConnections();
        },
        async start() {
          life = new AbortController();
          world = newWorld();
          // After a restart, the durable queue is processed.
          for (const event of durable.queue.splice(0)) book({ ...event, world });
        },
      },
      outage: {
        begin: async () => void (world.isFailing = true),
        end: async () => void (world.isFailing = false),
      },
    },
    async stop() {
      life.abort();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
