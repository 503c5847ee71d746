import { brotliCompressSync, gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { createHttpStream } from "./http-stream.ts";
import type { Body, Exchange } from "./traffic.ts";

type Step = ["sent" | "received", string | Buffer] | ["ended" | "closed"] | ["lose", string];

const bytes = (text: string | Buffer) => (typeof text === "string" ? Buffer.from(text, "latin1") : text);
const shown = (body: Body) => (typeof body === "string" ? body : `<${body.absent}>`);
const line = ({ method, path, body, response }: Exchange) =>
  [method, path, shown(body), "->", response?.status, response && shown(response.body)].filter(Boolean).join(" ");

/** Plays the steps, one a millisecond, in chunks of `size` bytes. */
function play(steps: readonly Step[], size = Infinity) {
  const seen: Exchange[] = [];
  const missed: string[] = [];
  const stream = createHttpStream(
    (exchange) => seen.push(exchange),
    (reason) => missed.push(reason),
  );
  for (const [at, [what, given = ""]] of steps.entries()) {
    if (what === "ended" || what === "closed") stream[what](at);
    else if (what === "lose") stream.lose(String(given));
    else {
      const all = bytes(given);
      for (let from = 0; from < all.length; from += size) stream[what](all.subarray(from, from + size), at);
    }
  }
  return { seen, lines: seen.map(line), missed, isIdle: stream.isIdle };
}

const get = (path = "/a", method = "GET") => `${method} ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;
const post = (body: string, more = "") =>
  `POST /p HTTP/1.1\r\nHost: x\r\n${more}Content-Length: ${body.length}\r\n\r\n${body}`;
const ok = (body = "fine", more = "") => `HTTP/1.1 200 OK\r\n${more}Content-Length: ${body.length}\r\n\r\n${body}`;
const coded = (body: Buffer, coding: string) =>
  Buffer.concat([
    Buffer.from(`HTTP/1.1 200 OK\r\nContent-Encoding: ${coding}\r\nContent-Length: ${body.length}\r\n\r\n`),
    body,
  ]);
const chunked = "Transfer-Encoding: chunked\r\n\r\n3\r\nfin\r\n1;x=y\r\ne\r\n0\r\nTrailer: t\r\n\r\n";
const upgrade = "GET /a HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n";

const cases: [name: string, steps: Step[], lines: string[], missed?: string[]][] = [
  [
    "a request and its response",
    [
      ["sent", post("{}")],
      ["received", ok()],
    ],
    ["POST /p {} -> 200 fine"],
  ],
  [
    "chunks with extensions and trailers",
    [
      ["sent", `POST /p HTTP/1.1\r\nHost: x\r\n${chunked}`],
      ["received", `HTTP/1.1 201 Created\r\n${chunked}`],
    ],
    ["POST /p fine -> 201 fine"],
  ],
  [
    "pipelined requests, some of HEAD",
    [
      ["sent", get("/1") + get("/2", "HEAD") + get("/3", "HEAD") + get("/4")],
      ["received", ok("one") + "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n".repeat(2) + ok("four")],
    ],
    ["GET /1 -> 200 one", "HEAD /2 -> 200", "HEAD /3 -> 200", "GET /4 -> 200 four"],
  ],
  [
    "100 Continue before the body, and other interim responses",
    [
      ["sent", "POST /p HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"],
      ["received", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"],
      ["sent", "{}"],
      ["received", ok()],
    ],
    ["POST /p {} -> 200 fine"],
  ],
  [
    "a response that ends with the connection",
    [["sent", get()], ["received", "HTTP/1.1 200 OK\r\n\r\nfi"], ["received", "ne"], ["ended"]],
    ["GET /a -> 200 fine"],
  ],
  [
    "no body with 204 and 304",
    [
      ["sent", get() + get("/b")],
      ["received", "HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n"],
    ],
    ["GET /a -> 204", "GET /b -> 304"],
  ],
  [
    "gzip",
    [
      ["sent", get()],
      ["received", coded(gzipSync("fine"), "gzip")],
    ],
    ["GET /a -> 200 fine"],
  ],
  [
    "brotli",
    [
      ["sent", get()],
      ["received", coded(brotliCompressSync("fine"), "br")],
    ],
    ["GET /a -> 200 fine"],
  ],
  [
    "a coding that it does not have",
    [
      ["sent", get()],
      ["received", coded(Buffer.from([0xb5, 0x2f]), "compress")],
    ],
    ["GET /a -> 200 <undecodable>"],
  ],
  [
    "a refusal before the request has ended",
    [["sent", post("{}").slice(0, -1)], ["received", ok("no")], ["closed"]],
    ["POST /p <cut> -> 200 no"],
  ],
  [
    "a refusal, and the rest of the request",
    [
      ["sent", post("{}").slice(0, -1)],
      ["received", ok("no")],
      ["sent", "}"],
    ],
    ["POST /p {} -> 200 no"],
  ],
  ["a request without a response", [["sent", post("{}")], ["ended"], ["closed"]], ["POST /p {} ->"]],
  [
    "a response that is cut",
    [["sent", get()], ["received", ok().slice(0, -1)], ["ended"], ["closed"]],
    ["GET /a -> 200 <cut>"],
  ],
  [
    "a body of 2 MB",
    [
      ["sent", post("x".repeat(2 ** 21))],
      ["received", ok()],
    ],
    ["POST /p <cut> -> 200 fine"],
  ],
  [
    "an upgrade that the service ignores",
    [
      ["sent", upgrade],
      ["received", ok()],
      ["sent", get("/b")],
      ["received", ok()],
    ],
    ["GET /a -> 200 fine", "GET /b -> 200 fine"],
  ],
  [
    "an upgrade",
    [
      ["sent", upgrade],
      ["received", "HTTP/1.1 101 Switching Protocols\r\n\r\nPRI"],
      ["sent", get()],
      ["received", ok()],
      ["closed"],
    ],
    ["GET /a -> 101"],
    ["connections that switched to another protocol"],
  ],
  [
    "CONNECT",
    [
      ["sent", "CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n"],
      ["received", ok()],
      ["sent", get()],
    ],
    [],
    ["connections that switched to another protocol"],
  ],
  [
    "bytes that are not HTTP/1.1, and a request after them",
    [
      ["sent", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
      ["received", "nonsense"],
      ["sent", get()],
      ["received", ok()],
    ],
    ["GET /a -> 200 fine"],
    ["parts of connections that cannot be read as HTTP/1.1"],
  ],
  [
    "lengths that would never end",
    [["sent", "POST /p HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n-6\r\n"]],
    [],
    ["parts of connections that cannot be read as HTTP/1.1"],
  ],
  ["a response to nothing", [["received", ok()], ["closed"]], [], ["responses to requests that were not seen"]],
  [
    "a gap: the response to a request in the gap is not taken for that of the next",
    [
      ["sent", get("/1")],
      ["lose", "gap"],
      ["received", "ok"],
      ["received", ok("one")],
      ["sent", get("/2")],
      ["received", ok("two")],
    ],
    ["GET /2 -> 200 two"],
    ["gap"],
  ],
  [
    "a gap in the middle of a request",
    [
      ["lose", "gap"],
      ["sent", get("/1")],
      ["received", ok("?")],
      ["sent", "no request"],
      ["received", ok("?")],
      ["sent", get("/2")],
      ["received", ok("two")],
    ],
    ["GET /2 -> 200 two"],
    ["gap"],
  ],
];

test.each(cases)("reads %s", (_name, steps, lines, missed = []) => {
  expect(play(steps)).toMatchObject({ lines, missed });
});

test.each(cases.filter(([name]) => !name.includes("gap") && !name.includes("MB") && !/HTTP.1.1/.test(name)))(
  "reads %s in single bytes",
  (_name, steps, lines, missed = []) => {
    expect(play(steps, 1)).toMatchObject({ lines, missed });
  },
);

test("times are those of the first byte of the request and of the last of the response", () => {
  const half = post("{}");
  const { seen } = play([
    ["sent", half.slice(0, 5)],
    ["sent", half.slice(5)],
    ["received", ok().slice(0, -1)],
    ["received", "e"],
  ]);
  expect(seen).toMatchObject([{ sentAt: 0, endedAt: 3 }]);
});

test("joins repeated headers, and notes a 100 Continue for which nobody asked", () => {
  const { seen } = play([
    ["sent", post("{}", "X-A: 1\r\nx-a: 2\r\n")],
    ["received", `HTTP/1.1 100 Continue\r\n\r\n${ok("{}", "Set-Cookie: a\r\nset-cookie: b\r\n")}`],
  ]);
  expect(seen).toMatchObject([
    { headers: { "x-a": "1, 2" }, response: { headers: { "set-cookie": "a, b" }, continued: true } },
  ]);
});

test("is idle only if each request has its response", () => {
  expect(play([["sent", get().slice(0, 3)]]).isIdle).toBe(false);
  expect(play([["sent", get()]]).isIdle).toBe(false);
  expect(
    play([
      ["sent", get()],
      ["received", ok()],
    ]).isIdle,
  ).toBe(true);
  expect(play([["lose", "gap"]]).isIdle).toBe(false);
});
