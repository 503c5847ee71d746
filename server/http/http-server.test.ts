import { once } from "node:events";
import { connect } from "node:net";
import { gzipSync } from "node:zlib";
import { afterAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { exchange } from "../testing/http.ts";
import { aPayout, startServer, type TestServer } from "../testing/server.ts";
import { start } from "../testing/table.ts";
import { connectionLimit } from "./http-server.ts";

const server = await startServer();
afterAll(() => server.close());

const path = "/v1/disbursements";
const GET = `GET ${path}/nothing HTTP/1.1\r\n`;
const POST = `POST ${path} HTTP/1.1\r\n`;
const HEALTH = "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n";
const end = "Connection: close\r\n\r\n";
const headOf = ({ key }: { key: string }) => `Host: a\r\nx-api-key: ${key}\r\ncontent-type: application/json\r\n`;
const head = headOf(server);
/** The end of the head, and the body. */
const withBody = (body: string, sent = body) => `Content-Length: ${body.length}\r\n\r\n${sent}`;
const turns = async () => {
  for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate);
};

/** Opens a connection until the end of the test, and sends bytes. `status` is the status of the next response. */
async function open({ port }: TestServer, bytes: string | Uint8Array = "", allowHalfOpen = false) {
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen }).on("error", () => undefined);
  onTestFinished(() => void socket.destroy());
  const closed = new Promise((resolve) => socket.once("close", resolve));
  await once(socket, "connect");
  if (bytes.length > 0) socket.write(bytes);
  const status = async () => Number(String((await once(socket, "data"))[0]).slice(9, 12));
  const send = (more: string) => (socket.write(more), status());
  return { socket, closed, status, send };
}

const valid = () => `GET ${path}/nothing HTTP/1.0\r\nx-api-key: ${server.key}\r\n\r\n`;
const chunked = "Transfer-Encoding: chunked\r\n\r\n";
const create = () => `${POST}${head}${withBody(JSON.stringify(aPayout({ reference: "first" })))}`;

test.each<[string, number | number[], () => string]>([
  ["text that is not HTTP", 400, () => "hello\r\n\r\n"],
  ["a space before a header's colon", 400, () => `${GET}Host : a\r\n\r\n`],
  ["NUL in a header", 400, () => `${GET}Host: a\0b\r\n\r\n`],
  ["a header that is too long", 431, () => `${GET}Host: a\r\nx: ${"x".repeat(20_000)}\r\n\r\n`],
  ["a path that is too long", 431, () => `GET /${"x".repeat(20_000)} HTTP/1.1\r\nHost: a\r\n\r\n`],
  ["two lengths", 400, () => `${POST}${head}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}`],
  ["a length and chunks", 400, () => `${POST}${head}Content-Length: 2\r\n${chunked}2\r\n{}\r\n0\r\n\r\n`],
  ["a chunk without a size", 400, () => `${POST}${head}${chunked}zz\r\n{}`],
  ["a body that ends early", 400, () => `${POST}${head}Content-Length: 100\r\n\r\n{}`],
  ["no Host", 400, () => `${GET}${end}`],
  ["two Hosts", 400, () => `${GET}Host: a\r\nhost: a\r\n${end}`],
  ["a Host with a path", 400, () => `${GET}Host: a/b\r\n${end}`],
  ["CONNECT", 400, () => "CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n"],
  ["HTTP/1.0 without Host", 404, valid],
  ["two keys", 401, () => `${GET}${head}x-api-key: ${server.key}\r\n${end}`],
  ["an absolute URL", 404, () => `GET http://elsewhere.example${path}/nothing HTTP/1.1\r\n${head}${end}`],
  ["an invalid absolute URL", 404, () => `GET http://[::1 HTTP/1.1\r\n${head}${end}`],
  ["a path with a fragment", 404, () => `POST ${path}#f HTTP/1.1\r\n${head}${end}`],
  ["the asterisk form", 404, () => `OPTIONS * HTTP/1.1\r\n${head}${end}`],
  ["an unknown expectation", 404, () => `${GET}${head}Expect: the-unexpected\r\n${end}`],
  ["a protocol upgrade", 404, () => `${GET}${head}Upgrade: h2c, websocket\r\n${end}`],
  ["no body where one is required", 400, () => `${POST}${head}${end}`],
  ["a body where none is expected", 404, () => `${GET}${head}Content-Length: 2\r\n${end}{}`],
  ["pipelined requests", [200, 404, 409, 404], () => `${create()}${GET}${head}\r\n${create()}${GET}${head}${end}`],
])("malformed or unusual HTTP gets its status, and a line in the log: %s: %s", async (_, expected, bytes) => {
  const responses = await exchange(server.port, bytes());
  expect(responses.map(({ status }) => status)).toEqual([expected].flat());
  for (const { status, headers } of responses)
    expect(server.logged().find(({ requestId }) => requestId === headers["x-request-id"])).toMatchObject({ status });
});

describe("at the limit, a new connection replaces the oldest one of a stranger", () => {
  const CROWD = 3;
  let own: TestServer;
  beforeEach(async () => {
    own = await start({ maxConnections: CROWD });
  });
  /** Fills the server with connections that send these bytes, and waits until it has read them. */
  async function crowd(bytes: string) {
    const all = await Promise.all(Array.from({ length: CROWD }, () => open(own, bytes)));
    await turns();
    return all;
  }

  test.each([
    ["that is idle", ""],
    ["that sends a slow body", "POST /nothing HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\na"],
    ["that sends a slow header", "GET / HTTP/1.1\r\nHost: a\r\nx: "],
    ["that does not read what it asked for", "GET /openapi.json HTTP/1.1\r\nHost: a\r\n\r\n".repeat(50)],
    ["whose request was refused", "no HTTP\r\n\r\n"],
  ])("%s", async (_, bytes) => {
    for (const { socket } of await crowd(bytes)) socket.pause();
    const request = `${GET}${headOf(own)}\r\n`;
    const merchant = await open(own, request);
    expect(await merchant.status()).toBe(404);
    // The next strangers replace strangers, and never the merchant.
    for (const { socket } of await crowd("GET / HTTP/1.1\r\n")) socket.destroy();
    expect(await merchant.send(request)).toBe(404);
  });

  test("but none whose request has a key, also while it is handled", async () => {
    const body = JSON.stringify(aPayout());
    const [first] = await crowd(`${POST}${headOf(own)}${withBody(body, body.slice(0, -1))}`);
    const next = await open(own);
    next.socket.resume();
    await next.closed;
    expect(await first!.send(body.slice(-1))).toBe(200);
  });
});

test.each([
  [65, 32],
  [1_048_576, 10_000],
])("a process that may open %i files holds %i connections", (files, expected) => {
  expect(connectionLimit(files)).toBe(expected);
});

test("a key that is revoked while the body is being sent is refused", async () => {
  const { merchant, key } = await server.addMerchant("Kofi");
  const [own] = await server.storage.listKeysOf(merchant.id);
  const body = JSON.stringify(aPayout());
  const { send } = await open(server, `${POST}${headOf({ key })}${withBody(body, body.slice(0, -1))}`);
  await turns();
  await server.storage.revokeKey(own!.id, server.clock.now(), "command ada@host");
  expect(await send(body.slice(-1))).toBe(401);
});

test("returns no response for garbage after a payout, which would be taken for the payout's", async () => {
  const payout = aPayout();
  const bytes = `${POST}${head}${withBody(JSON.stringify(payout))}garbage\r\n\r\n`;
  const responses = await exchange(server.port, bytes);
  expect(responses.filter(({ status }) => status !== 200)).toEqual([]);
  expect((await server.request("POST", path, { body: payout })).status).toBe(409);
});

test("outlives a client that resets its connection after CONNECT", async () => {
  for (let tries = 0; tries < 5; tries += 1) {
    const { socket, status, closed } = await open(server, "CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n");
    await status();
    socket.resetAndDestroy();
    await closed;
    expect((await server.request("GET", "/healthz")).status).toBe(200);
  }
});

describe("a client that takes too long to send its request", () => {
  let own: TestServer;
  beforeEach(async () => {
    own = await start({ requestTimeoutMs: 200 });
  });
  const begin = (body: string) => open(own, `${POST}${headOf(own)}${withBody(body, body.slice(0, -1))}`, true);

  test.each([
    ["while the body is read", 0],
    ["while the key is looked up", 1],
  ])("makes no payment after it was told 408 %s, and its connection is closed", async (_, lookups) => {
    const { findMerchantByKey } = own.storage;
    const told = Promise.withResolvers<void>();
    if (lookups > 0) own.storage.findMerchantByKey = (hash) => told.promise.then(() => findMerchantByKey(hash));
    const payout = aPayout();
    const body = JSON.stringify(payout);
    const { socket, status } = await begin(body);
    expect(await status()).toBe(408);
    told.resolve();
    // The app begins to read the body in one of the next turns.
    await turns();
    socket.write(body.slice(-1));
    await turns();
    own.clock.advance(1_000);
    // A connection that the other side has closed refuses what is written to it.
    for (; !socket.destroyed; socket.write(" ")) await new Promise(setImmediate);
    expect((await own.request("POST", path, { body: payout })).status).toBe(200);
  });

  test.each<[string, (body: string) => [string, Buffer]]>([
    ["whose operation reads none", () => ["POST /sandbox/webhook-secret/rotate", Buffer.from("{")]],
    ["whose compressed body has ended", (body) => [`POST ${path}`, Buffer.concat([gzipSync(body), Buffer.alloc(9)])]],
  ])("does nothing for a request that was told 408, %s", async (_, request) => {
    const payout = aPayout();
    const [line, sent] = request(JSON.stringify(payout));
    const secret = async () => (await own.request("GET", "/sandbox/webhook-secret")).body.data;
    const before = await secret();
    const fields = `${line.includes(path) ? "Content-Encoding: gzip\r\n" : ""}Content-Length: 5000\r\n\r\n`;
    const { socket, status } = await open(own, `${line} HTTP/1.1\r\n${headOf(own)}${fields}`);
    socket.write(sent);
    expect(await status()).toBe(408);
    expect(await secret()).toEqual(before);
    expect((await own.request("POST", path, { body: payout })).status).toBe(200);
  });

  test("does not delay others, also if the time of many is over at once", async () => {
    const slow = await Promise.all(Array.from({ length: 200 }, () => begin("{}")));
    await Promise.race(slow.map(({ status }) => status()));
    expect((await own.request("GET", "/healthz")).status).toBe(200);
    expect(own.logged().filter(({ status, msg }) => status === 408 && msg).length).toBeLessThan(slow.length);
  });
});

describe("closing", () => {
  let own: TestServer;
  let held: Promise<{ status: number }>;
  beforeEach(async () => {
    own = await startServer();
    held = own.createPayout({ phoneNumber: "2257038102408" });
    // The payout is recorded; its response is delayed.
    while (!(await own.storage.hasDue(own.merchant.id, Number.MAX_SAFE_INTEGER))) await new Promise(setImmediate);
  });

  test("sends responses in progress and closes idle connections", async () => {
    const [unused, kept] = [await open(own), await open(own, HEALTH)];
    expect(await kept.status()).toBe(200);
    for (const { socket } of [unused, kept]) socket.resume();
    const closed = own.close();
    expect((await held).status).toBe(200);
    await Promise.all([closed, unused.closed, kept.closed]);
    await expect(own.request("GET", "/healthz")).rejects.toThrow(/ECONNREFUSED/);
  });

  test("does not wait forever for a request that never ends", async () => {
    const asked = new Promise<void>((resolve) => {
      const { findMerchantByKey } = own.storage;
      own.storage.findMerchantByKey = (hash) => (resolve(), findMerchantByKey(hash));
    });
    const { socket, closed: ended } = await open(own, `${POST}${headOf(own)}Content-Length: 100\r\n\r\n{`);
    socket.resume();
    await asked;
    const closed = own.close();
    expect((await held).status).toBe(200);
    own.clock.advance(10_000);
    await Promise.all([closed, ended]);
  });
});
