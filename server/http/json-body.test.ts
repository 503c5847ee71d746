import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from "node:zlib";
import * as fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { aPayout, startServer, type TestServer } from "../testing/server.ts";
import { parseExactly, parsePlain } from "./json-body.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.close());

const LIMIT = 16_384;
const post = (body: unknown, headers = {}, chunked = false) =>
  server.request("POST", "/v1/disbursements", { body, headers, chunked });
/** A valid JSON text with one field's value replaced by a literal. Each call uses a new reference. */
const bodyWith = (field: string, literal: string) =>
  JSON.stringify({ ...aPayout(), [field]: "@" }).replace('"@"', literal);
/** A valid body of exactly this many bytes. */
function bodyOf(bytes: number): string {
  const body = JSON.stringify({ ...aPayout(), padding: "" });
  return body.replace(
    '""',
    `"${"é".repeat(Math.floor((bytes - body.length) / 2))}${"x".repeat((bytes - body.length) % 2)}"`,
  );
}

describe("returns 400 for a body that is not a JSON object", () => {
  test.each<[string, string | Uint8Array, RegExp]>([
    ["an empty body", "", /^The request body is missing/],
    ["white space", " \n", /not valid JSON/],
    ["a brace", "{", /not valid JSON/],
    ["text after the object", "{} {}", /not valid JSON/],
    ["a trailing comma", '{"a":1,}', /not valid JSON/],
    ["a comment", '{"a":1/*!*/}', /not valid JSON/],
    ["single quotes", "{'a':1}", /not valid JSON/],
    ["a name without quotes", "{a:1}", /not valid JSON/],
    ["a control character in a string", '{"a":"\n"}', /not valid JSON/],
    ["an invalid escape", '{"a":"\\x41"}', /not valid JSON/],
    ["NaN", bodyWith("amount", "NaN"), /not valid JSON/],
    ["Infinity", bodyWith("amount", "Infinity"), /not valid JSON/],
    ["a hexadecimal number", bodyWith("amount", "0x10"), /not valid JSON/],
    ["a number with a leading zero", bodyWith("amount", "0100"), /not valid JSON/],
    ["a number with a plus sign", bodyWith("amount", "+100"), /not valid JSON/],
    ["a form", "amount=100&country=CI", /not valid JSON/],
    ["a byte order mark", `\ufeff${JSON.stringify(aPayout())}`, /not valid JSON/],
    ["bytes that are not UTF-8", Buffer.from('{"a":"\xff"}', "latin1"), /in UTF-8/],
    ["an overlong encoding", Buffer.from([0x22, 0xc0, 0x80, 0x22]), /in UTF-8/],
    ["a surrogate in UTF-8", Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]), /in UTF-8/],
    ["UTF-16", Buffer.from(JSON.stringify(aPayout()), "utf16le"), /not valid JSON/],
    ["deeply nested brackets", "[".repeat(LIMIT), /./],
    ["null", "null", /must be a JSON object/],
    ["a list", "[{}]", /must be a JSON object/],
    ["a string", '"{}"', /must be a JSON object/],
    ["a number", "1", /must be a JSON object/],
    ["true", "true", /must be a JSON object/],
    ["a duplicate key", '{"amount":1,"country":"CI","amount":2}', /the key amount twice/],
    ["a duplicate key, once escaped", '{"amount":1,"\\u0061mount":2}', /the key amount twice/],
    ["a duplicate key, deeply nested", '{"a":[{"b":{"c":1,"c":2}}]}', /the key c twice/],
    ["a long duplicate key", `{"${"k".repeat(5_000)}":1,"${"k".repeat(5_000)}":2}`, /the key k{64}… twice/],
    ["fields only in the prototype", `{"__proto__":${JSON.stringify(aPayout())}}`, /reference is required/],
  ])("%s", async (_, body, message) => {
    const response = await post(body);
    expect(response.status).toBe(400);
    expect(response.body.message).toMatch(message);
    expect(response.body.message.length).toBeLessThan(400);
  });
});

describe("numbers", () => {
  test.each<[string, number, string]>([
    ["1.5", 400, "amount must be integer."],
    ["0.1", 400, "amount must be integer."],
    [
      "1.0000000000000000001",
      400,
      "The number 1.0000000000000000001 cannot be represented exactly. Send a whole number.",
    ],
    ["9007199254740990.5", 400, "The number 9007199254740990.5 cannot be represented exactly. Send a whole number."],
    ["1e-400", 400, "The number 1e-400 cannot be represented exactly. Send a whole number."],
    ['"100"', 400, "amount must be integer."],
    ["0", 422, "amount must be >= 1."],
    ["-0", 422, "amount must be >= 1."],
    ["-1", 422, "amount must be >= 1."],
    ["-1e400", 422, "amount must be >= 1."],
    ["9007199254740992", 422, "amount must be <= 9007199254740991."],
    ["9007199254740993", 422, "amount must be <= 9007199254740991."],
    ["1e400", 422, "amount must be <= 9007199254740991."],
    [`1${"0".repeat(1_000)}`, 422, "amount must be <= 9007199254740991."],
  ])("an amount of %s returns %i", async (literal, status, message) => {
    const response = await post(bodyWith("amount", literal));
    expect([response.status, response.body.message]).toEqual([status, message]);
  });

  test.each([
    ["1.0", 1],
    ["1e3", 1_000],
    ["1.5e1", 15],
    ["100E-2", 1],
    ["9007199254740991", Number.MAX_SAFE_INTEGER],
    ["9007199254740991.000", Number.MAX_SAFE_INTEGER],
    ["9.007199254740991e15", Number.MAX_SAFE_INTEGER],
    ["9007199254740989", 9_007_199_254_740_989],
  ])("an amount of %s is a whole number and returned exactly", async (literal, amount) => {
    const { status, body, text } = await post(bodyWith("amount", literal));
    expect([status, body.data.amount]).toEqual([200, amount]);
    expect(text).toContain(`"amount":${amount},`);
    const verified = await server.request("GET", `/v1/disbursements/${body.data.reference}`);
    expect(verified.body.data.amount).toBe(amount);
  });

  test.each(["1.0000000000000000001", "1e-400"])("%s returns 400 even in an unknown field", async (literal) => {
    expect((await post(bodyWith("unknown", literal))).status).toBe(400);
  });
});

describe("accepts unusual but valid JSON", () => {
  test.each([
    ["surrounding white space", () => `\r\n\t ${JSON.stringify(aPayout())} \n`],
    ["unknown fields (D21)", () => bodyWith("webhookUrl", '"ftp://nothing"')],
    ["deep nesting in an unknown field", () => bodyWith("deep", `${"[".repeat(500)}${"]".repeat(500)}`)],
    ["a duplicate key with the same value", () => bodyWith("amount", '100,"amount":100')],
    ["a field named __proto__", () => JSON.stringify(aPayout()).replace("{", '{"__proto__":{"amount":"x"},')],
    ["escapes", () => JSON.stringify(aPayout()).replaceAll("a", "\\u0061")],
  ])("%s", async (_, make) => {
    expect((await post(make())).status).toBe(200);
  });
});

describe("Content-Type", () => {
  test.each([
    "application/json",
    "application/json;charset=utf-8",
    "application/json; charset=UTF-8",
    'application/json; charset="utf-8"',
    "Application/JSON ; charset=utf8",
    "application/json; profile=x; charset=utf-8",
    "application/json;",
  ])("accepts %s", async (type) => {
    expect((await post(aPayout(), { "content-type": type })).status).toBe(200);
  });

  test.each([
    undefined,
    "",
    "text/plain",
    "text/json",
    "application/json5",
    "application/problem+json",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "application/json; charset=utf-16",
    "application/json; charset=iso-8859-1",
    "application/json, text/plain",
    "*/*",
    "json",
    ";",
  ])("returns 415 for %s", async (type) => {
    expect((await post(aPayout(), { "content-type": type })).status).toBe(415);
  });
});

describe("Content-Encoding", () => {
  test.each<[string, (text: string) => Uint8Array]>([
    ["gzip", gzipSync],
    ["deflate", deflateSync],
    ["br", brotliCompressSync],
    ["identity", (text) => Buffer.from(text)],
    ["GZIP", gzipSync],
  ])("decodes %s", async (encoding, encode) => {
    const body = encode(JSON.stringify(aPayout()));
    expect((await post(body, { "content-encoding": encoding })).status).toBe(200);
  });

  test("the size limit applies to the decompressed body", async () => {
    const bomb = gzipSync(" ".repeat(10_000_000));
    expect(bomb.length).toBeLessThan(LIMIT);
    expect((await post(bomb, { "content-encoding": "gzip" })).status).toBe(413);
  });

  test("returns 415 for an unknown encoding and 400 for a body that does not match its encoding", async () => {
    expect((await post(zstdCompressSync("{}"), { "content-encoding": "wat" })).status).toBe(415);
    expect((await post(aPayout(), { "content-encoding": "gzip, gzip" })).status).toBe(415);
    const broken = await post(aPayout(), { "content-encoding": "gzip" });
    expect([broken.status, broken.body.message]).toEqual([
      400,
      "The request body does not match its Content-Length or Content-Encoding.",
    ]);
  });
});

describe("size (D15)", () => {
  test.each([true, false])("accepts 16 KiB and returns 413 for one byte more (chunked: %s)", async (chunked) => {
    const [fits, exceeds] = [bodyOf(LIMIT), bodyOf(LIMIT + 1)];
    expect([Buffer.byteLength(fits), Buffer.byteLength(exceeds)]).toEqual([LIMIT, LIMIT + 1]);
    expect((await post(fits, {}, chunked)).status).toBe(200);
    const { status, body } = await post(exceeds, {}, chunked);
    expect([status, body.message]).toEqual([413, "The request body must not exceed 16384 bytes."]);
  });

  test("returns 413 for a much larger body and keeps accepting requests", async () => {
    expect((await post("x".repeat(5_000_000))).status).toBe(413);
    expect((await post(aPayout())).status).toBe(200);
  });

  test("reads a chunked body completely", async () => {
    const { status, body } = await post(bodyOf(5_001), {}, true);
    expect([status, body.data.status]).toEqual([200, "pending"]);
  });

  test("the limit applies to every path with a body", async () => {
    for (const path of ["/v1/checkouts", "/sandbox/clock/advance", "/sandbox/checkouts/x/finish"]) {
      expect.soft((await server.request("POST", path, { body: bodyOf(LIMIT + 1) })).status, path).toBe(413);
    }
  });
});

describe("the fast way to parse", () => {
  const texts = [
    "reference",
    "amount",
    "__proto__",
    "a",
    "",
    " ",
    "é",
    "\\\\",
    '\\"',
    "\\u0061",
    ":1e3",
    ", 1.5",
    "{",
    "]",
    "\ud800",
  ];
  const string = fc.array(fc.constantFrom(...texts), { maxLength: 3 }).map((parts) => `"${parts.join("")}"`);
  const literals = [
    "0",
    "-0",
    "1.0",
    "1e2",
    "1e400",
    "1.00000000000000000001",
    "9007199254740993",
    "01",
    "NaN",
    "9".repeat(400),
  ];
  const number = fc.oneof(fc.constantFrom(...literals), fc.double().map(String), fc.bigInt().map(String));
  const space = fc.constantFrom("", "", " ", "\n\t", "\u00a0");
  const { value } = fc.letrec<{ value: string }>((tie) => {
    const list = fc.array(fc.oneof({ maxDepth: 2 }, string, tie("value")), { maxLength: 3 });
    const pair = fc.tuple(space, string, space, fc.oneof({ maxDepth: 2 }, string, number, tie("value")), space);
    const pairs = fc.array(pair, { maxLength: 4 });
    return {
      value: fc.oneof(
        { maxDepth: 3 },
        {
          weight: 4,
          arbitrary: pairs.map((all) => `{${all.map(([a, k, b, v, c]) => `${a}${k}${b}:${b}${v}${c}`).join()}}`),
        },
        { weight: 1, arbitrary: list.map((items) => `[${items.join()}]`) },
        { weight: 1, arbitrary: fc.constantFrom("null", "true", "false", "", "{", '{"a":1}}', '{"a":1,}') },
      ),
    };
  });

  test("is taken by an ordinary body, and says what the exact way says or leaves it to it", () => {
    const ordinary = JSON.stringify(aPayout());
    expect(parsePlain(ordinary)).toStrictEqual(parseExactly(ordinary));
    let plain = 0;
    fc.assert(
      fc.property(value, (text) => {
        const parsed = parsePlain(text);
        if (parsed === undefined) return;
        plain++;
        expect(parsed).toStrictEqual(parseExactly(text));
      }),
      { numRuns: 3_000, seed: 7 },
    );
    expect(plain).toBeGreaterThan(200);
  });
});
