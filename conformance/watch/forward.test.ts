import { createHash } from "node:crypto";
import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { generate } from "selfsigned";
import { afterEach, expect, test } from "vitest";
import { reservePort } from "../target/reserve-port.ts";
import { forwardTcp, type Door } from "./forward.ts";
import { createHttpStream } from "./http-stream.ts";
import type { Exchange } from "./traffic.ts";

const loopback = { host: "127.0.0.1", port: 0 };
const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

const portOf = (server: { address(): unknown }) => (server.address() as AddressInfo).port;
const hash = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex");

/** Starts a service for raw connections. */
async function startService(handle: (socket: Socket) => void, port = 0) {
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on("error", () => undefined);
    handle(socket);
  });
  server.listen(port, "127.0.0.1");
  closing.push(() => server.close());
  await once(server, "listening");
  return server;
}

/** Starts a forward whose traffic is read in this process. */
async function startDoor(target: string, certificates = {}) {
  const seen: Exchange[] = [];
  const said: string[] = [];
  let outstanding = 0;
  let closed = 0;
  const closers: (() => void)[] = [];
  const door: Door = await forwardTcp(
    { listen: loopback, target: new URL(target), certificates },
    (close) => {
      closers.push(close);
      const stream = createHttpStream(
        (exchange) => seen.push(exchange),
        (reason) => said.push(reason),
      );
      return {
        sent: (chunk) => {
          outstanding += chunk.length;
          stream.sent(chunk, 0);
        },
        received: (chunk) => stream.received(chunk, 0),
        ended: () => stream.ended(0),
        closed: () => {
          closed += 1;
          stream.closed(0);
        },
      };
    },
    (text) => said.push(text),
  );
  closing.push(() => {
    door.cut();
    return door.stop();
  });
  return { door, seen, said, closers, passed: () => outstanding, closedConnections: () => closed };
}

async function call(url: string): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const caller = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
  closing.push(() => caller.destroy());
  caller.on("error", () => undefined);
  await once(caller, "connect");
  return caller;
}

/** Reads until the other side ends. @throws if the connection is reset */
async function readAll(socket: Socket): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of socket) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

async function write(socket: Socket, chunks: readonly Buffer[]) {
  for (const chunk of chunks) {
    if (!socket.write(chunk)) await once(socket, "drain");
    await turn();
  }
  socket.end();
}

const head = "POST /p HTTP/1.1\r\nHost: x\r\n";
const ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const split = (text: string, size: number) =>
  Array.from({ length: Math.ceil(text.length / size) }, (_, at) =>
    Buffer.from(text.slice(at * size, (at + 1) * size), "latin1"),
  );
const megabytes = (count: number) => Array.from({ length: count }, (_, at) => Buffer.alloc(2 ** 20, at));
const chunked = "Transfer-Encoding: chunked\r\n\r\n2;x\r\n{}\r\n0\r\nT: t\r\n\r\n";

const oddities: [name: string, sent: Buffer[], received: Buffer[], exchanges: number][] = [
  ["single bytes", split(`${head}Content-Length: 2\r\n\r\n{}`, 1), split(ok, 1), 1],
  ["pipelined requests", split("GET /a HTTP/1.1\r\nHost: x\r\n\r\n".repeat(9), 70), split(ok.repeat(9), 50), 9],
  ["chunks, and header names in any case", split(`${head}x-ODD:  1 \r\n${chunked}`, 20), split(ok, 9), 1],
  [
    "100 Continue",
    split(`${head}Expect: 100-continue\r\nContent-Length: 2\r\n\r\n{}`, 30),
    split(`HTTP/1.1 100 Continue\r\n\r\n${ok}`, 12),
    1,
  ],
  [
    "a response without a length",
    split(`${head}Content-Length: 0\r\n\r\n`, 99),
    split("HTTP/1.0 200 OK\r\n\r\nx", 9),
    1,
  ],
  [
    "bodies of many megabytes",
    [Buffer.from(`${head}Content-Length: ${32 * 2 ** 20}\r\n\r\n`), ...megabytes(32)],
    [Buffer.from(`HTTP/1.1 200 OK\r\nContent-Length: ${16 * 2 ** 20}\r\n\r\n`), ...megabytes(16)],
    1,
  ],
  [
    "an upgrade",
    split(`GET / HTTP/1.1\r\nHost: x\r\nUpgrade: x\r\n\r\n`, 99),
    split("HTTP/1.1 101 S\r\n\r\n\0\xff", 20),
    1,
  ],
  ["what is not HTTP", split("\x16\x03\x01\0\xff", 2), split("\0\r\n\r\n\xfe", 2), 0],
  ["nothing", [], [], 0],
];

test.each(oddities)(
  "passes %s unchanged in both directions, and half-closed connections",
  async (_name, sent, received, exchanges) => {
    let arrived = Buffer.alloc(0);
    const service = await startService(async (socket) => {
      arrived = await readAll(socket);
      // The caller has closed its side.
      await write(socket, received);
    });
    const { door, seen } = await startDoor(`http://127.0.0.1:${portOf(service)}`);
    const caller = await call(door.url);
    const [response] = await Promise.all([readAll(caller), write(caller, sent)]);
    expect(hash(arrived)).toBe(hash(Buffer.concat(sent)));
    expect(hash(response)).toBe(hash(Buffer.concat(received)));
    await door.stop();
    expect(seen).toHaveLength(exchanges);
  },
);

test("passes what is sent at once, without waiting for more", async () => {
  const service = await startService((socket) => void socket.pipe(socket));
  const { door } = await startDoor(`http://127.0.0.1:${portOf(service)}`);
  const caller = await call(door.url);
  for (const text of ["G", "ET /", "\0"]) {
    caller.write(text);
    expect(String((await once(caller, "data"))[0])).toBe(text);
  }
});

test("holds a caller back that sends more than the service takes", async () => {
  let taken = 0;
  let most = 0;
  const all = 128 * 2 ** 20;
  const service = await startService(async (socket) => {
    for await (const chunk of socket) {
      taken += (chunk as Buffer).length;
      most = Math.max(most, passed() - taken);
      await turn();
      await turn();
    }
    socket.end();
  });
  const { door, passed } = await startDoor(`http://127.0.0.1:${portOf(service)}`);
  const caller = await call(door.url);
  await Promise.all([readAll(caller), write(caller, megabytes(128))]);
  expect(taken).toBe(all);
  // What the sockets of the system hold, and no more.
  expect(most).toBeLessThan(all / 4);
});

test("an abort of the caller aborts the request to the service", async () => {
  const aborted = Promise.withResolvers<unknown>();
  const service = await startService((socket) => {
    socket.on("error", aborted.resolve).once("data", () => caller.resetAndDestroy());
  });
  const { door, seen } = await startDoor(`http://127.0.0.1:${portOf(service)}`);
  const caller = await call(door.url);
  caller.write(`${head}Content-Length: 2\r\n\r\n{`);
  expect(await aborted.promise).toMatchObject({ code: "ECONNRESET" });
  await door.stop();
  expect(seen).toMatchObject([{ path: "/p", body: { absent: "cut" } }]);
  expect(seen[0]).not.toHaveProperty("response");
});

test("an abort of the service is not a clean end for the caller, and what it sent before arrives", async () => {
  const start = "HTTP/1.1 200 OK\r\n\r\nhalf";
  const service = await startService((socket) => {
    socket.once("data", () => socket.write(start));
  });
  const { door, seen } = await startDoor(`http://127.0.0.1:${portOf(service)}`);
  const caller = await call(door.url);
  const connection = once(service, "connection");
  caller.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  expect(String((await once(caller, "data"))[0])).toBe(start);
  void connection;
  const closed = once(caller, "close");
  for (const socket of sockets(service)) socket.resetAndDestroy();
  expect(await closed).toEqual([true]);
  await door.stop();
  expect(seen).toMatchObject([{ response: { status: 200, body: { absent: "cut" } } }]);
});
