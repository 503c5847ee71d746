import { createReadStream } from "node:fs";
import { Readable } from "node:stream";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { readHar } from "./har.ts";
import { readLines } from "./lines.ts";
import type { Exchange, Seen } from "./traffic.ts";

async function told(reader: typeof readHar, input: Readable, target?: string) {
  const seen: Seen[] = [];
  const missed: string[] = [];
  await reader(input, { see: (each) => void seen.push(each), missed: (why) => void missed.push(why) }, target);
  return { seen, missed };
}
const inChunksOf7 = (text: string) => {
  const bytes = Buffer.from(text);
  return Readable.from(Array.from({ length: bytes.length / 7 + 1 }, (_, at) => bytes.subarray(at * 7, at * 7 + 7)));
};
const lines = (...all: unknown[]) =>
  told(
    readLines,
    inChunksOf7(all.map((each) => (typeof each === "string" ? each : JSON.stringify(each))).join("\r\n")),
  );
const harOf = (...entries: unknown[]) => inChunksOf7(JSON.stringify({ log: { entries } }));
const har = (...entries: unknown[]) => told(readHar, harOf(...entries));

const at = Date.parse("2026-11-29T10:00:00Z");
const path = "/v1/disbursements/a";
const line = (more: object) => ({ sentAt: at, endedAt: at + 9, method: "GET", path, ...more });
const headers = (name: string, value: string) => ({ headers: [{ name, value }] });
const hook = { method: "POST", url: "https://shop.example/hook", ...headers("Webhook-Id", "w") };
const entry = (request: object, response: object = { content: { text: "{}" } }, more: object = {}) => ({
  startedDateTime: "2026-11-29T10:00:00Z",
  time: 9,
  request: { method: "POST", url: "https://pay.example/v1/disbursements", ...request },
  response: { status: 200, ...response },
  ...more,
});

test("reads what was written as a judge is told it", async () => {
  const response = { status: 200, headers: { "content-length": "6" }, body: "{\u2028é}", continued: true };
  const written = [
    { kind: "exchange", ...line({ headers: {}, body: "", response, caller: "shop" }) },
    { kind: "exchange", ...line({ headers: { "x-api-key": "k" }, body: { absent: "cut" } }) },
    { kind: "webhook", sentAt: at, path: "/hook?a=1", headers: { "webhook-id": "w" }, body: "{}", status: 204 },
  ];
  const missed = { kind: "missed", reason: "the log was rotated" };
  expect(await lines(...written, missed)).toEqual({ seen: written, missed: [missed.reason] });
});

test("reads the shapes that logs have", async () => {
  const url = "https://pay.example/api/v1/checkouts";
  const several = [["Via", "1"], ["via", "2"], [":authority", "h"], ["date"]].map(([name, value]) => ({ name, value }));
  const { seen, missed } = await lines(
    line({ sentAt: "2026-11-29T11:00:00+01:00", url, headers: { "X-Api-Key": ["a", "b"] } }),
    line({ url, headers: several, response: { status: "0" }, caller: 7 }),
    line({ ...hook, body: { amount: 1 } }),
    line({ ...hook, body: { base64: btoa("{"), isWhole: true } }),
    line({ kind: "webhook" }),
  );
  expect(seen).toMatchObject([
    { sentAt: at, path: "/v1/checkouts", headers: { "x-api-key": "a, b" } },
    { headers: { via: "1, 2", host: "h" }, caller: "7" },
    { kind: "webhook", path: "/hook", body: '{"amount":1}' },
    { body: "{" },
  ]);
  expect(seen[1]).not.toHaveProperty("response");
  expect(missed).toEqual(["webhooks that are not sent by POST"]);
});

const time = "must be ISO 8601 with a time zone, or milliseconds since 1970";
test.each<[string, unknown, string]>([
  ["no JSON", '{"x-api-key": "sk_secret"', "it must be object"],
  ["a time without a zone", line({ sentAt: "2026-11-29T10:00:00" }), `sentAt ${time}`],
  ["seconds", line({ endedAt: 1_764_410_400 }), `endedAt ${time}`],
  ["microseconds", line({ endedAt: 1_764_410_400e6 }), `endedAt ${time}`],
  ["times in another order", line({ endedAt: at - 1 }), "endedAt must not be before sentAt"],
  ["no address", line({ path: undefined }), "it must have required property 'url'"],
  ["a flat status", line({ status: 200 }), "it must have property response when property status is present"],
  ["a response without a status", line({ response: {} }), "response must have required property 'status'"],
])("names a line with %s, and quotes nothing of it", async (_, faulty, why) => {
  expect(await lines(line({}), faulty)).toMatchObject({
    seen: [{ path }],
    missed: [`line 2 cannot be read: ${why}`],
  });
});

test("names the first 20 lines that cannot be read, and counts the others", async () => {
  const { missed } = await lines("x\n".repeat(22));
  expect(missed.slice(19)).toEqual([
    "line 20 cannot be read: it must be object",
    ...Array<string>(2).fill("further places that cannot be read"),
  ]);
});

test.each(["[]", '{"log": {}}', "{}\n{}"])("refuses %j as a HAR", async (text) => {
  await expect(told(readHar, inChunksOf7(text))).rejects.toThrow("--exchanges reads JSON Lines");
});

const base64 = (bytes: Buffer) => ({ text: bytes.toString("base64"), encoding: "base64" });
const gzipped = headers("Content-Encoding", "gzip");
const nothing = { size: 0, text: "" };
const [missing, cut, undecodable] = ["missing", "cut", "undecodable"].map((absent) => ({ absent }));
const responseBody = (body: unknown) => ({ response: { body } });

test.each<[string, object, object]>([
  ["text", entry({}, { content: { text: "{}" } }), responseBody("{}")],
  ["base64", entry({}, { content: base64(Buffer.from("{}")) }), responseBody("{}")],
  ["compressed bytes", entry({}, { content: base64(gzipSync("{}")), ...gzipped }), responseBody("{}")],
  ["bytes that were compressed", entry({}, { content: base64(Buffer.from("{}")), ...gzipped }), responseBody("{}")],
  ["no text", entry({}, { content: { size: 2 } }), responseBody(missing)],
  ["an empty text that no header confirms", entry({}, { content: nothing }), responseBody(missing)],
  ["an empty text of length 0", entry({}, { content: nothing, ...headers("Content-Length", "0") }), responseBody("")],
  ["a status without a body", entry({}, { status: 204, content: nothing }), responseBody("")],
  ["fewer bytes than the size", entry({}, { content: { size: 9, text: "{}" } }), responseBody(cut)],
  [
    "fewer bytes than its length",
    entry({}, { content: { text: "{}" }, ...headers("Content-Length", "9") }),
    responseBody(cut),
  ],
  ["the start of JSON of unknown length", entry({}, { content: { text: '{"a":{"b":1}' } }), responseBody(cut)],
  ["the start of JSON in base64", entry({}, { content: base64(Buffer.from("{")) }), responseBody(cut)],
  ["braces in JSON", entry({}, { content: { text: '{"a":"{"}' } }), responseBody('{"a":"{"}')],
  ["text after a byte order mark", entry({}, { content: { text: "\uFEFF{}" } }), responseBody("{}")],
  ["text that is not JSON", entry({}, { content: { text: "<html>" } }), responseBody("<html>")],
  ["bytes that are not UTF-8", entry({}, { content: base64(Buffer.from([0xff])) }), responseBody(undecodable)],
  ["text of bytes that were not UTF-8", entry({}, { content: { text: "{\uFFFD}" } }), responseBody(undecodable)],
  ["a request in base64", entry({ postData: base64(Buffer.from("{}")), bodySize: 2 }), { body: "{}" }],
  ["parameters only", entry({ postData: { params: [] } }), { body: missing }],
  ["a request of fewer bytes than its size", entry({ postData: { text: "{}" }, bodySize: 3 }), { body: cut }],
  ["nothing for a GET", entry({ method: "GET" }), { body: "" }],
])("reads a HAR with %s", async (_, written, read) => {
  expect(await har(written)).toMatchObject({ seen: [read] });
});

test("entries of a HAR are read by time, and those without a response have none", async () => {
  const { seen, missed } = await har(
    entry({}, undefined, { startedDateTime: "2026-11-29T10:00:01Z" }),
    entry({}, { status: -1 }, { time: -1 }),
    entry({}, undefined, { _fromCache: "disk" }),
    entry({}, {}, { time: -1 }),
    entry({ headers: [null] }),
    null,
  );
  expect(seen).toMatchObject([
    { sentAt: at, endedAt: at },
    { sentAt: at + 1000, response: { body: "{}" } },
  ]);
  expect(seen[0]).not.toHaveProperty("response");
  expect(missed).toEqual([
    "it came from a browser's cache",
    "entry 4 cannot be read: it must have required property 'endedAt'",
    "entry 5 cannot be read: headers.0 must be object",
    "entry 6 cannot be read: it must have required property 'url'",
  ]);
});

test.each<[target: string | undefined, paths: string[], missed: string]>([
  [undefined, [path, "/v1/checkouts?limit=1", "/hook"], "not for a path of the contract"],
  ["https://PAY.example:443/api", [path, "/healthz", "/hook"], "not for https://PAY.example:443/api"],
])("for the target %s, only its requests count", async (target, paths, why) => {
  const urls = [
    "https://pay.example/api/v1/disbursements/a",
    "https://sandbox.example/v1/checkouts?limit=1",
    "https://pay.example/api/healthz",
    "data:text/plain,a",
  ];
  const { seen, missed } = await told(readHar, harOf(...urls.map((url) => entry({ url })), entry(hook)), target);
  expect(seen.map((each) => each.path)).toEqual(paths);
  expect(seen.at(-1)).toMatchObject({ kind: "webhook", status: 200 });
  expect(missed).toEqual([why, why]);
});

test.each(["redocly-proxy.har", "chromium.har"])("reads %s, with all bodies", async (file) => {
  const input = createReadStream(join(import.meta.dirname, "../testing", file));
  const { seen, missed } = await told(readHar, input, "http://127.0.0.1:8080");
  const api = (seen as Exchange[]).filter((each) => each.path.startsWith("/v1/"));
  expect(api.map(({ method, response }) => `${method} ${response?.status}`)).toEqual([
    "POST 200",
    "POST 409",
    "GET 404",
  ]);
  for (const { response } of api) expect(JSON.parse(response!.body as string)).toHaveProperty("statusCode");
  expect(missed).toEqual([]);
});
