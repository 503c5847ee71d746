// Stands between the suite and a sound server: a fault can change requests and responses, and the webhooks that the
// server sends.
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer, text } from "node:stream/consumers";
import type { ClaimedDelivery } from "../../server/domain/deliveries.ts";
import type { Storage } from "../../server/domain/storage.ts";
import { createHttpClient } from "../target/http.ts";
import type { Ask, Call, Deliver, Hooks, Reply } from "./fault.ts";

/** Time limit for a response. It is longer than the longest delay of the server (suffix 408 of D17). */
const patienceMs = 40_000;
/** Hop-by-hop headers, which a proxy must not forward. */
const ofTheConnection = new Set(["host", "connection", "keep-alive", "transfer-encoding", "content-length"]);

const passedOn = <T>(headers: Record<string, T | undefined>): Record<string, T> =>
  Object.fromEntries(
    Object.entries(headers).filter(([name, value]) => value !== undefined && !ofTheConnection.has(name)),
  ) as Record<string, T>;

/** Creates a client for one server. `ask` resolves with undefined if the server does not respond. */
export function createAsk(origin: URL): { ask: Ask; close(): void } {
  const http = createHttpClient();
  return {
    async ask({ method, path, headers, body }) {
      const length: Record<string, string> =
        body.length > 0 || method === "POST" ? { "content-length": String(body.length) } : {};
      const request = { origin, path, method, headers: { ...headers, ...length }, body };
      const response = await http.send({ ...request, timeoutMs: patienceMs });
      if ("failure" in response) return undefined;
      return { status: response.status, headers: passedOn(response.headers), text: response.body.toString("utf8") };
    },
    close: () => http.close(),
  };
}

/** Starts an HTTP server on a free port. */
async function listen(serve: RequestListener) {
  // Several runs share a thread. Otherwise, after a pause of the thread, Node would close a connection although its
  // next request has arrived.
  const server = createServer({ keepAliveTimeout: 120_000 }, serve);
  server.on("checkExpectation", serve);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function send(response: ServerResponse, reply: Reply | undefined, head: boolean) {
  if (!reply) return void response.destroy();
  if (reply.continued) response.writeContinue();
  const length = head ? {} : { "content-length": Buffer.byteLength(reply.text) };
  response.writeHead(reply.status, { ...reply.headers, ...length }).end(head ? undefined : reply.text);
}

/**
 * Starts a proxy in front of a server.
 * @param handle called for each request
 */
export async function startFront(origin: URL, handle: NonNullable<Hooks["handle"]>) {
  const { ask, close } = createAsk(origin);
  async function serve(request: IncomingMessage, response: ServerResponse) {
    const { method = "", url: path = "" } = request;
    const chunked = request.headers["transfer-encoding"] === "chunked";
    const call: Call = { method, path, headers: passedOn(request.headers), body: await buffer(request), chunked };
    send(response, await handle(call, ask), method === "HEAD");
  }
  const front = await listen((request, response) => void serve(request, response).catch(() => response.destroy()));
  return {
    ...front,
    async stop() {
      close();
      await front.stop();
    },
  };
}

const sent = ["content-type", "user-agent", "webhook-id", "webhook-timestamp", "webhook-signature"];

const deliver: Deliver = async ({ url, headers, body }) => {
  const target = new URL(url);
  const { ask, close } = createAsk(target);
  const path = target.pathname + target.search;
  const reply = await ask({ method: "POST", path, headers, body: Buffer.from(body) });
  close();
  return reply ?? { status: 502, headers: {}, text: "" };
};

/**
 * Starts a relay, to which the server sends every webhook.
 * @param webhook called for each webhook; it delivers the webhook, changed or not, or drops it
 */
export async function startRelay(webhook: NonNullable<Hooks["webhook"]>) {
  const underWay = new Map<string, ClaimedDelivery>();
  const relay = await listen(async (request, response) => {
    const body = await text(request);
    const headers = Object.fromEntries(sent.map((name) => [name, String(request.headers[name])]));
    const claimed = underWay.get(headers["webhook-id"] ?? "") as ClaimedDelivery;
    const reply = await webhook({ url: claimed.url, headers, body, claimed }, deliver);
    response.writeHead(reply.status, reply.headers).end(reply.text);
  });
  const diverted = (claimed: ClaimedDelivery) => {
    underWay.set(claimed.id, claimed);
    return { ...claimed, url: `${relay.url}/` };
  };
  return {
    /** Returns replacements for storage methods that change the URL of every claimed delivery to the relay's. */
    divert: (inner: Storage): Partial<Storage> => ({
      claimDeliveries: async (...which) => (await inner.claimDeliveries(...which)).map(diverted),
    }),
    stop: relay.stop,
  };
}
