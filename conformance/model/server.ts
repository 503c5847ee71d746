// Starts the model on the loopback interface.
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import type { Ask, Call, Reply } from "./messages.ts";
import { Merchant, type Hooks } from "./merchant.ts";
import { createService } from "./service.ts";

export type Model = {
  url: string;
  key: string;
  secondKey: string;
  /** The merchants of the two keys. */
  merchants: readonly [Merchant, Merchant];
  stop(): Promise<void>;
};

export const newKey = () => randomBytes(24).toString("base64url");

const headersOf = (request: IncomingMessage): Call["headers"] =>
  Object.fromEntries(Object.entries(request.headers).filter(([, value]) => value !== undefined)) as Call["headers"];

/** Sends a reply, or closes the connection without one. */
export function send(response: ServerResponse, reply: Reply | undefined, isHead = false): void {
  if (!reply) return void response.destroy();
  if (reply.continued) response.writeContinue();
  const length = isHead ? {} : { "content-length": Buffer.byteLength(reply.text) };
  response.writeHead(reply.status, { ...reply.headers, ...length }).end(isHead ? undefined : reply.text);
}

/**
 * Listens on a free port of the loopback interface.
 * @param serve responds to each request, also to a request that expects 100 Continue
 */
export async function listen(serve: (call: Call, request: IncomingMessage, response: ServerResponse) => Promise<void>) {
  // Several runs share a thread. With a shorter time, Node would close a connection after a pause of the thread although
  // the connection's next request has arrived.
  const server = createServer({ keepAliveTimeout: 120_000, requestTimeout: 0, headersTimeout: 0 });
  const onRequest = async (request: IncomingMessage, response: ServerResponse) => {
    const { method = "", url: path = "", rawHeaders } = request;
    const chunked = request.headers["transfer-encoding"] === "chunked";
    try {
      const call = { method, path, headers: headersOf(request), rawHeaders, body: await buffer(request), chunked };
      await serve(call, request, response);
    } catch {
      response.destroy();
    }
  };
  server.on("request", (request, response) => void onRequest(request, response));
  server.on("checkExpectation", (request, response) => void onRequest(request, response));
  await once(server.listen(0, "127.0.0.1"), "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

/** Starts the model on a free port, with two merchants that have these keys. */
export async function startModel(hooks: Hooks = {}, [first, second] = [newKey(), newKey()]): Promise<Model> {
  const named = (name: string, key: string) => new Merchant(name, key, hooks);
  const merchants: Model["merchants"] = [named("Ada Stores", first), named("Bola Foods", second)];
  const all: Merchant[] = [...merchants];
  const respond = createService(all, hooks, () => server.url);
  const ask: Ask = async (call) => {
    const reply = await respond(call);
    // A real service takes a moment to store a record, and further requests arrive meanwhile.
    await sleep(1);
    return reply;
  };
  const { handle = (call) => ask(call) } = hooks;
  const server = await listen(async (call, _request, response) =>
    send(response, await handle(call, ask), call.method === "HEAD"),
  );
  return {
    url: server.url,
    key: merchants[0].key,
    secondKey: merchants[1].key,
    merchants,
    async stop() {
      for (const merchant of all) merchant.state.clock.close();
      await server.stop();
    },
  };
}
