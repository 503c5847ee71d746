import { once } from "node:events";
import { createServer as createHttpServer, type RequestListener } from "node:http";
import { createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { buffer } from "node:stream/consumers";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createConnections, type Connections } from "./connections.ts";

let connections: Connections;
const servers: Server[] = [];
let sockets: Socket[];
beforeEach(() => {
  sockets = [];
  connections = createConnections({ lookup: async () => [], forbidden: () => undefined, discreet: false });
});
afterEach(async () => {
  connections.close();
  for (const socket of sockets) socket.destroy();
  for (const server of servers.splice(0)) server.close();
});

/** Starts a server and returns its origin. */
async function listen(server: Server, protocol = "http"): Promise<string> {
  servers.push(server);
  server.on("connection", (socket: Socket) => sockets.push(socket.on("error", () => undefined)));
  await once(server.listen(0, "127.0.0.1"), "listening");
  return `${protocol}://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
const http = (respond: RequestListener) =>
  listen(createHttpServer((request, response) => void respond(request, response)));
const tcp = (act: (socket: Socket) => void, protocol?: string) =>
  listen(
    createServer((socket) => socket.once("data", () => act(socket))),
    protocol,
  );

async function post(origin: string, signal = new AbortController().signal) {
  const request = { headers: {}, body: "{}", signal, onInformation: () => undefined };
  const response = await connections.post(new URL(origin), request);
  await buffer(response);
  return response.statusCode;
}

test("requests in turn use one connection, requests at the same time use several", async () => {
  const origin = await http((_request, response) => response.end());
  await post(origin);
  await post(origin);
  expect(sockets).toHaveLength(1);
  await Promise.all([post(origin), post(origin)]);
  expect(sockets).toHaveLength(2);
  expect(connections.receivers).toBe(1);
});

test("a connection that the receiver has closed is replaced", async () => {
  const origin = await http((_request, response) => response.end());
  await post(origin);
  sockets[0]!.destroy();
  await expect.poll(() => connections.receivers).toBe(0);
  expect([await post(origin), sockets.length]).toEqual([200, 2]);
});

test.each([
  [
    "closes the connection after its response",
    () => http((_request, response) => response.setHeader("Connection", "close").end()),
  ],
  ["resets the connection", () => tcp((socket) => socket.resetAndDestroy())],
  ["does not speak TLS", () => tcp((socket) => socket.end("garbage"), "https")],
  ["does not answer the TLS handshake", () => tcp((socket) => socket.resume(), "https")],
  ["does not respond before the request is aborted", () => http(() => undefined)],
  [
    "listens no longer",
    async () => {
      const origin = await http(() => undefined);
      servers.pop()!.close();
      return origin;
    },
  ],
] as const)("nothing is kept of a receiver that %s", async (_, start) => {
  const deadline = new AbortController();
  const sent = post(await start(), deadline.signal).catch(() => undefined);
  await expect.poll(() => connections.receivers).toBe(1);
  deadline.abort();
  await sent;
  await expect.poll(() => connections.receivers).toBe(0);
});
