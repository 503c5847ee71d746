import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { afterEach, expect, test } from "vitest";
import { makeCertificate } from "../testing/certificates.ts";
import { forwardTcp } from "./forward.ts";

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

const ignore = () => undefined;
const turn = () => new Promise((resolve) => setImmediate(resolve));

/** Lets a service listen. Returns its URL. */
async function serve(server: Server, port = 0): Promise<string> {
  server.listen(port, "127.0.0.1");
  closing.push(() => server.close());
  await once(server, "listening");
  return `http://localhost:${(server.address() as AddressInfo).port}`;
}

/** A service for raw connections. */
const service = (handle: (socket: Socket) => void) =>
  createServer({ allowHalfOpen: true }, (socket) => handle(socket.on("error", ignore)));

/** Forwards to a target. `told` is what a judge would be told, in bytes of each direction and events. */
async function forwardTo(target: string, certificates = {}) {
  const told = { sent: 0, received: 0, events: [] as string[], said: [] as string[] };
  const { url, cut } = await forwardTcp(
    { listen: { host: "127.0.0.1", port: 0 }, target: new URL(target), certificates },
    () => ({
      sent: ({ length }) => (told.sent += length),
      received: ({ length }) => (told.received += length),
      ended: () => told.events.push("ended"),
      closed: () => told.events.push("closed"),
    }),
    (text) => told.said.push(text),
  );
  closing.push(cut);
  async function call(): Promise<Socket> {
    const caller = connect({ host: "127.0.0.1", port: Number(new URL(url).port), allowHalfOpen: true });
    closing.push(() => caller.destroy());
    await once(caller.on("error", ignore), "connect");
    return caller;
  }
  return { told, call };
}

async function readAll(socket: Socket): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/** Writes in chunks, and ends. */
async function writeAll(socket: Socket, bytes: Buffer, size: number) {
  for (let at = 0; at < bytes.length; at += size) {
    if (!socket.write(bytes.subarray(at, at + size))) await once(socket, "drain");
    await turn();
  }
  socket.end();
}

const wasAborted = (socket: Socket) => new Promise((resolve) => socket.once("close", resolve));

const get = "GET /a HTTP/1.1\r\nHost: x\r\n\r\n";
const post = "POST /p HTTP/1.1\r\nhOST:  x \r\n";
const chunks = "Transfer-Encoding: chunked\r\n\r\n2;x\r\n{}\r\n0\r\nT: t\r\n\r\n";
const ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const large = (count: number) => `Content-Length: ${count}\r\n\r\n${"\xff".repeat(count)}`;

const conversations: Record<string, [sent: string, received: string]> = {
  "pipelined requests": [get.repeat(9), ok.repeat(9)],
  "chunks and trailers": [post + chunks, `HTTP/1.1 200 OK\r\n${chunks}`],
  "100 Continue": [`${post}Expect: 100-continue\r\n${large(2)}`, `HTTP/1.1 100 Continue\r\n\r\n${ok}`],
  "a response without a length": [get, "HTTP/1.0 200 OK\r\n\r\nx"],
  "large bodies": [post + large(2 ** 23), `HTTP/1.1 200 OK\r\n${large(2 ** 22)}`],
  "another protocol": ["GET / HTTP/1.1\r\nHost: x\r\nUpgrade: x\r\n\r\n", "HTTP/1.1 101 S\r\n\r\n\0\xff"],
  "what is not HTTP": ["\x16\x03\x01\0\xff", "\0\r\n\r\n\xfe"],
  nothing: ["", ""],
};
const { key, cert } = await makeCertificate({ name: "localhost", hosts: ["localhost"] });
const servers = {
  http: service,
  https: (handle: (socket: Socket) => void) => createTlsServer({ key, cert, allowHalfOpen: true }, handle),
};
const rows = Object.entries(conversations).flatMap(([name, texts]) => {
  const [sent, received] = texts.map((text) => Buffer.from(text, "latin1")) as [Buffer, Buffer];
  const sizes = [1, 30, 2 ** 20].map((size) => Math.max(size, Math.ceil(sent.length / 100)));
  return (["http", "https"] as const).flatMap((scheme) =>
    [...new Set(sizes)].map((size) => ({ scheme, name, size, sent, received })),
  );
});

test.each(rows)("$scheme: $name in chunks of $size, and the end of each side", async ({ scheme, size, ...sides }) => {
  const arrived = Promise.withResolvers<Buffer>();
  const target = servers[scheme](async (socket) => {
    // The caller has closed its side before the service writes.
    arrived.resolve(await readAll(socket));
    await writeAll(socket, sides.received, size);
  });
  const { told, call } = await forwardTo((await serve(target)).replace("http", scheme), { ca: cert });
  const caller = await call();
  const [received] = await Promise.all([readAll(caller), writeAll(caller, sides.sent, size)]);
  expect((await arrived.promise).equals(sides.sent)).toBe(true);
  expect(received.equals(sides.received)).toBe(true);
  await expect.poll(() => told.events).toEqual(["ended", "closed"]);
  expect(told).toMatchObject({ sent: sides.sent.length, received: received.length, said: [] });
});

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
      most = Math.max(most, told.sent - taken);
      for (let turns = 0; turns < 5; turns += 1) await turn();
    }
    socket.end();
  });
  const { told, call } = await forwardTo(await serve(target));
  const caller = await call();
  await Promise.all([readAll(caller), writeAll(caller, Buffer.alloc(2 ** 25), 2 ** 20)]);
  expect(taken).toBe(2 ** 25);
  // What the sockets of the system hold, and no more.
  expect(most).toBeLessThan(2 ** 24);
});

test("an abort of the caller reaches the service as an abort", async () => {
  const aborted = Promise.withResolvers<unknown>();
  const target = createServer((socket) => {
    socket.on("error", aborted.resolve).once("data", () => caller.resetAndDestroy());
  });
  const { call } = await forwardTo(await serve(target));
  const caller = await call();
  caller.write(get);
  expect(await aborted.promise).toMatchObject({ code: "ECONNRESET" });
});

test("an abort of the service reaches the caller as an abort, after what was sent before", async () => {
  const half = "HTTP/1.1 200 OK\r\n\r\nhalf";
  const abort = Promise.withResolvers<void>();
  const target = service((socket) => {
    socket.once("data", () => socket.write(half));
    void abort.promise.then(() => socket.resetAndDestroy());
  });
  const { told, call } = await forwardTo(await serve(target));
  const caller = await call();
  caller.write(get);
  expect(String((await once(caller, "data"))[0])).toBe(half);
  const aborted = wasAborted(caller);
  abort.resolve();
  expect(await aborted).toBe(true);
  await expect.poll(() => told.events).toEqual(["closed"]);
});

test("closes callers' connections while the target is down, says so once, and says when it is back", async () => {
  const target = service((socket) => socket.end(ok));
  const url = await serve(target);
  target.close();
  const { told, call } = await forwardTo(url);
  for (let calls = 0; calls < 3; calls += 1) expect(await wasAborted((await call()).resume())).toBe(true);
  const host = new URL(url).host;
  expect(told.said).toEqual([expect.stringMatching(`nothing listens on ${host} .* Callers see closed connections`)]);
  await serve(target, Number(new URL(url).port));
  expect(String(await readAll(await call()))).toBe(ok);
  expect(told.said).toEqual([expect.anything(), `${host} can be reached again.`]);
});

test("says which address cannot be listened on", async () => {
  const port = Number(new URL(await serve(service(ignore))).port);
  const taken = { listen: { host: "127.0.0.1", port }, target: new URL("http://127.0.0.1:1") };
  await expect(forwardTcp(taken, ignore as never, ignore)).rejects.toThrow(`cannot listen on 127.0.0.1:${port}`);
});
