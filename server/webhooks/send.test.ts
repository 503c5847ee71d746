import { once } from "node:events";
import { createServer } from "node:http";
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { createServer as createRawServer } from "node:net";
import type { AddressInfo, Server, Socket } from "node:net";
import { text } from "node:stream/consumers";
import { queryObjects } from "node:v8";
import { gzipSync } from "node:zlib";
import { Webhook } from "standardwebhooks";
import { afterEach, describe, expect, test, vi } from "vitest";
import { createSender } from "./send.ts";
import type { Message, AttemptResult, Sender, SenderOptions } from "./send.ts";

const secret = `whsec_${Buffer.from("only-for-tests-32-bytes-of-key!!").toString("base64")}`;
const secrets = [secret, `whsec_${"A".repeat(43)}=`];
const body = JSON.stringify({ event: "disbursement.completed", data: { amount: 10_000, name: "Ngũgĩ 🎉" } });
const SHORT_MS = 200;

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
});

function sender(options: Partial<SenderOptions> = {}): Sender {
  const made = createSender({
    allowPrivate: true,
    allowInsecure: true,
    lookup: async () => ["127.0.0.1"],
    now: Date.now,
    ...options,
  });
  ends.push(() => made.close());
  return made;
}

/** Starts a server on a free loopback port and records its connections. */
async function listen(server: Server): Promise<{ port: number; url: string; sockets: Socket[] }> {
  const sockets: Socket[] = [];
  server.on("connection", (socket: Socket) => sockets.push(socket));
  await once(server.listen(0, "127.0.0.1"), "listening");
  ends.push(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  const { port } = server.address() as AddressInfo;
  return { port, url: `http://127.0.0.1:${port}/hook?from=us`, sockets };
}

const receiver = (handler: RequestListener) => listen(createServer(handler));
/** A receiver that does not parse HTTP: the handler gets the socket after the first data. */
const rawReceiver = (handler: (socket: Socket) => void) =>
  listen(
    createRawServer((socket) => {
      socket.on("error", () => undefined).once("data", () => handler(socket));
    }),
  );

const respondWith = (content: string | Uint8Array, headers: Record<string, string> = {}) =>
  receiver((_, response: ServerResponse) => void response.writeHead(500, headers).end(content));

const drip = (socket: Socket, part: string) => {
  const timer = setInterval(() => socket.write(part), 5);
  socket.on("close", () => clearInterval(timer));
};

/** Resolves when the sender has closed the connection. */
const closed = (socket: Socket) =>
  new Promise<void>((resolve) => {
    if (socket.closed) resolve();
    else socket.once("error", () => undefined).once("close", () => resolve());
  });

function messageTo(url: string, more: Partial<Message> = {}): Message {
  return { url, id: "msg_019aa0c5f7d27c3e8a41d2b7e95f6c10", secrets, body, ...more };
}

describe("request", () => {
  test("POSTs the body verbatim, signed with every secret at the real time of the attempt", async () => {
    vi.setSystemTime("2026-11-20T09:30:02.987Z");
    ends.push(() => vi.useRealTimers());
    const got: { request: IncomingMessage; body: string }[] = [];
    const { url, port } = await receiver(async (request, response) => {
      got.push({ request, body: await text(request) });
      response.writeHead(200).end("thanks");
    });
    const outcome = await sender({ userAgent: "tests/1" }).send(messageTo(url));

    expect(outcome).toEqual({ sentAt: Date.now(), latencyMs: 0, httpStatus: 200, responseBody: "thanks" });
    const { request } = got[0]!;
    expect([request.method, request.url, got[0]!.body]).toEqual(["POST", "/hook?from=us", body]);
    expect(request.headers).toMatchObject({
      host: `127.0.0.1:${port}`,
      "content-type": "application/json",
      "user-agent": "tests/1",
      "webhook-id": "msg_019aa0c5f7d27c3e8a41d2b7e95f6c10",
      "webhook-timestamp": String(Math.floor(Date.now() / 1000)),
    });
    const headers = request.headers as Record<string, string>;
    for (const one of secrets) expect(new Webhook(one).verify(got[0]!.body, headers)).toEqual(JSON.parse(body));
  });

  test("latency is the time between the start and the end of the attempt", async () => {
    const { url } = await receiver((_, response) => void response.end());
    const times = [1_000, 1_031.4];
    const outcome = await sender({ now: () => times.shift()! }).send(messageTo(url));
    expect(outcome).toEqual({ sentAt: 1_000, latencyMs: 31, httpStatus: 200 });
  });

  test("reuses connections to a receiver and resolves its name once for each", async () => {
    const { port, sockets } = await receiver((_, response) => void response.end("ok"));
    let lookups = 0;
    const lookup = async () => {
      lookups += 1;
      return ["127.0.0.1"];
    };
    const { send } = sender({ lookup });
    for (let count = 0; count < 10; count += 1) {
      expect(await send(messageTo(`http://merchant.example:${port}/`))).toMatchObject({ httpStatus: 200 });
    }
    // There may be two connections, because the first may not be free yet when the second webhook is sent.
    expect(sockets.length).toBeLessThanOrEqual(2);
    expect(lookups).toBe(sockets.length);
  });
});

test.each([
  { httpStatus: 201, error: undefined },
  { httpStatus: 204, error: undefined },
  { httpStatus: 301, error: "The receiver returned 301; redirects are not followed." },
  { httpStatus: 307, error: "The receiver returned 307; redirects are not followed." },
  { httpStatus: 400, error: "The receiver returned 400." },
  { httpStatus: 410, error: "The receiver returned 410; no further attempts are made." },
  { httpStatus: 500, error: "The receiver returned 500." },
  { httpStatus: 503, error: "The receiver returned 503." },
])("records response $httpStatus: $error", async ({ httpStatus, error }) => {
  const paths: (string | undefined)[] = [];
  const { url } = await receiver((request, response) => {
    paths.push(request.url);
    response.writeHead(httpStatus, { location: "/elsewhere", "retry-after": "17" }).end();
  });
  const outcome = await sender().send(messageTo(url));
  expect(outcome).toMatchObject({ httpStatus, retryAfter: "17" });
  expect(outcome.error).toBe(error);
  expect(paths).toEqual(["/hook?from=us"]);
});

test.each([100, 102, 103])("reads the response after an unsolicited %i", async (status) => {
  const { url } = await rawReceiver((socket) => {
    socket.write(`HTTP/1.1 ${status} Interim\r\n\r\n`);
    socket.end("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");
  });
  expect(await sender().send(messageTo(url))).toMatchObject({ httpStatus: 200, responseBody: "ok" });
});

describe("response body", () => {
  const KIB = "0123456789abcdef".repeat(64);
  test.each([
    { has: "exactly one KiB", sent: KIB, kept: KIB },
    { has: "one byte more", sent: `${KIB}x`, kept: KIB },
    { has: "a character cut in two by the limit", sent: `${KIB.slice(1)}é`, kept: KIB.slice(1) },
    { has: "bytes that are not UTF-8", sent: Buffer.from([0x61, 0xff, 0xfe, 0x62]), kept: "a\uFFFD\uFFFDb" },
    { has: "NUL", sent: "a\0b", kept: "a\uFFFDb" },
    { has: "markup", sent: "<script>alert(1)</script>", kept: "<script>alert(1)</script>" },
  ])("with $has is stored as text", async ({ sent, kept }) => {
    const { url } = await respondWith(sent);
    expect((await sender().send(messageTo(url))).responseBody).toBe(kept);
  });

  test("is not decompressed", async () => {
    const { url } = await respondWith(gzipSync("bomb".repeat(100_000)), { "content-encoding": "gzip" });
    const { responseBody } = await sender().send(messageTo(url));
    expect(responseBody?.startsWith("\u001F\uFFFD\u0008")).toBe(true);
  });

  test("that never ends is cut off; the next webhook uses another connection", async () => {
    const { url, sockets } = await receiver((_, response) => {
      const pour = () => {
        while (!response.destroyed && response.write(KIB));
      };
      response.on("drain", pour);
      pour();
    });
    const { send } = sender();
    expect(await send(messageTo(url))).toMatchObject({ httpStatus: 200, responseBody: KIB });
    await closed(sockets[0]!);
    expect(await send(messageTo(url))).toMatchObject({ httpStatus: 200 });
    expect(sockets).toHaveLength(2);
  });
});

describe("faulty receivers", () => {
  test.each<{ it: string; does: (socket: Socket) => void; error: string }>([
    { it: "never responds", does: () => undefined, error: "No response within 0.2 s." },
    {
      it: "drips its headers",
      does: (socket) => {
        socket.write("HTTP/1.1 200 OK\r\n");
        drip(socket, "x: y\r\n");
      },
      error: "No response within 0.2 s.",
    },
    {
      it: "floods interim responses",
      does: (socket) => socket.write("HTTP/1.1 103 Early Hints\r\n\r\n".repeat(100)),
      error: "The receiver sent too many informational (1xx) responses (INFORMATIONAL_FLOOD).",
    },
    {
      it: "sends a few interim responses",
      does: (socket) => socket.write("HTTP/1.1 103 Early Hints\r\n\r\n".repeat(10)),
      error: "No response within 0.2 s.",
    },
    {
      it: "sends an interim response with endless headers",
      does: (socket) => drip(socket, `HTTP/1.1 103 Early Hints\r\nx: ${"y".repeat(20_000)}\r\n`),
      error: "The response headers of the receiver are too long (HPE_HEADER_OVERFLOW).",
    },
    {
      it: "hangs up",
      does: (socket) => socket.end(),
      error: "The receiver closed the connection without a response (ECONNRESET).",
    },
    {
      it: "resets the connection",
      does: (socket) => socket.resetAndDestroy(),
      error: "The receiver closed the connection without a response (ECONNRESET).",
    },
    {
      it: "switches to another protocol",
      does: (socket) => socket.write("HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n"),
      error: "The receiver switched to another protocol (SWITCHING_PROTOCOLS).",
    },
    {
      it: "does not speak HTTP",
      does: (socket) => socket.end("220 mail.example ESMTP\r\n"),
      error: "The receiver did not return a valid HTTP response (HPE_INVALID_CONSTANT).",
    },
    {
      it: "never ends its headers",
      does: (socket) => drip(socket, `HTTP/1.1 200 OK\r\nx: ${"y".repeat(20_000)}\r\n`),
      error: "The response headers of the receiver are too long (HPE_HEADER_OVERFLOW).",
    },
  ])("one that $it", async ({ does, error }) => {
    const { url, sockets } = await rawReceiver(does);
    const outcome = await sender({ timeoutMs: SHORT_MS }).send(messageTo(url));
    expect(outcome).toEqual({ sentAt: expect.any(Number), latencyMs: expect.any(Number), error });
    await closed(sockets[0]!);
  });

  test.each([
    { httpStatus: 200, error: undefined },
    { httpStatus: 500, error: "The receiver returned 500." },
  ])("one that drips the body of a $httpStatus is cut off; the status still counts", async ({ httpStatus, error }) => {
    const { url, sockets } = await rawReceiver((socket) => {
      socket.write(`HTTP/1.1 ${httpStatus} x\r\ncontent-length: 1000\r\n\r\nstart`);
      drip(socket, ".");
    });
    const outcome = await sender({ timeoutMs: SHORT_MS }).send(messageTo(url));
    expect(outcome).toMatchObject({ httpStatus, responseBody: expect.stringMatching(/^start\.+$/) });
    expect(outcome.error).toBe(error);
    await closed(sockets[0]!);
  });

  test("a port where nothing listens", async () => {
    const { url } = await receiver(() => undefined);
    await ends.pop()!();
    const { error } = await sender().send(messageTo(url));
    expect(error).toBe("Nothing accepts connections at the receiver's address (ECONNREFUSED).");
  });

  test("a host name that does not exist", async () => {
    const notFound = Object.assign(new Error("getaddrinfo"), { code: "ENOTFOUND" });
    const { send } = sender({ lookup: () => Promise.reject(notFound) });
    const { error } = await send(messageTo("http://merchant.example/"));
    expect(error).toBe("The receiver's name could not be resolved (ENOTFOUND).");
  });

  test("a name server that does not respond: the attempt ends after 15 s and sends nothing later", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    ends.push(() => vi.useRealTimers());
    const requests: unknown[] = [];
    const { port, sockets } = await receiver((request, response) => {
      requests.push(request);
      response.end();
    });
    const name = Promise.withResolvers<string[]>();
    const outcomes: AttemptResult[] = [];
    const { send, close } = sender({ lookup: () => name.promise });
    void send(messageTo(`http://merchant.example:${port}/`)).then((outcome) => outcomes.push(outcome));
    await vi.advanceTimersByTimeAsync(14_999);
    expect(outcomes).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(outcomes).toMatchObject([{ error: "No response within 15 s." }]);

    name.resolve(["127.0.0.1"]);
    // A connection that is accepted later shows that no earlier one is on its way.
    await fetch(`http://127.0.0.1:${port}/`);
    await close();
    expect([sockets.length, requests.length]).toEqual([1, 1]);
  });
});

test.each([["not-a-secret"], ["whsec_hunter2"]])("reports an invalid secret without showing it", async (broken) => {
  const { url, sockets } = await receiver((_, response) => void response.end());
  const outcome = await sender().send(messageTo(url, { secrets: [broken] }));
  expect(outcome.error).toBe("The attempt failed inside the server (Error).");
  expect(sockets).toHaveLength(0);
});

test("closing ends attempts in progress with an error that says so", async () => {
  const { url, sockets } = await receiver(() => void closing.close());
  const closing = sender();
  expect((await closing.send(messageTo(url))).error).toBe(
    "The server stopped before the receiver responded (SENDER_CLOSED).",
  );
  await closed(sockets[0]!);
  expect((await closing.send(messageTo(url))).error).toContain("The server stopped");
});

test("an attempt that has ended leaves nothing in memory", async () => {
  const { url } = await receiver((_, response) => void response.end("ok"));
  const { send } = sender();
  const attempts = async (count: number) => {
    for (let sent = 0; sent < count; sent += 1) await send(messageTo(url));
    // Collects garbage, then counts.
    return queryObjects(AbortSignal, { format: "count" });
  };
  const before = await attempts(10);
  expect((await attempts(100)) - before).toBeLessThan(10);
});
