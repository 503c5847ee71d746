import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { createServer as createTcpServer, type AddressInfo, type Server, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { getCACertificates, setDefaultCACertificates, type TLSSocket } from "node:tls";
import { queryObjects } from "node:v8";
import { gzipSync } from "node:zlib";
import { generate } from "selfsigned";
import { Webhook } from "standardwebhooks";
import { afterAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { newSecret } from "../domain/keys.ts";
import { createSender, sign, type AttemptResult, type Message, type SenderOptions } from "./send.ts";

const secrets = ["only-for-tests-32-bytes-of-key!!", "another-32-bytes-of-key-in-tests"].map(
  (key) => `whsec_${Buffer.from(key).toString("base64")}`,
);
const body = JSON.stringify({ event: "disbursement.completed", data: { amount: 10_000, name: "Ngũgĩ 🎉" } });

const lookup = async () => ["127.0.0.1"];
function sender(options: Partial<SenderOptions> = {}) {
  const made = createSender({ allowPrivate: true, allowInsecure: true, lookup, now: Date.now, ...options });
  onTestFinished(() => made.close());
  return made;
}

/** Starts a server on a free loopback port and records its connections. */
async function listen(server: Server) {
  const sockets: Socket[] = [];
  server.on("connection", (socket: Socket) => sockets.push(socket.on("error", () => undefined)));
  await once(server.listen(0, "127.0.0.1"), "listening");
  const close = () => {
    server.close();
    for (const socket of sockets) socket.destroy();
  };
  onTestFinished(close);
  const { port } = server.address() as AddressInfo;
  return { port, url: `http://127.0.0.1:${port}/hook?from=us`, sockets, close };
}
const receiver = (respond: RequestListener) => listen(createServer(respond));
/** A receiver that does not parse HTTP: the function gets the socket after the first data. */
const rawReceiver = (act: Act) => listen(createTcpServer((socket) => socket.once("data", () => act(socket))));

type Act = (socket: Socket) => unknown;
const writes = (content: string) => (socket: Socket) => socket.write(content);
const responds =
  (status: number, content: string | Uint8Array = "", header = "x: y"): Act =>
  (socket) => {
    socket.write(`HTTP/1.1 ${status} x\r\n${header}\r\ncontent-length: ${Buffer.byteLength(content)}\r\n\r\n`);
    socket.end(content);
  };
/** Writes a beginning, then the same part every few milliseconds. */
const drips =
  (start: string, part: string): Act =>
  (socket) => {
    socket.write(start);
    const timer = setInterval(() => socket.write(part), 5);
    socket.on("close", () => clearInterval(timer));
  };

/** Resolves when the sender has closed the connection. */
const closed = (socket: Socket) =>
  new Promise<void>((resolve) => (socket.closed ? resolve() : socket.once("close", () => resolve())));

const messageTo = (url: string, more: Partial<Message> = {}): Message => ({ url, id: "msg_1", secrets, body, ...more });

test("POSTs the body verbatim, signed with every secret at the real time of the attempt", async () => {
  vi.setSystemTime("2026-11-20T09:30:02.987Z");
  onTestFinished(() => void vi.useRealTimers());
  const got: { request: IncomingMessage; sent: string }[] = [];
  const { url, port } = await receiver(async (request, response) => {
    got.push({ request, sent: await text(request) });
    response.end("thanks");
  });
  const outcome = await sender().send(messageTo(url));

  expect(outcome).toEqual({ sentAt: Date.now(), latencyMs: 0, httpStatus: 200, responseBody: "thanks" });
  const { request, sent } = got[0]!;
  expect([request.method, request.url, sent]).toEqual(["POST", "/hook?from=us", body]);
  expect(request.headers).toMatchObject({
    host: `127.0.0.1:${port}`,
    "content-type": "application/json",
    "user-agent": "disbursement-checkout-webhooks",
    "webhook-id": "msg_1",
    "webhook-timestamp": String(Math.floor(Date.now() / 1000)),
  });
  for (const secret of secrets)
    expect(new Webhook(secret).verify(sent, request.headers as Record<string, string>)).toEqual(JSON.parse(body));
});

describe("the signature", () => {
  test("equals those of the conformance suite's test vectors", () => {
    type Vector = { asSent?: boolean; secrets: string[]; headers: Record<string, string>; body: string };
    const file = new URL("../../conformance/vectors/webhooks.json", import.meta.url);
    const { vectors } = JSON.parse(readFileSync(file, "utf8")) as { vectors: Vector[] };
    const sent = vectors.filter(({ asSent }) => asSent);
    expect(sent.length).toBeGreaterThan(10);
    for (const { secrets: valid, headers, body: bytes } of sent) {
      const content = Buffer.from(bytes, "base64").toString("utf8");
      const seconds = Number(headers["webhook-timestamp"]);
      expect(sign(valid, headers["webhook-id"]!, seconds, content)).toBe(headers["webhook-signature"]);
    }
  });

  test("needs a secret, which is whsec_ and the base64 of bytes, and never shows it", () => {
    const made = newSecret(() => Uint8Array.from({ length: 32 }, (_, index) => index));
    expect(made).toBe("whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=");
    expect(sign([made], "msg_1", 1, body)).toMatch(/^v1,/);
    expect(() => sign([], "msg_1", 1, body)).toThrow("at least one secret");
    for (const wrong of ["", "whsec_", "whsec_c2hvcnQ=", made.slice("whsec_".length), "whsec_?".padEnd(50, "A")])
      expect(() => sign([wrong], "msg_1", 1, body)).toThrow(/^A webhook secret must be whsec_ and the base64 of 24/);
  });
});

test("latency is the time between the start and the end of the attempt", async () => {
  const { url } = await receiver((_, response) => void response.end());
  const times = [1_000, 1_031.4];
  const outcome = await sender({ now: () => times.shift()! }).send(messageTo(url));
  expect(outcome).toEqual({ sentAt: 1_000, latencyMs: 31, httpStatus: 200 });
});

const KIB = "0123456789abcdef".repeat(64);
const RESET = "The receiver closed the connection without a response (ECONNRESET).";
const LATE = "No response within 0.2 s.";
const TOO_LONG = "The response headers of the receiver are too long (HPE_HEADER_OVERFLOW).";
const ENDLESS_HEADER = `x: ${"y".repeat(20_000)}\r\n`;
type Row = [does: string, act: Act, outcome: { error?: string } & Record<string, unknown>];

test.each<Row>([
  ["accepts with 201", responds(201), { httpStatus: 201 }],
  ["accepts with 204", writes("HTTP/1.1 204 x\r\nconnection: close\r\n\r\n"), { httpStatus: 204 }],
  ...[301, 307].map((httpStatus): Row => {
    const error = `The receiver returned ${httpStatus}; redirects are not followed.`;
    return [`redirects with ${httpStatus}`, responds(httpStatus, "", "location: /elsewhere"), { httpStatus, error }];
  }),
  ["refuses", responds(400), { httpStatus: 400, error: "The receiver returned 400." }],
  ["is gone", responds(410), { httpStatus: 410, error: "The receiver returned 410; no further attempts are made." }],
  [
    "asks for a pause",
    responds(503, "", "retry-after: 17"),
    { httpStatus: 503, retryAfter: "17", error: "The receiver returned 503." },
  ],
  ...[100, 102, 103].map((status): Row => [
    `sends an unsolicited ${status}`,
    (socket) => {
      socket.write(`HTTP/1.1 ${status} Interim\r\n\r\n`);
      responds(200)(socket);
    },
    { httpStatus: 200 },
  ]),
  ["sends one KiB", responds(200, KIB), { httpStatus: 200, responseBody: KIB }],
  ["sends one byte more", responds(200, `${KIB}x`), { httpStatus: 200, responseBody: KIB }],
  ["sends a character cut by the limit", responds(200, `${KIB.slice(1)}é`), { responseBody: KIB.slice(1) }],
  ["sends invalid UTF-8", responds(200, Buffer.from([0x61, 0xff, 0xfe, 0x62])), { responseBody: "a\uFFFD\uFFFDb" }],
  ["sends NUL", responds(200, "a\0b"), { responseBody: "a\uFFFDb" }],
  [
    "sends compressed data, which is not decompressed",
    responds(200, gzipSync("bomb".repeat(100_000)), "content-encoding: gzip"),
    { responseBody: expect.stringContaining("\u001F\uFFFD\u0008") },
  ],
  [
    "floods interim responses",
    writes("HTTP/1.1 103 Early Hints\r\n\r\n".repeat(100)),
    { error: "The receiver sent too many informational (1xx) responses (INFORMATIONAL_FLOOD)." },
  ],
  [
    "sends an interim response with endless headers",
    drips("", `HTTP/1.1 103 Early Hints\r\n${ENDLESS_HEADER}`),
    { error: TOO_LONG },
  ],
  ["never ends its headers", drips("", `HTTP/1.1 200 OK\r\n${ENDLESS_HEADER}`), { error: TOO_LONG }],
  ["hangs up", (socket) => socket.end(), { error: RESET }],
  ["resets the connection", (socket) => socket.resetAndDestroy(), { error: RESET }],
  [
    "switches to another protocol",
    writes("HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n"),
    { error: "The receiver switched to another protocol (SWITCHING_PROTOCOLS)." },
  ],
  [
    "does not speak HTTP",
    (socket) => socket.end("220 mail.example ESMTP\r\n"),
    { error: "The receiver did not return a valid HTTP response (HPE_INVALID_CONSTANT)." },
  ],
])("a receiver that %s", async (_, act, expected) => {
  const { url, sockets } = await rawReceiver(act);
  const outcome = await sender().send(messageTo(url));
  expect(outcome).toMatchObject(expected);
  expect(outcome.error).toBe(expected.error);
  await closed(sockets[0]!);
  expect(sockets).toHaveLength(1);
});

const DRIPPED = { responseBody: expect.stringMatching(/^start\.+$/) };
const dripsBody = (status: number) => drips(`HTTP/1.1 ${status} x\r\ncontent-length: 1000\r\n\r\nstart`, ".");
test.each<Row>([
  ["never responds", () => undefined, { error: LATE }],
  ["drips its headers", drips("HTTP/1.1 200 OK\r\n", "x: y\r\n"), { error: LATE }],
  ["sends a few interim responses only", writes("HTTP/1.1 103 Early Hints\r\n\r\n".repeat(10)), { error: LATE }],
  ["drips the body of a 200, whose status counts", dripsBody(200), { httpStatus: 200, ...DRIPPED }],
  [
    "drips the body of a 500, whose status counts",
    dripsBody(500),
    { httpStatus: 500, error: "The receiver returned 500.", ...DRIPPED },
  ],
])("a receiver that %s is cut off after the time for an attempt", async (_, act, expected) => {
  const { url, sockets } = await rawReceiver(act);
  const outcome = await sender({ timeoutMs: 200 }).send(messageTo(url));
  expect(outcome).toEqual({ sentAt: expect.any(Number), latencyMs: expect.any(Number), ...expected });
  await closed(sockets[0]!);
});

test("a response that never ends is cut off; the next webhook uses another connection", async () => {
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

test("a port where nothing listens, a name that does not exist, and an invalid secret are explained", async () => {
  const { url, close } = await receiver(() => undefined);
  close();
  const notFound = Object.assign(new Error("getaddrinfo"), { code: "ENOTFOUND" });
  const errorOf = async (message: Message) =>
    (await sender({ lookup: () => Promise.reject(notFound) }).send(message)).error;
  expect(await errorOf(messageTo(url))).toBe("Nothing accepts connections at the receiver's address (ECONNREFUSED).");
  expect(await errorOf(messageTo("http://merchant.example/"))).toBe(
    "The receiver's name could not be resolved (ENOTFOUND).",
  );
  for (const secret of ["not-a-secret", "whsec_hunter2"])
    expect(await errorOf(messageTo(url, { secrets: [secret] }))).toBe("The attempt failed inside the server (Error).");
});

test("a name server that does not respond: the attempt ends after 15 s and sends nothing later", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
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

test("closing ends attempts in progress", async () => {
  const { url, sockets } = await receiver(() => void closing.close());
  const closing = sender();
  expect((await closing.send(messageTo(url))).error).toContain("(ECONNRESET)");
  await closed(sockets[0]!);
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

test("webhooks in turn use one connection, webhooks at the same time several; each connection resolves the name once", async () => {
  let lookups = 0;
  const { send } = sender({ lookup: async () => ((lookups += 1), ["127.0.0.1"]) });
  const { port, sockets } = await receiver((_, response) => void response.end());
  const message = messageTo(`http://merchant.example:${port}/`);
  await send(message);
  await send(message);
  expect([sockets.length, lookups]).toEqual([1, 1]);
  await Promise.all([send(message), send(message)]);
  expect([sockets.length, lookups]).toEqual([2, 2]);
});

describe("TLS", () => {
  const DAY_MS = 86_400_000;
  const trusted = getCACertificates("default");
  afterAll(() => setDefaultCACertificates(trusted));

  /** Starts a receiver with a certificate for `merchant.example` that began days ago and is valid for 30 days. */
  async function tlsReceiver(days: number, isTrusted: boolean) {
    const notBeforeDate = new Date(Date.now() - days * DAY_MS);
    const { private: key, cert } = await generate([{ name: "commonName", value: "merchant.example" }], {
      keyType: "ec",
      algorithm: "sha256",
      notBeforeDate,
      notAfterDate: new Date(notBeforeDate.getTime() + 30 * DAY_MS),
    });
    setDefaultCACertificates(isTrusted ? [...trusted, cert] : trusted);
    /** The server name that each request was sent to. */
    const names: unknown[] = [];
    const server = createHttpsServer({ key, cert }, (request, response) => {
      names.push((request.socket as TLSSocket & { servername?: string | false }).servername);
      response.end("ok");
    });
    return { ...(await listen(server)), names };
  }

  const UNTRUSTED = "is not signed by a trusted authority (DEPTH_ZERO_SELF_SIGNED_CERT)";
  const OTHER_NAME = "is issued for another name (ERR_TLS_CERT_ALTNAME_INVALID)";
  test.each([
    ["untrusted authority", 1, false, "merchant.example", UNTRUSTED],
    ["another name", 1, true, "other.example", OTHER_NAME],
    ["a name instead of the address", 1, true, "127.0.0.1", OTHER_NAME],
    ["expired", 60, true, "merchant.example", "has expired (CERT_HAS_EXPIRED)"],
  ])("refuses a certificate: %s", async (_, days, isTrusted, host, why) => {
    const { port, names } = await tlsReceiver(days, isTrusted);
    const { error } = await sender({ allowInsecure: false }).send(messageTo(`https://${host}:${port}/`));
    expect([error, names]).toEqual([`The receiver's TLS certificate ${why}.`, []]);
  });

  test("refuses a receiver without TLS", async () => {
    const { port } = await receiver(() => undefined);
    const { error } = await sender().send(messageTo(`https://merchant.example:${port}/`));
    expect(error).toMatch(/^A TLS connection to the receiver could not be established \((EPROTO|ERR_SSL_\w+)\)\.$/);
  });

  test("delivers the webhook, using the name, not the address, for SNI and verification", async () => {
    const { port, names } = await tlsReceiver(1, true);
    const result = await sender().send(messageTo(`https://merchant.example:${port}/`));
    expect([result.httpStatus, names]).toEqual([200, ["merchant.example"]]);
  });
});
