import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { exchange } from "../testing/raw.ts";
import { aPayout, startServer, type TestServer } from "../testing/server.ts";

let server: TestServer;
let head: string;
beforeAll(async () => {
  server = await startServer();
  head = `Host: a\r\nx-api-key: ${server.key}\r\ncontent-type: application/json\r\n`;
});
afterAll(() => server.close());

const path = "/v1/disbursements";
const GET = `GET ${path}/nothing HTTP/1.1\r\n`;
const POST = `POST ${path} HTTP/1.1\r\n`;
const end = "Connection: close\r\n\r\n";

/** Sends a GET on an open connection. Returns the status of the response. */
async function ask(socket: Socket, fields: string): Promise<string> {
  socket.write(`GET ${path}/x HTTP/1.1\r\nHost: a\r\n${fields}\r\n`);
  return String((await once(socket, "data"))[0]).slice(9, 12);
}

describe("malformed HTTP gets an error in the shape of §7, with a request id", () => {
  test.each<[string, number, () => string | Uint8Array]>([
    ["text that is not HTTP", 400, () => "hello\r\n\r\n"],
    ["a space before a header's colon", 400, () => `${GET}Host : a\r\n\r\n`],
    ["NUL in a header", 400, () => `${GET}Host: a\0b\r\n\r\n`],
    ["a header that is too long", 431, () => `${GET}Host: a\r\nx: ${"x".repeat(20_000)}\r\n\r\n`],
    ["a path that is too long", 431, () => `GET /${"x".repeat(20_000)} HTTP/1.1\r\nHost: a\r\n\r\n`],
    ["two lengths", 400, () => `${POST}${head}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}`],
    [
      "a length and chunks",
      400,
      () => `${POST}${head}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`,
    ],
    ["a chunk without a size", 400, () => `${POST}${head}Transfer-Encoding: chunked\r\n\r\nzz\r\n{}`],
    ["a body that ends early", 400, () => `${POST}${head}Content-Length: 100\r\n\r\n{}`],
    ["no Host", 400, () => `${GET}${end}`],
    ["two Hosts", 400, () => `${GET}Host: a\r\nhost: a\r\n${end}`],
    ["a Host with a path", 400, () => `${GET}Host: a/b\r\n${end}`],
    ["CONNECT", 400, () => "CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n"],
  ])("%s: %i", async (_, status, bytes) => {
    const responses = await exchange(server.port, bytes());
    expect(responses.map((response) => response.status)).toEqual([status]);
  });
});

describe("connections", () => {
  test("a refused request that never sends its body is closed a second after the response", async () => {
    const socket = connect(server.port, "127.0.0.1");
    socket.write(`${POST}Host: a\r\nx-api-key: wrong\r\nContent-Length: 1000\r\n\r\n{`);
    expect(String((await once(socket, "data"))[0])).toMatch(/^HTTP\/1\.1 401 /);
    expect(socket.readableEnded).toBe(false);
    const closed = once(socket, "close");
    server.clock.advance(1_000);
    await closed;
  });

  test("a refused request that sends its body in time keeps its connection", async () => {
    const socket = connect(server.port, "127.0.0.1");
    socket.write(`${POST}Host: a\r\nx-api-key: wrong\r\nContent-Length: 3\r\n\r\n{`);
    await once(socket, "data");
    socket.write("}}");
    socket.write(`GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n`);
    expect(String((await once(socket, "data"))[0])).toMatch(/^HTTP\/1\.1 200 /);
    server.clock.advance(1_000);
    socket.write(`GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n`);
    expect(String((await once(socket, "data"))[0])).toMatch(/^HTTP\/1\.1 200 /);
    socket.destroy();
  });

  test("at the limit, a new one replaces the oldest idle one, and those with a valid key last", async () => {
    const own = await startServer({ maxConnections: 3, seed: 7 });
    const open = async () => {
      const socket = connect(own.port, "127.0.0.1");
      await once(socket, "connect");
      return socket;
    };
    const owner = await open();
    expect(await ask(owner, `x-api-key: ${own.key}\r\n`)).toBe("404");
    const idle = [await open(), await open()];
    const closed = idle.map((socket) => once(socket, "close"));
    const next = [await open(), await open()];
    await Promise.all(closed);
    for (const socket of next) expect(await ask(socket, "")).toBe("401");
    expect(await ask(owner, `x-api-key: ${own.key}\r\n`)).toBe("404");
    for (const socket of [owner, ...next]) socket.destroy();
    await own.close();
  });
});

describe("at the limit, a new connection replaces the oldest one of a stranger", () => {
  const CROWD = 3;
  const slow = (target: string, fields = "") =>
    `POST ${target} HTTP/1.1\r\nHost: a\r\nOrigin: ${own.url}\r\n${fields}Content-Length: 1000\r\n\r\na`;
  const form = "Content-Type: application/x-www-form-urlencoded\r\n";

  /** Fills a server with connections that send these bytes, and waits until the server has read them. */
  async function crowd(bytes: string) {
    const sockets = Array.from({ length: CROWD }, () => connect(own.port, "127.0.0.1").on("error", () => undefined));
    await Promise.all(sockets.map((socket) => once(socket, "connect")));
    for (const socket of sockets) socket.write(bytes);
    for (let turns = 0; turns < 50; turns += 1) await new Promise(setImmediate);
    return sockets;
  }

  let own: TestServer;
  beforeEach(async () => {
    own = await startServer({ maxConnections: CROWD, seed: 7 });
    return async () => {
      const closed = own.close();
      own.clock.advance(10_000);
      await closed;
    };
  });

  test.each<[string, () => Promise<string> | string]>([
    ["that sends a slow form to sign in", () => slow("/dashboard/sign-in", form)],
    [
      "that sends a slow form to a payment page",
      async () => slow(new URL((await own.createCheckout()).body.data.url).pathname, form),
    ],
    ["that sends a slow body to a path that does not exist", () => slow("/nothing")],
    ["that sends a slow header", () => "GET / HTTP/1.1\r\nHost: a\r\nx: "],
    ["that does not read what it asked for", () => "GET /openapi.json HTTP/1.1\r\nHost: a\r\n\r\n".repeat(50)],
    ["whose request was refused", () => "no HTTP\r\n\r\n"],
  ])("%s", async (_, bytes) => {
    const sockets = await crowd(await bytes());
    for (const socket of sockets) socket.pause();
    onTestFinished(() => sockets.forEach((socket) => socket.destroy()));
    const merchant = connect(own.port, "127.0.0.1");
    onTestFinished(() => void merchant.destroy());
    expect(await ask(merchant, `x-api-key: ${own.key}\r\n`)).toBe("404");
    // The next strangers replace strangers, and never the merchant.
    for (const socket of await crowd("GET / HTTP/1.1\r\n")) socket.destroy();
    expect(await ask(merchant, `x-api-key: ${own.key}\r\n`)).toBe("404");
  });

  test("but none whose request has a key, also while it is handled", async () => {
    const body = JSON.stringify(aPayout());
    const fields = `x-api-key: ${own.key}\r\ncontent-type: application/json\r\nContent-Length: ${body.length}\r\n`;
    const merchants = await crowd(`${POST}Host: a\r\n${fields}\r\n${body.slice(0, -1)}`);
    const next = connect(own.port, "127.0.0.1").on("error", () => undefined);
    await once(next, "close");
    const [first] = merchants;
    first!.write(body.slice(-1));
    expect(String((await once(first!, "data"))[0])).toMatch(/^HTTP\/1.1 200 /);
    for (const socket of merchants) socket.destroy();
  });
});

describe("unusual but valid HTTP is handled", () => {
  test.each<[string, number, () => string]>([
    ["HTTP/1.0 without Host", 404, () => `GET ${path}/nothing HTTP/1.0\r\nx-api-key: ${server.key}\r\n\r\n`],
    ["an absolute URL", 404, () => `GET http://elsewhere.example${path}/nothing HTTP/1.1\r\n${head}${end}`],
    ["an invalid absolute URL", 404, () => `GET http://[::1 HTTP/1.1\r\n${head}${end}`],
    ["a path with a fragment", 404, () => `POST ${path}#f HTTP/1.1\r\n${head}${end}`],
    ["the asterisk form", 404, () => `OPTIONS * HTTP/1.1\r\n${head}${end}`],
    ["an unknown expectation", 404, () => `${GET}${head}Expect: the-unexpected\r\n${end}`],
    ["a protocol upgrade", 404, () => `${GET}${head}Upgrade: h2c, websocket\r\n${end}`],
    ["no body where one is required", 400, () => `${POST}${head}${end}`],
    ["a body where none is expected", 404, () => `${GET}${head}Content-Length: 2\r\n${end}{}`],
  ])("%s: %i", async (_, status, bytes) => {
    const responses = await exchange(server.port, bytes());
    expect(responses.map((response) => response.status)).toEqual([status]);
  });

  test.each([
    ["has an invalid key", 401, "x-api-key: another", 10],
    ["is too large", 413, "", 1_000_000_000],
  ])("does not send 100 Continue for a body that %s: %i", async (_, status, key, length) => {
    const fields = `Host: x\r\n${key || `x-api-key: ${server.key}`}\r\nConnection: close\r\n`;
    const bytes = `${POST}${fields}Expect: 100-continue\r\nContent-Length: ${length}\r\n\r\n`;
    const socket = connect(server.port, "127.0.0.1");
    socket.write(bytes);
    const [response] = await once(socket, "data");
    expect(String(response)).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    socket.destroy();
  });

  test("refuses a key that is revoked while the body is being sent", async () => {
    const { merchant, key } = await server.addMerchant("Kofi");
    const { id } = (await server.storage.listKeys()).find(({ merchantId }) => merchantId === merchant.id)!;
    const body = JSON.stringify(aPayout());
    const socket = connect(server.port, "127.0.0.1");
    const fields = `Host: a\r\nx-api-key: ${key}\r\ncontent-type: application/json\r\nExpect: 100-continue\r\n`;
    socket.write(`${POST}${fields}Content-Length: ${body.length}\r\n${end}`);
    // The server sends 100 Continue once it has checked the key.
    expect(String((await once(socket, "data"))[0])).toMatch(/^HTTP\/1\.1 100 /);
    await server.storage.revokeKey(id, server.clock.now(), "command ada@host");
    socket.write(body);
    expect(String((await once(socket, "data"))[0])).toMatch(/^HTTP\/1\.1 401 /);
    socket.destroy();
  });

  test("responds in order to pipelined requests", async () => {
    const create = (reference: string) => {
      const body = JSON.stringify(aPayout({ reference }));
      return `${POST}${head}Content-Length: ${body.length}\r\n\r\n${body}`;
    };
    const responses = await exchange(
      server.port,
      `${create("first")}${GET}${head}\r\n${create("first")}${GET}${head}${end}`,
    );
    expect(responses.map(({ status }) => status)).toEqual([200, 404, 409, 404]);
  });
});

test("returns no response for garbage after a payout, which would be taken for the payout's", async () => {
  const payout = aPayout();
  const body = JSON.stringify(payout);
  const responses = await exchange(
    server.port,
    `${POST}${head}Content-Length: ${body.length}\r\n\r\n${body}garbage\r\n\r\n`,
  );
  expect(responses.filter(({ status }) => status !== 200)).toEqual([]);
  expect((await server.request("POST", path, { body: payout })).status).toBe(409);
});

test("completes a request whose caller disconnects", async () => {
  const payout = aPayout();
  const body = JSON.stringify(payout);
  const socket = connect(server.port, "127.0.0.1");
  socket.write(`${POST}${head}Content-Length: ${body.length}\r\n\r\n${body}`, () => socket.destroy());
  await once(socket, "close");
  // Whether the server had read the request when the connection closed is not known. It records at most one payout.
  expect([200, 409]).toContain((await server.request("POST", path, { body: payout })).status);
  expect((await server.request("POST", path, { body: payout })).status).toBe(409);
});

test("outlives a client that resets its connection after CONNECT", async () => {
  for (let tries = 0; tries < 5; tries += 1) {
    const socket = connect(server.port, "127.0.0.1").on("error", () => undefined);
    socket.write("CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n");
    await once(socket, "data");
    socket.resetAndDestroy();
    await once(socket, "close");
    expect((await server.request("GET", "/healthz")).status).toBe(200);
  }
});

describe("a client that takes too long to send its request", () => {
  let own: TestServer;
  beforeEach(async () => {
    own = await startServer({ requestTimeoutMs: 200 });
    return async () => {
      const closed = own.close();
      own.clock.advance(10_000);
      await closed;
    };
  });
  const begin = (body: string) => {
    const socket = connect({ port: own.port, host: "127.0.0.1", allowHalfOpen: true });
    socket.write(`${POST}Host: a\r\nx-api-key: ${own.key}\r\ncontent-type: application/json\r\n`);
    socket.write(`Content-Length: ${body.length}\r\n\r\n${body.slice(0, -1)}`);
    return socket;
  };

  test.each([
    ["while the body is read", 0],
    ["while the key is looked up", 1],
  ])("makes no payment after it was told 408 %s, and its connection is closed", async (_, lookups) => {
    const { findMerchantByKey } = own.storage;
    const told = Promise.withResolvers<void>();
    if (lookups > 0) own.storage.findMerchantByKey = (hash) => told.promise.then(() => findMerchantByKey(hash));
    const payout = aPayout();
    const body = JSON.stringify(payout);
    const socket = begin(body).on("error", () => undefined);
    expect(String((await once(socket, "data"))[0])).toMatch(/^HTTP\/1.1 408 /);
    told.resolve();
    // The app begins to read the body in one of the next turns.
    for (let turns = 0; turns < 50; turns += 1) await new Promise(setImmediate);
    socket.write(body.slice(-1));
    for (let turns = 0; turns < 50; turns += 1) await new Promise(setImmediate);
    own.clock.advance(1_000);
    // A connection that the other side has closed refuses what is written to it.
    for (; !socket.destroyed; socket.write(" ")) await new Promise(setImmediate);
    expect((await own.request("POST", path, { body: payout })).status).toBe(200);
  });

  test.each<[string, (body: string) => [string, Buffer]]>([
    ["whose operation reads none", () => ["POST /sandbox/webhook-secret/rotate", Buffer.from("{")]],
    ["whose compressed body has ended", (body) => [`POST ${path}`, Buffer.concat([gzipSync(body), Buffer.alloc(9)])]],
  ])("does nothing for a request that was told 408, %s", async (_, request) => {
    const body = JSON.stringify(aPayout());
    const [line, sent] = request(body);
    const secret = async () => (await own.request("GET", "/sandbox/webhook-secret")).body.data;
    const before = await secret();
    const socket = connect(own.port, "127.0.0.1").on("error", () => undefined);
    const encoding = line.includes(path) ? "Content-Encoding: gzip\r\n" : "";
    socket.write(`${line} HTTP/1.1\r\n${head.replace(server.key, own.key)}${encoding}Content-Length: 5000\r\n\r\n`);
    socket.write(sent);
    expect(String((await once(socket, "data"))[0])).toMatch(/^HTTP\/1.1 408 /);
    expect(await secret()).toEqual(before);
    expect((await own.request("POST", path, { body: JSON.parse(body) })).status).toBe(200);
  });

  test("does not delay others, also if the time of many is over at once", async () => {
    const slow = Array.from({ length: 200 }, () => begin("{}"));
    await Promise.race(slow.map((socket) => once(socket, "data")));
    expect((await own.request("GET", "/healthz")).status).toBe(200);
    expect(own.logged().filter(({ status, msg }) => status === 408 && msg).length).toBeLessThan(slow.length);
    for (const socket of slow) socket.destroy();
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
    const unused = connect(own.port, "127.0.0.1");
    await once(unused, "connect");
    const kept = connect(own.port, "127.0.0.1");
    kept.write(`GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n`);
    await once(kept, "data");
    const closed = own.close();
    expect((await held).status).toBe(200);
    await Promise.all([closed, once(unused, "close"), once(kept, "close")]);
    await expect(own.request("GET", "/healthz")).rejects.toThrow(/ECONNREFUSED/);
  });

  test("does not wait forever for a request that never ends", async () => {
    const asked = new Promise<void>((resolve) => {
      const { findMerchantByKey } = own.storage;
      own.storage.findMerchantByKey = (hash) => (resolve(), findMerchantByKey(hash));
    });
    const socket = connect(own.port, "127.0.0.1");
    socket.write(`${POST}Host: a\r\nx-api-key: ${own.key}\r\nContent-Length: 100\r\n\r\n{`);
    await asked;
    const closed = own.close();
    expect((await held).status).toBe(200);
    own.clock.advance(10_000);
    await Promise.all([closed, once(socket, "close")]);
  });
});
