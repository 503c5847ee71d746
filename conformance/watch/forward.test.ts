import { createHash } from "node:crypto";
import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { afterEach, expect, test } from "vitest";
import { makeCertificate } from "../testing/certificates.ts";
import { forwardTcp } from "./forward.ts";
import { createHttpStream } from "./http-stream.ts";
import type { Exchange } from "./traffic.ts";

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

const ignore = () => undefined;
const hash = (bytes: readonly Buffer[]) => createHash("sha256").update(Buffer.concat(bytes)).digest("hex");
const turn = () => new Promise((resolve) => setImmediate(resolve));

/** Lets a service listen. Returns its URL. */
async function serve(server: Server, port = 0): Promise<string> {
  server.listen(port, "127.0.0.1");
  closing.push(() => server.close());
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A service for raw connections. */
const service = (handle: (socket: Socket) => void) =>
  createServer({ allowHalfOpen: true }, (socket) => handle(socket.on("error", ignore)));

/** Forwards to a target. What passes is read in this process. */
async function forwardTo(target: string, certificates = {}) {
  const seen: Exchange[] = [];
  const said: string[] = [];
  const passed = { sent: 0 };
  const at = 0;
  const { url, stop, cut } = await forwardTcp(
    { listen: { host: "127.0.0.1", port: 0 }, target: new URL(target), certificates },
    () => {
      const stream = createHttpStream((exchange) => seen.push(exchange), ignore);
      return {
        sent: (chunk) => stream.sent(chunk, (passed.sent += chunk.length)),
        received: (chunk) => stream.received(chunk, at),
        ended: () => stream.ended(at),
        closed: () => stream.closed(at),
      };
    },
    (text) => said.push(text),
  );
  closing.push(() => cut());
  /** Connects to the forward. */
  async function call(): Promise<Socket> {
    const caller = connect({ host: "127.0.0.1", port: Number(new URL(url).port), allowHalfOpen: true });
    closing.push(() => caller.destroy());
    await once(caller.on("error", ignore), "connect");
    return caller;
  }
  return { seen, said, passed, stop, call };
}

async function readAll(socket: Socket): Promise<Buffer[]> {
  const chunks: Buffer[] = [];
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) chunks.push(chunk as Buffer);
  return chunks;
}

async function writeAll(socket: Socket, chunks: readonly Buffer[]) {
  for (const chunk of chunks) {
    if (!socket.write(chunk)) await once(socket, "drain");
    await turn();
  }
  socket.end();
}

const wasAborted = (socket: Socket) => new Promise((resolve) => socket.once("close", resolve));

const split = (text: string, size: number) =>
  (text.match(new RegExp(`[^]{1,${size}}`, "g")) ?? []).map((part) => Buffer.from(part, "latin1"));
const megabytes = (count: number) => Array.from({ length: count }, (_, at) => Buffer.alloc(2 ** 20, at));
const get = "GET /a HTTP/1.1\r\nHost: x\r\n\r\n";
const post = "POST /p HTTP/1.1\r\nHost: x\r\n";
const ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const length = (bytes: number) => `Content-Length: ${bytes}\r\n\r\n`;

const oddities: [name: string, sent: Buffer[], received: Buffer[], exchanges: number][] = [
  ["single bytes", split(`${post}${length(2)}{}`, 1), split(ok, 1), 1],
  ["pipelined requests", split(get.repeat(9), 70), split(ok.repeat(9), 50), 9],
  [
    "chunks, trailers and odd spaces",
    split(`${post}x-ODD:  1 \r\nTransfer-Encoding: chunked\r\n\r\n2;x\r\n{}\r\n0\r\nT: t\r\n\r\n`, 20),
    split(ok, 9),
    1,
  ],
  [
    "100 Continue",
    split(`${post}Expect: 100-continue\r\n${length(2)}{}`, 30),
    split(`HTTP/1.1 100 Continue\r\n\r\n${ok}`, 12),
    1,
  ],
  ["a response without a length", split(get, 99), split("HTTP/1.0 200 OK\r\n\r\nx", 9), 1],
  [
    "large bodies",
    [Buffer.from(post + length(2 ** 23)), ...megabytes(8)],
    [Buffer.from(`HTTP/1.1 200 OK\r\n${length(2 ** 22)}`), ...megabytes(4)],
    1,
  ],
  [
    "another protocol",
    split("GET / HTTP/1.1\r\nHost: x\r\nUpgrade: x\r\n\r\n", 99),
    split("HTTP/1.1 101 S\r\n\r\n\0\xff", 20),
    1,
  ],
  ["what is not HTTP", split("\x16\x03\x01\0\xff", 2), split("\0\r\n\r\n\xfe", 2), 0],
  ["nothing", [], [], 0],
];

const { key, cert } = await makeCertificate({ name: "localhost", hosts: ["localhost"] });
const servers = {
  http: (handle: (socket: Socket) => void) => service(handle),
  https: (handle: (socket: Socket) => void) => createTlsServer({ key, cert, allowHalfOpen: true }, handle),
};

const rows = Object.entries(servers).flatMap(([scheme, create]) => {
  return oddities.map(([name, sent, received, exchanges]) => ({ scheme, create, name, sent, received, exchanges }));
});

test.each(rows)(
  "$scheme: passes $name unchanged both ways, and the end of each side",
  async ({ scheme, create, sent, received, exchanges }) => {
    const arrived = Promise.withResolvers<Buffer[]>();
    const target = create(async (socket) => {
      // The caller has closed its side before the service writes.
      arrived.resolve(await readAll(socket));
      await writeAll(socket, received);
    });
    const url = (await serve(target)).replace("http", scheme).replace("127.0.0.1", "localhost");
    const { seen, stop, call } = await forwardTo(url, { ca: cert });
    const caller = await call();
    const [response] = await Promise.all([readAll(caller), writeAll(caller, sent)]);
    expect(hash(await arrived.promise)).toBe(hash(sent));
    expect(hash(response)).toBe(hash(received));
    await stop();
    expect(seen).toHaveLength(exchanges);
  },
);

test("passes each part at once, without waiting for more", async () => {
  const { call } = await forwardTo(await serve(service((socket) => socket.pipe(socket))));
  const caller = await call();
  for (const text of ["G", "ET /", "\0"]) {
    caller.write(text);
    expect(String((await once(caller, "data"))[0])).toBe(text);
  }
});

test("holds a caller back that sends faster than the service reads", async () => {
  let taken = 0;
  let most = 0;
  const target = service(async (socket) => {
    for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
      taken += (chunk as Buffer).length;
      most = Math.max(most, passed.sent - taken);
      for (let turns = 0; turns < 5; turns += 1) await turn();
    }
    socket.end();
  });
  const { passed, call } = await forwardTo(await serve(target));
  const caller = await call();
  await Promise.all([readAll(caller), writeAll(caller, megabytes(32))]);
  expect(taken).toBe(2 ** 25);
  // What the sockets of the system hold, and no more.
  expect(most).toBeLessThan(2 ** 24);
});

test("an abort of the caller reaches the service as an abort", async () => {
  const aborted = Promise.withResolvers<unknown>();
  const target = createServer((socket) =>
    socket.on("error", aborted.resolve).once("data", () => caller.resetAndDestroy()),
  );
  const { seen, stop, call } = await forwardTo(await serve(target));
  const caller = await call();
  caller.write(`${post}${length(2)}{`);
  expect(await aborted.promise).toMatchObject({ code: "ECONNRESET" });
  await stop();
  expect(seen).toEqual([expect.objectContaining({ path: "/p", body: { absent: "cut" } })]);
  expect(seen[0]).not.toHaveProperty("response");
});

test("an abort of the service reaches the caller as an abort, after what was sent before", async () => {
  const half = "HTTP/1.1 200 OK\r\n\r\nhalf";
  const abort = Promise.withResolvers<void>();
  const target = service((socket) => {
    socket.once("data", () => socket.write(half));
    void abort.promise.then(() => socket.resetAndDestroy());
  });
  const { seen, stop, call } = await forwardTo(await serve(target));
  const caller = await call();
  caller.write(get);
  expect(String((await once(caller, "data"))[0])).toBe(half);
  const aborted = wasAborted(caller);
  abort.resolve();
  expect(await aborted).toBe(true);
  await stop();
  expect(seen).toMatchObject([{ response: { status: 200, body: { absent: "cut" } } }]);
});

test("closes callers' connections while the target is down, says so once, and says when it is back", async () => {
  const target = service((socket) => socket.end(ok));
  const url = await serve(target);
  target.close();
  const { said, call } = await forwardTo(url);
  for (let calls = 0; calls < 3; calls += 1) {
    expect(await wasAborted((await call()).resume())).toBe(true);
  }
  const port = new URL(url).port;
  expect(said).toEqual([
    expect.stringMatching(`nothing listens on 127.0.0.1:${port} .* Callers see closed connections`),
  ]);
  await serve(target, Number(port));
  expect(hash(await readAll(await call()))).toBe(hash([Buffer.from(ok)]));
  expect(said).toEqual([expect.anything(), `127.0.0.1:${port} can be reached again.`]);
});

test("says which address cannot be listened on", async () => {
  const port = Number(new URL(await serve(service(ignore))).port);
  const taken = { listen: { host: "127.0.0.1", port }, target: new URL("http://127.0.0.1:1") };
  await expect(forwardTcp(taken, ignore as never, ignore)).rejects.toThrow(`cannot listen on 127.0.0.1:${port}`);
});
