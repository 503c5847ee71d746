import { brotliCompressSync, gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { createHttpStream } from "./http-stream.ts";
import type { Body, Exchange } from "./traffic.ts";

const shown = (body: Body) => (typeof body === "string" ? body : `<${body.absent}>`);
const line = ({ method, path, body, response }: Exchange) =>
  [method, path, shown(body), "->", response?.status, response && shown(response.body)].filter(Boolean).join(" ");

/**
 * Plays steps, one a millisecond, in chunks of `size` bytes. A step starts with ">" if the caller sends it and "<" if the
 * service does; "." is the service's end, "x" the connection's, and "?" a gap.
 */
function play(steps: readonly string[], size = Infinity) {
  const seen: Exchange[] = [];
  const missed: string[] = [];
  const stream = createHttpStream(
    (exchange) => seen.push(exchange),
    (reason) => missed.push(reason),
  );
  for (const [at, step] of steps.entries()) {
    const bytes = Buffer.from(step.slice(1), "latin1");
    for (let from = 0; from < bytes.length; from += size)
      stream[step.startsWith(">") ? "sent" : "received"](bytes.subarray(from, from + size), at);
    if (step === ".") stream.ended(at);
    if (step === "x") stream.closed(at);
    if (step === "?") stream.lose("gap");
  }
  return { seen, exchanges: seen.map(line), missed, isIdle: stream.isIdle };
}

const get = (path = "/a", method = "GET", more = "") => `>${method} ${path} HTTP/1.1\r\nHost: x\r\n${more}\r\n`;
const post = (body: string, more = "") => `${get("/p", "POST", `${more}Content-Length: ${body.length}\r\n`)}${body}`;
const status = (text: string, more = "", body = "") => `<HTTP/1.1 ${text}\r\n${more}\r\n${body}`;
const ok = (body = "fine", more = "") => status("200 OK", `${more}Content-Length: ${body.length}\r\n`, body);
const coded = (body: Buffer, coding: string) => ok(body.toString("latin1"), `Content-Encoding: ${coding}\r\n`);
const joined = (...steps: string[]) => steps[0]!.slice(0, 1) + steps.map((step) => step.slice(1)).join("");
const chunked = "Transfer-Encoding: chunked\r\n";
const chunks = "3\r\nfin\r\n1;x=y\r\ne\r\n0\r\nTrailer: t\r\n\r\n";
const upgrade = get("/a", "GET", "Connection: Upgrade\r\nUpgrade: h2c\r\n");
const unreadable = "parts of connections that cannot be read as HTTP/1.1";
const switched = "connections that switched to another protocol";

const cases: Record<string, [steps: string[], exchanges: string[], missed?: string]> = {
  "a request and its response": [[post("{}"), ok()], ["POST /p {} -> 200 fine"]],
  "chunks with extensions and trailers": [
    [get("/p", "POST", chunked) + chunks, status("201 Created", chunked, chunks)],
    ["POST /p fine -> 201 fine"],
  ],
  "pipelined requests, some of HEAD": [
    [
      joined(get("/1"), get("/2", "HEAD"), get("/3", "HEAD"), get("/4")),
      joined(ok("one"), ok("two").slice(0, -3), ok("three").slice(0, -5), ok("four")),
    ],
    ["GET /1 -> 200 one", "HEAD /2 -> 200", "HEAD /3 -> 200", "GET /4 -> 200 four"],
  ],
  "interim responses": [
    [
      get("/p", "POST", "Expect: 100-continue\r\nContent-Length: 2\r\n"),
      joined(status("100 Continue"), status("103 Early Hints", "Link: x\r\n")),
      ">{}",
      ok(),
    ],
    ["POST /p {} -> 200 fine"],
  ],
  "a response that ends with the connection": [[get(), status("200 OK", "", "fi"), "<ne", "."], ["GET /a -> 200 fine"]],
  "204 and 304": [
    [joined(get(), get("/b")), joined(status("204 No"), status("304 No", "Content-Length: 7\r\n"))],
    ["GET /a -> 204", "GET /b -> 304"],
  ],
  gzip: [[get(), coded(gzipSync("fine"), "gzip")], ["GET /a -> 200 fine"]],
  brotli: [[get(), coded(brotliCompressSync("fine"), "br")], ["GET /a -> 200 fine"]],
  "an unknown coding": [[get(), coded(Buffer.from("b52f", "hex"), "lzw")], ["GET /a -> 200 <undecodable>"]],
  "a refusal before the request ends": [[post("{}").slice(0, -1), ok("no"), "x"], ["POST /p <cut> -> 200 no"]],
  "a refusal, then the rest of the request": [[post("{}").slice(0, -1), ok("no"), ">}"], ["POST /p {} -> 200 no"]],
  "a request without a response": [[post("{}"), ".", "x"], ["POST /p {} ->"]],
  "a response that is cut": [[get(), ok().slice(0, -1), ".", "x"], ["GET /a -> 200 <cut>"]],
  "a body of 2 MB": [[post("x".repeat(2 ** 21)), ok()], ["POST /p <cut> -> 200 fine"]],
  "an upgrade that the service ignores": [
    [upgrade, ok(), get("/b"), ok()],
    ["GET /a -> 200 fine", "GET /b -> 200 fine"],
  ],
  "an upgrade": [[upgrade, status("101 Yes", "", "PRI"), get(), ok(), "x"], ["GET /a -> 101"], switched],
  CONNECT: [[get("x:1", "CONNECT"), ok(), get()], [], switched],
  "the request after bytes that are not HTTP/1.1": [
    [">PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "<nonsense", get(), ok()],
    ["GET /a -> 200 fine"],
    unreadable,
  ],
  "a chunk of a negative size": [[`${get("/p", "POST", chunked)}-6\r\n`], [], unreadable],
  "a response to nothing": [[ok(), "x"], [], "responses to requests that were not seen"],
  "no response that belongs to a request in a gap": [
    [get("/1"), "?", "<ok", ok("one"), get("/2"), ok("two")],
    ["GET /2 -> 200 two"],
    "gap",
  ],
  "no request whose start may be in a gap": [
    ["?", get("/1"), ok("?"), ">no request", ok("?"), get("/2"), ok("two")],
    ["GET /2 -> 200 two"],
    "gap",
  ],
};

test.each(Object.entries(cases))("reads %s", (_name, [steps, exchanges, missed]) => {
  expect(play(steps)).toMatchObject({ exchanges, missed: missed === undefined ? [] : [missed] });
});

const whole = Object.entries(cases).filter(([name, [, , missed]]) => missed === undefined && !name.includes("MB"));
test.each(whole)("reads %s in single bytes", (_name, [steps, exchanges]) => {
  expect(play(steps, 1)).toMatchObject({ exchanges, missed: [] });
});

test("times are those of the first byte of the request and of the last of the response", () => {
  const { seen } = play([post("{}").slice(0, 5), `>${post("{}").slice(5)}`, ok("f").slice(0, -1), "<f"]);
  expect(seen).toMatchObject([{ sentAt: 0, endedAt: 3 }]);
});

test("joins repeated headers, and notes a 100 Continue for which nobody asked", () => {
  const response = joined(status("100 Continue"), ok("{}", "Set-Cookie: a\r\nset-cookie: b\r\n"));
  expect(play([post("{}", "X-A: 1\r\nx-a: 2\r\n"), response]).seen).toMatchObject([
    { headers: { "x-a": "1, 2" }, response: { headers: { "set-cookie": "a, b" }, continued: true } },
  ]);
});

test("a connection is idle only if each request has its response", () => {
  const idle = [[], [get().slice(0, 3)], [get()], [get(), ok()], ["?"]].map((steps) => play(steps).isIdle);
  expect(idle).toEqual([true, false, false, true, false]);
});
