import { readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { readHar } from "./har.ts";
import { readLines } from "./lines.ts";
import { openRecording } from "./recorded.ts";
import type { Exchange, Seen } from "./traffic.ts";

/** Reads a recording in chunks of 7 bytes. */
async function read(by: typeof readHar, recording: string | Buffer, target?: string) {
  const seen: Seen[] = [];
  const missed: string[] = [];
  const bytes = Buffer.from(recording);
  const chunks = async function* () {
    for (let at = 0; at < bytes.length; at += 7) yield bytes.subarray(at, at + 7);
  };
  await by(chunks(), { see: (each) => void seen.push(each), missed: (reason) => void missed.push(reason) }, target);
  return { seen, missed };
}

const at = Date.parse("2026-11-29T10:00:00Z");
const line = (more: object) => ({ sentAt: at, endedAt: at + 9, method: "GET", path: "/v1/disbursements/a", ...more });
const lines = (...of: object[]) => read(readLines, of.map((each) => JSON.stringify(each)).join("\n"));

const request = {
  method: "POST",
  url: "https://pay.example/v1/disbursements",
  headers: [{ name: "X-Api-Key", value: "k" }],
};
const entry = (more: object, response: object = {}) => ({
  startedDateTime: "2026-11-29T10:00:00Z",
  time: 9,
  request: { ...request, ...more },
  response: { status: 200, headers: [], content: { size: 2, text: "{}" }, ...response },
});
const har = (entries: unknown[], target?: string) => read(readHar, JSON.stringify({ log: { entries } }), target);

test("reads what was written as a judge is told it", async () => {
  const response = { status: 200, headers: { date: "now" }, body: "{}" };
  const told: Seen[] = [
    { kind: "exchange", ...line({ headers: {}, body: "", response, caller: "shop" }) } as Exchange,
    { kind: "exchange", ...line({ headers: { "x-api-key": "k" }, body: { absent: "cut" } }) } as Exchange,
    { kind: "webhook", sentAt: at, path: "/hook?a=1", headers: { "webhook-id": "w" }, body: "{}", status: 204 },
  ];
  expect(await lines(...told)).toEqual({ seen: told, missed: [] });
});

test("reads the shapes that logs have", async () => {
  const { seen } = await lines(
    line({
      sentAt: "2026-11-29T11:00:00+01:00",
      url: "https://pay.example/v1/checkouts",
      headers: { "X-Api-Key": ["a", "b"] },
    }),
    line({
      url: "https://pay.example/v1/checkouts/b",
      headers: [
        { name: "Via", value: "1" },
        { name: "via", value: 2 },
        { name: ":authority", value: "pay.example" },
      ],
      response: { status: 0 },
    }),
    line({ method: "POST", url: "http://shop.example/hook", headers: { "Webhook-Id": "w" }, body: { amount: 1 } }),
  );
  expect(seen[0]).toMatchObject({ sentAt: at, path: "/v1/checkouts", headers: { "x-api-key": "a, b" } });
  expect(seen[1]).toMatchObject({ headers: { via: "1, 2", host: "pay.example" } });
  expect(seen[1]).not.toHaveProperty("response");
  expect(seen[2]).toEqual({
    kind: "webhook",
    sentAt: at,
    path: "/hook",
    headers: { "webhook-id": "w" },
    body: '{"amount":1}',
  });
});

test("names the lines that cannot be read, and quotes none of them", async () => {
  const valid = JSON.stringify(line({}));
  const bad = [
    '{"x-api-key": "sk_secret"',
    "[]",
    JSON.stringify(line({ sentAt: "2026-11-29T10:00:00" })),
    JSON.stringify(line({ endedAt: 1_764_410_400 })),
    JSON.stringify(line({ headers: "x-api-key: k" })),
    JSON.stringify(line({ path: "" })),
    JSON.stringify(line({ kind: "event" })),
  ];
  const { seen, missed } = await read(readLines, [valid, ...bad, "", valid].join("\r\n"));
  expect(seen).toHaveLength(2);
  expect(missed).toEqual([
    "line 2 cannot be read: it is not JSON",
    "line 3 cannot be read: it must be a JSON object",
    'line 4 cannot be read: "sentAt" must be ISO 8601 with a time zone, or milliseconds since 1970',
    'line 5 cannot be read: "endedAt" must be ISO 8601 with a time zone, or milliseconds since 1970',
    'line 6 cannot be read: "headers" must be an object, or a list of {"name", "value"}',
    'line 7 cannot be read: "url" must be a URL; "path" may have the path and query instead',
    'line 8 cannot be read: "kind" must be "exchange" or "webhook"',
  ]);
  const many = await read(readLines, [valid, ...Array.from({ length: 25 }, () => "x")].join("\n"));
  expect(many.missed.slice(19)).toEqual([
    expect.stringContaining("line 21 "),
    ...Array(5).fill("further places that cannot be read"),
  ]);
  await expect(read(readLines, '{"log": {}}')).rejects.toThrow(/^No line is an exchange or webhook\. Line 1: "sentAt"/);
});

const encoded = (text: string | Buffer) => ({ text: Buffer.from(text).toString("base64"), encoding: "base64" });
const length = (value: string) => [{ name: "content-length", value }];
const gzipped = [{ name: "content-encoding", value: "gzip" }];

test.each([
  ["text", { content: { text: "{}" } }, "{}"],
  ["base64", { content: encoded("{}") }, "{}"],
  ["bytes that are compressed still", { content: encoded(gzipSync("{}")), headers: gzipped }, "{}"],
  ["bytes that are compressed no longer", { content: encoded("{}"), headers: gzipped }, "{}"],
  ["no text", { content: { size: 2 } }, { absent: "missing" }],
  ["no content", { content: undefined }, { absent: "missing" }],
  [
    "an empty text, of which no header says that it is right",
    { content: { size: 0, text: "" } },
    { absent: "missing" },
  ],
  ["an empty text and Content-Length: 0", { content: { size: 0, text: "" }, headers: length("0") }, ""],
  ["a status without a body", { status: 204, content: { size: 0 } }, ""],
  ["fewer bytes than the size", { content: { size: 9, text: "é{}" } }, { absent: "cut" }],
  ["fewer bytes than Content-Length", { content: { text: "{}" }, headers: length("9") }, { absent: "cut" }],
  ["bytes that are not UTF-8", { content: encoded(Buffer.from([0xff])) }, { absent: "undecodable" }],
  ["text from bytes that were not UTF-8", { content: { text: "{\uFFFD}" } }, { absent: "undecodable" }],
])("a HAR has a response with %s", async (_, response, body) => {
  const { seen } = await har([entry({}, response)]);
  expect((seen[0] as Exchange).response?.body).toEqual(body);
});

test.each([
  ["text", { postData: { text: "{}" } }, "{}"],
  ["base64", { postData: encoded("{}"), bodySize: 2 }, "{}"],
  ["parameters only", { postData: { params: [] } }, { absent: "missing" }],
  ["fewer bytes than its size", { postData: { text: "{}" }, bodySize: 3 }, { absent: "cut" }],
  ["nothing for a GET", { method: "GET" }, ""],
])("a HAR has a request with %s", async (_, more, body) => {
  expect((await har([entry(more)])).seen[0]?.body).toEqual(body);
});

test("entries of a HAR are read by time, and those without a response have none", async () => {
  const later = { ...entry({}), startedDateTime: "2026-11-29T10:00:01Z" };
  const lost = { ...entry({}, { status: -1 }), time: -1 };
  const { seen, missed } = await har([
    later,
    lost,
    { ...entry({}), _fromCache: "disk" },
    { ...entry({}), time: -1 },
    null,
  ]);
  expect(seen).toMatchObject([
    { sentAt: at, endedAt: at },
    { sentAt: at + 1000, response: { body: "{}" } },
  ]);
  expect(seen[0]).not.toHaveProperty("response");
  expect(missed).toEqual([
    "it came from a browser's cache",
    'entry 4 cannot be read: "time" must be milliseconds',
    'entry 5 cannot be read: "startedDateTime" must be ISO 8601 with a time zone',
  ]);
});

test("only requests for the service count", async () => {
  const to = (url: string) => entry({ url });
  const all = [
    to("https://pay.example/api/v1/disbursements/a"),
    to("https://pay.example/logo.png"),
    to("https://sandbox.example/v1/checkouts?limit=1"),
    to("data:text/plain,a"),
    entry({
      url: "https://shop.example/hook",
      headers: [{ name: "webhook-id", value: "w" }],
      postData: { text: "{}" },
    }),
  ];
  const other = "not for https://pay.example/api: --target chooses it";
  const unknown = "not for a path of the contract";
  const first = await har(all);
  const webhook = { kind: "webhook", path: "/hook", body: "{}", status: 200 };
  expect(first.seen).toMatchObject([{ path: "/api/v1/disbursements/a" }, webhook]);
  expect(first.missed).toEqual([unknown, other, unknown]);
  const chosen = await har(all, "https://SANDBOX.example:443/");
  expect(chosen.seen).toMatchObject([{ path: "/v1/checkouts?limit=1" }, webhook]);
  expect(chosen.missed).toEqual(Array(3).fill("not for https://sandbox.example"));
});

test("a masked key tells no callers apart", async () => {
  const { seen, missed } = await lines(
    line({ headers: { "x-api-key": "sk_****12" } }),
    line({ headers: { "x-api-key": "[REDACTED]" }, caller: "shop" }),
  );
  expect(seen).toMatchObject([{ caller: "shop" }]);
  expect(missed).toEqual(["the API key is masked, so the caller is not known"]);
});

test("says what is wrong with a file that is no HAR", async () => {
  await expect(read(readHar, '{"log": {"entries": [')).rejects.toThrow(
    /not complete JSON\. --exchanges reads JSON Lines/,
  );
  await expect(read(readHar, "[]")).rejects.toThrow(/no log\.entries/);
});

test("reads a recording of redocly proxy 2.77, also compressed", async () => {
  const text = readFileSync(join(import.meta.dirname, "../testing/redocly-proxy.har"));
  const { seen, missed } = await read(readHar, text, "http://127.0.0.1:8080");
  expect(missed).toEqual([]);
  expect(seen.map((each) => each.kind === "exchange" && [each.path, each.response?.status, each.body === ""])).toEqual([
    ["/v1/disbursements", 200, false],
    ["/v1/disbursements", 409, false],
    ["/v1/disbursements/pay-1", 404, true],
    ["/healthz", 200, true],
  ]);
  const file = join(tmpdir(), `${crypto.randomUUID()}.har.gz`);
  writeFileSync(file, gzipSync(text));
  const again: Seen[] = [];
  await readHar(
    await openRecording(file),
    { see: (each) => void again.push(each), missed() {} },
    "http://127.0.0.1:8080",
  );
  expect(again).toEqual(seen);
});
