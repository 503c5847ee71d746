// A proxy between the suite and a sound server, in which a fault can change requests and responses.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { createHttpClient } from "../target/http.ts";
import type { Ask, Call, Hooks, Reply } from "./fault.ts";

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

function send(response: ServerResponse, reply: Reply | undefined, head: boolean) {
  if (!reply) return void response.destroy();
  if (reply.continued) response.writeContinue();
  const length = head ? {} : { "content-length": Buffer.byteLength(reply.text) };
  response.writeHead(reply.status, { ...reply.headers, ...length }).end(head ? undefined : reply.text);
}

/**
 * Starts the proxy on a free port.
 * @param origin the URL of the sound server
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
  // Several runs share a thread. Otherwise, after a pause of the thread, Node would close a connection although its
  // next request has arrived.
  const server = createServer(
    { keepAliveTimeout: 120_000 },
    (request, response) => void serve(request, response).catch(() => response.destroy()),
  );
  server.on("checkExpectation", (request, response) => void serve(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async stop() {
      server.closeAllConnections();
      close();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
