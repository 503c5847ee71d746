import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { readHar } from "./har.ts";
import { createJudge } from "./judge.ts";
import { readLines } from "./lines.ts";
import { openRecording } from "./recorded.ts";
import type { Exchange, Seen } from "./traffic.ts";

async function told(reader: typeof readHar, input: AsyncIterable<Buffer>, target?: string) {
  const seen: Seen[] = [];
  const missed: string[] = [];
  await reader(input, { see: (each) => void seen.push(each), missed: (why) => void missed.push(why) }, target);
  return { seen, missed };
}

async function* inChunksOf7(text: string) {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += 7) yield bytes.subarray(at, at + 7);
}

const readText = (text: string) => told(readLines, inChunksOf7(text));
const textOf = (lines: object[]) => lines.map((each) => JSON.stringify(each)).join("\r\n");
const har = (entries: unknown[], target?: string) =>
  told(readHar, inChunksOf7(JSON.stringify({ log: { entries } })), target);

const at = Date.parse("2026-11-29T10:00:00Z");
const path = "/v1/disbursements/a";
const line = (more: object) => ({ sentAt: at, endedAt: at + 9, method: "GET", path, ...more });
const headers = (name: string, value: string) => ({ headers: [{ name, value }] });
const entry = (request: object, response: object = { content: { text: "{}" } }, more: object = {}) => ({
  startedDateTime: "2026-11-29T10:00:00Z",
  time: 9,
  request: { method: "POST", url: "https://pay.example/v1/disbursements", ...request },
  response: { status: 200, ...response },
  ...more,
});

test("reads what was written as a judge is told it", async () => {
  const response = { status: 200, headers: { date: "now" }, body: "{\u2028}" };
  const written = [
    { kind: "exchange", ...line({ headers: {}, body: "", response, caller: "shop" }) },
    { kind: "exchange", ...line({ headers: { "x-api-key": "k" }, body: { absent: "cut" } }) },
    { kind: "webhook", sentAt: at, path: "/hook?a=1", headers: { "webhook-id": "w" }, body: "{}", status: 204 },
  ];
  expect(await readText(textOf(written))).toEqual({ seen: written, missed: [] });
});

test("reads the shapes that logs have", async () => {
  const url = "https://pay.example/v1/checkouts";
  const several = [
    ...headers("Via", "1").headers,
    ...headers("via", "2").headers,
    ...headers(":authority", "h").headers,
  ];
  const lines = [
    line({ sentAt: "2026-11-29T11:00:00+01:00", url, headers: { "X-Api-Key": ["a", "b"] } }),
    line({ url, headers: several, response: { status: 0 } }),
    line({ method: "POST", url: "http://shop.example/hook", ...headers("Webhook-Id", "w"), body: { amount: 1 } }),
  ];
  const { seen } = await readText(textOf(lines));
  expect(seen[0]).toMatchObject({ sentAt: at, path: "/v1/checkouts", headers: { "x-api-key": "a, b" } });
  expect(seen[1]).toMatchObject({ headers: { via: "1, 2", host: "h" } });
  expect(seen[1]).not.toHaveProperty("response");
  expect(seen[2]).toMatchObject({ kind: "webhook", path: "/hook", body: '{"amount":1}' });
});

test("names the lines that cannot be read, and quotes none of them", async () => {
  const faults = [
    { sentAt: "2026-11-29T10:00:00" },
    { endedAt: 1_764_410_400 },
    { path: "" },
    { endedAt: at - 1 },
    { status: 200 },
  ];
  const { seen, missed } = await readText(
    ['{"x-api-key": "sk_secret"', "[]", textOf(faults.map(line)), "", textOf([line({})])].join("\n"),
  );
  expect(seen).toHaveLength(1);
  expect(missed).toEqual([
    "line 1 cannot be read: it is not JSON",
    "line 2 cannot be read: it must be a JSON object",
    'line 3 cannot be read: "sentAt" must be ISO 8601 with a time zone, or milliseconds since 1970',
    'line 4 cannot be read: "endedAt" must be ISO 8601 with a time zone, or milliseconds since 1970',
    'line 5 cannot be read: "url" must be a URL; "path" may have the path and query instead',
    'line 6 cannot be read: "endedAt" must not be before "sentAt"',
    'line 7 cannot be read: "status" must be in "response"',
  ]);
  const { missed: many } = await readText("x\n".repeat(22) + textOf([line({})]));
  const further = "further places that cannot be read";
  expect(many.slice(19)).toEqual(["line 20 cannot be read: it is not JSON", further, further]);
});

test("says what to do with a file that is of another format", async () => {
  await expect(readText('{"log": {}}')).rejects.toThrow(
    /^No line is an exchange or webhook\. Line 1: .*--har reads a HAR/,
  );
  const text = textOf([line({}), line({})]);
  await expect(told(readHar, inChunksOf7(text))).rejects.toThrow(/not complete JSON\. --exchanges reads JSON Lines/);
  await expect(told(readHar, inChunksOf7("[]"))).rejects.toThrow(/no log\.entries/);
});

const base64 = (bytes: Buffer) => ({ text: bytes.toString("base64"), encoding: "base64" });
const compressed = headers("Content-Encoding", "gzip");
const nothing = { size: 0, text: "" };

test.each([
  ["text", { content: { text: "{}" } }, "{}"],
  ["base64", { content: base64(Buffer.from("{}")) }, "{}"],
  ["bytes that are compressed", { content: base64(gzipSync("{}")), ...compressed }, "{}"],
  ["bytes that are compressed no longer", { content: base64(Buffer.from("{}")), ...compressed }, "{}"],
  ["no text", { content: { size: 2 } }, { absent: "missing" }],
  ["an empty text that no header confirms", { content: nothing }, { absent: "missing" }],
  ["an empty text and Content-Length: 0", { content: nothing, ...headers("Content-Length", "0") }, ""],
  ["a status without a body", { status: 204, content: nothing }, ""],
  ["fewer bytes than the size", { content: { size: 9, text: "{}" } }, { absent: "cut" }],
  [
    "fewer bytes than Content-Length",
    { content: { text: "{}" }, ...headers("Content-Length", "9") },
    { absent: "cut" },
  ],
  ["bytes that are not UTF-8", { content: base64(Buffer.from([0xff])) }, { absent: "undecodable" }],
  ["text from bytes that were not UTF-8", { content: { text: "{\uFFFD}" } }, { absent: "undecodable" }],
])("a HAR has a response with %s", async (_, response, body) => {
  expect(((await har([entry({}, response)])).seen[0] as Exchange).response?.body).toEqual(body);
});

test.each([
  ["base64", { postData: base64(Buffer.from("{}")), bodySize: 2 }, "{}"],
  ["parameters only", { postData: { params: [] } }, { absent: "missing" }],
  ["fewer bytes than its size", { postData: { text: "{}" }, bodySize: 3 }, { absent: "cut" }],
  ["nothing for a GET", { method: "GET" }, ""],
])("a HAR has a request with %s", async (_, request, body) => {
  expect((await har([entry(request)])).seen[0]?.body).toEqual(body);
});

test("entries of a HAR are read by time, and those without a response have none", async () => {
  const later = entry({}, undefined, { startedDateTime: "2026-11-29T10:00:01Z" });
  const cached = entry({}, undefined, { _fromCache: "disk" });
  const { seen, missed } = await har([
    later,
    entry({}, { status: -1 }, { time: -1 }),
    cached,
    entry({}, {}, { time: -1 }),
    null,
    entry({ headers: [null] }),
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
    "entry 6 cannot be read: it is not as HAR 1.2 says",
  ]);
});

test("only requests for the service count", async () => {
  const urls = ["https://pay.example/api/v1/disbursements/a", "https://sandbox.example/v1/checkouts?limit=1"];
  const hook = entry({ url: "https://shop.example/hook", ...headers("webhook-id", "w"), postData: { text: "{}" } });
  const all = [...urls, "https://pay.example/logo.png", "data:text/plain,a"].map((url) => entry({ url }));
  const webhook = { kind: "webhook", path: "/hook", body: "{}", status: 200 };
  const first = await har([...all, hook]);
  expect(first.seen).toMatchObject([{ path: "/api/v1/disbursements/a" }, webhook]);
  const unknown = "not for a path of the contract";
  expect(first.missed).toEqual([
    "not for https://pay.example/api of the first request: --target chooses another",
    unknown,
    unknown,
  ]);
  const chosen = await har([...all, hook], "https://SANDBOX.example:443/");
  expect(chosen.seen).toMatchObject([{ path: "/v1/checkouts?limit=1" }, webhook]);
  expect(new Set(chosen.missed)).toEqual(new Set(["not for https://sandbox.example"]));
});

test("two merchants whose keys have the same mask contradict nothing", async () => {
  const body = { reference: "a", amount: 100, currency: "XOF", country: "CI", phoneNumber: "2257038102473" };
  const data = { reference: "b", merchantsReference: "a", amount: 100, fee: 1, status: "pending" };
  const contradicted = async (key: string) => {
    const response = { status: 200, body: { statusCode: 200, data } };
    const create = line({ method: "POST", path: "/v1/disbursements", ...headers("x-api-key", key), body, response });
    const judge = createJudge({ profile: "core" });
    await readLines(inChunksOf7(textOf([create, { ...create, sentAt: at + 99, endedAt: at + 99 }])), judge);
    judge.close();
    return judge.result().requirements.filter(({ contradictions }) => contradictions.count > 0);
  };
  expect(await contradicted("sk_live_****12")).toEqual([]);
  expect((await contradicted("sk_live_0012")).map(({ id }) => id)).toContain("create.duplicate-refused");
});

test("reads a recording of redocly proxy 2.77, also compressed", async () => {
  const file = join(import.meta.dirname, "../testing/redocly-proxy.har");
  const compressedFile = join(mkdtempSync(join(tmpdir(), "har-")), "compressed.har.gz");
  writeFileSync(compressedFile, gzipSync(readFileSync(file)));
  const found = await told(readHar, await openRecording(file), "http://127.0.0.1:8080");
  expect(await told(readHar, await openRecording(compressedFile), "http://127.0.0.1:8080")).toEqual(found);
  writeFileSync(compressedFile, gzipSync(readFileSync(file)).subarray(0, -9));
  await expect(told(readHar, await openRecording(compressedFile))).rejects.toThrow(/^The rest of the file cannot/);
  expect(found.missed).toEqual([]);
  expect((found.seen as Exchange[]).map((each) => `${each.path} ${each.response?.status}`)).toEqual([
    "/v1/disbursements 200",
    "/v1/disbursements 409",
    "/v1/disbursements/pay-1 404",
    "/healthz 200",
  ]);
});
