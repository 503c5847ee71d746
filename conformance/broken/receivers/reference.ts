// A sound receiver, made of pieces that a variant can replace. The receiver runs in this process, and can be killed.
import { timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { keyOf, macOf } from "../../model/webhooks.ts";
import type { Limits } from "../../programs/receiver/context.ts";
import { eventNames, type Data, type Stamp } from "../../programs/receiver/webhook.ts";
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

/** The sound receiver with some pieces replaced. */
export type Variant = {
  id: string;
  /** The ids of the requirements that it violates; an empty array for a sound receiver. */
  violates: readonly string[];
  pieces: Partial<Pieces>;
  limits?: Partial<Limits>;
};

const largestBody = 1024 * 1024;

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

/** The pieces of a receiver. A variant replaces some of them; each piece finds the others in the world. */
export class Pieces {
  /** Reads the body; undefined if it is too large. */
  async read(request: IncomingMessage): Promise<Buffer | undefined> {
    const chunks: Buffer[] = [];
    let size = 0;
    // The connection must stay open for the response.
    for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      if ((size += chunk.length) > largestBody) return undefined;
      chunks.push(chunk);
    }
    return Buffer.concat(chunks);
  }
  /** Returns the response to a request that is refused before its body is read; undefined to handle the request. */
  admits({ method }: IncomingMessage, _world: World): Reply | undefined {
    return method === "POST" ? undefined : { status: 405, headers: { allow: "POST" } };
  }
  stamp(request: IncomingMessage): Stamp {
    const [id, timestamp, signature] = ["id", "timestamp", "signature"].map((name) =>
      headerOf(request, `webhook-${name}`),
    );
    return { id: id!, timestamp: timestamp!, signature: signature! };
  }
  isComplete({ id, timestamp, signature }: Stamp): boolean {
    return id !== "" && /^\d+$/.test(timestamp) && signature !== "";
  }
  /** Judges the age of an event, in seconds; negative if it is from the future. */
  isFresh(age: number): boolean {
    return Math.abs(age) <= 300;
  }
  /** Returns what a signature covers besides id and timestamp. */
  covered(body: Buffer): Uint8Array {
    return body;
  }
  /** Returns the MACs that a value of `webhook-signature` offers. */
  offered(signature: string): string[] {
    return signature.split(" ").flatMap((text) => (text.startsWith("v1,") ? [text.slice(3)] : []));
  }
  /** Compares an offered MAC with the expected MAC, both in base64. */
  matches(offered: string, expected: string): boolean {
    return isEqual(offered, expected);
  }
  isAuthentic(request: Received): boolean {
    const { stamp, world } = request;
    const { pieces } = world;
    if (!pieces.isComplete(stamp) || !pieces.isFresh(Date.now() / 1000 - Number(stamp.timestamp))) return false;
    const expected = expectedMacs(request);
    return pieces.offered(stamp.signature).some((offered) => expected.some((mac) => pieces.matches(offered, mac)));
  }
  parse(body: Buffer): Parsed | undefined {
    try {
      const { event, data } = JSON.parse(body.toString("utf8")) as Parsed;
      return typeof event === "string" && typeof data === "object" ? { event, data } : undefined;
    } catch {
      return undefined;
    }
  }
  keyOf({ id }: Stamp, _parsed: Parsed): string {
    return id;
  }
  /** Returns the effect of an event; undefined if it has none. */
  effectOf({ id }: Stamp, { event, data: { reference, merchantsReference, amount } }: Parsed): Effect | undefined {
    return eventNames.includes(event) ? { id, reference, merchantsReference, amount } : undefined;
  }
  /** Handles an authentic event. */
  async handle(event: Authentic): Promise<Reply> {
    const { world, key } = event;
    if (world.durable.seen.has(key)) return received();
    if (world.isFailing) return { status: 500 };
    book(event);
    return received();
  }
  /** Responds to a request that is not authentic. */
  refuse(_received: Received): Reply {
    return { status: 400, body: "not authentic" };
  }
}

export const soundPieces = new Pieces();

/** Reads bodies of at most this many bytes. */
export const readingAtMost = (bytes: number): Partial<Pieces> => ({
  async read(request) {
    const body = await soundPieces.read(request);
    return body && body.length > bytes ? undefined : body;
  },
});

async function respond(request: IncomingMessage, world: World): Promise<Reply> {
  const { pieces } = world;
  const refusal = pieces.admits(request, world);
  if (refusal) return refusal;
  const body = await pieces.read(request);
  if (!body) return { status: 413, headers: { connection: "close" } };
  const webhook: Received = { request, body, stamp: pieces.stamp(request), world };
  if (!pieces.isAuthentic(webhook)) return pieces.refuse(webhook);
  const parsed = pieces.parse(body);
  if (!parsed) return { status: 400, body: "not an event" };
  return pieces.handle({ ...webhook, parsed, key: pieces.keyOf(webhook.stamp, parsed) });
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
      pieces: Object.assign(Object.create(soundPieces) as Pieces, pieces),
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
