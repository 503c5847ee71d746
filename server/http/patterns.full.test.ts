import * as fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import document from "../../generated/openapi.json" with { type: "json" };
import { aCheckout, aPayout, startServer, type TestServer } from "../testing/server.ts";

const { MerchantReference, WebURL, PhoneNumber, Country, Currency } = document.components.schemas;

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.close());

const host = (name: string) => `https://${name}/`;
const longUrl = (length: number) => host("merchant.example").padEnd(length, "x");

const REFERENCES = {
  accepted: [
    "a",
    " ",
    "x".repeat(64),
    "🧵".repeat(64),
    "Été/№1?#%",
    "e\u0301",
    "\u007e\u00a0",
    "\u200b\u2028\ufeff",
    "\ud7ff\ue000\uffff",
    "\u{10000}\u{10ffff}",
    "p{Cc}",
  ],
  refused: [
    "",
    "x".repeat(65),
    "🧵".repeat(65),
    "\0",
    "a\tb",
    "a\n",
    "\u001f",
    "\u007f",
    "\u0080",
    "\u009f",
    "\ud800",
    "\udfff",
    "a\ud83e",
    "\udc00\ud800",
    "\ud83e\ud83e\uddf5",
    "🧵\uddf5",
  ],
};

const URLS = {
  accepted: [
    host("merchant.example"),
    "https://merchant.example",
    "HTTPS://Merchant.Example/Hook",
    "https://merchant.example?a=b",
    "https://merchant.example#a",
    "http://merchant.example:8080/a;b=c/?d=%C3%A9&e=@/?#f/?",
    "http://merchant.example:0065/~!$&'()*+,;=:@",
    "http://merchant.example:65535",
    host("merchant.example."),
    host("localhost"),
    host("x"),
    host("x1"),
    host("my_service-1"),
    host("3f2a9c1b2d4e"),
    host("12x"),
    host("00x1"),
    host("1.example"),
    host("xn--mrchant-bya.example"),
    host("127.0.0.1"),
    host("255.249.199.99"),
    host("[::]"),
    host("[::1]"),
    host("[2001:db8::1]"),
    host("[2001:DB8:1:2:3:4:5::]"),
    host("[1:2:3:4:5:6:7:8]"),
    "http://[::1]:3000/hook",
  ],
  refused: [
    "",
    "merchant.example",
    "ftp://merchant.example/",
    "javascript:alert(1)",
    "https://",
    "https:///hook",
    "https://ada@merchant.example/",
    "https://ada:secret@merchant.example/",
    "https://@merchant.example/",
    "https://merchant.example/a b",
    "https://merchant.example/\n",
    "https://merchant.example/\0",
    "https://merchant.example/\u0085",
    "https://merchant.example/é",
    "https://merchant.example/\ud800",
    "https://merchant.example/%zz",
    "https://merchant.example/%4",
    'https://merchant.example/"',
    "https://merchant.example/a\\b",
    "https://merchant.example/[a]",
    "https://merchant.example/#a#b",
    "https://merchant.example:65536/",
    "https://merchant.example:x/",
    "https://merchant.example:/",
    host("mérchant.example"),
    host("merchant..example"),
    host(".example"),
    host("%6derchant.example"),
    host("merchant.1"),
    host("127.1"),
    host("2130706433"),
    host("0x7f000001"),
    host("127.0.0.256"),
    host("127.0.0.01"),
    host("[1:2:3:4:5:6:7]"),
    host("[1:2:3:4:5:6:7:8:9]"),
    host("[1::2::3]"),
    host("[:::1]"),
    host("[12345::]"),
    host("[::1%25lo]"),
    "http://[::1",
  ],
};

const FIELDS = [
  ["/v1/disbursements", "reference", MerchantReference, REFERENCES],
  ["/v1/checkouts", "reference", MerchantReference, REFERENCES],
  ["/v1/disbursements", "webhookURL", WebURL, URLS],
  ["/v1/checkouts", "webhookURL", WebURL, URLS],
  ["/v1/checkouts", "redirectURL", WebURL, URLS],
] as const;

/** Without the `u` flag a pattern matches UTF-16 code units; with it, code points. */
const FLAGS = ["", "u"];

type Request = { reference?: string; phoneNumber?: string };

/** The fields of a request in the form in which verify returns them. */
function recordOf(request: Request, reference: string) {
  const { phoneNumber, ...kept } = request;
  const customer = phoneNumber === undefined ? {} : { customer: { phoneNumber } };
  return { ...kept, ...customer, reference, merchantsReference: request.reference ?? reference };
}

const valid = { "/v1/disbursements": aPayout, "/v1/checkouts": aCheckout };

describe.each(FIELDS)("%s, %s", (path, field, { pattern }, { accepted, refused }) => {
  const statusOf = async (value: string) =>
    (await server.request("POST", path, { body: { ...valid[path](), [field]: value } })).status;
  const statuses = (values: readonly string[]) =>
    Promise.all(values.map(async (value) => [value, await statusOf(value)]));

  test.each(FLAGS)("the pattern accepts exactly the valid values with the flags %j", (flags) => {
    const regExp = new RegExp(pattern, flags);
    expect(accepted.filter((value) => !regExp.test(value))).toEqual([]);
    expect(refused.filter((value) => regExp.test(value))).toEqual([]);
  });

  test("the server accepts valid values and returns 422 for invalid ones", async () => {
    expect(await statuses(accepted)).toEqual(accepted.map((value) => [value, 200]));
    expect(await statuses(refused)).toEqual(refused.map((value) => [value, 422]));
  });
});

test("a URL of 2048 characters is accepted, a longer one returns 422", async () => {
  expect((await server.createPayout({ webhookURL: longUrl(2_048) })).status).toBe(200);
  expect((await server.createPayout({ webhookURL: longUrl(2_049) })).status).toBe(422);
});

/** Final digits that force an error, or an immediate webhook to the generated URL. */
const FORCED_OUTCOME = /(001|002|408|500|503|504)$/;

describe.each(FLAGS)("values generated from the patterns with the flags %j", (flags) => {
  const matching = (pattern: string, maxLength = Infinity) =>
    fc.stringMatching(new RegExp(pattern, flags)).filter((value) => value.length <= maxLength);
  const url = matching(WebURL.pattern, WebURL.maxLength);
  const common = {
    country: matching(Country.pattern),
    currency: matching(Currency.pattern),
    amount: fc.integer({ min: 1 }),
  };
  const disbursement = fc.record(
    {
      ...common,
      reference: matching(MerchantReference.pattern),
      phoneNumber: matching(PhoneNumber.pattern).filter((digits) => !FORCED_OUTCOME.test(digits)),
      webhookURL: url,
    },
    { requiredKeys: ["country", "currency", "amount", "reference", "phoneNumber"] },
  );
  const checkout = fc.record(
    { ...common, reference: matching(MerchantReference.pattern), webhookURL: url, redirectURL: url },
    { requiredKeys: ["country", "currency", "amount"] },
  );

  test.each([
    ["/v1/disbursements", disbursement],
    ["/v1/checkouts", checkout],
  ] as const)("are accepted by POST %s and stored as sent", async (path, requests) => {
    const { key } = await server.addMerchant("Generated");
    const samples = fc.sample<Request>(requests, { seed: 1, numRuns: 200 });
    // Generated references may repeat; keep one request for each.
    const unique = new Map(samples.map((sample) => [sample.reference ?? sample, sample])).values();
    for (const sent of unique) {
      const { status, body } = await server.request("POST", path, { key, body: sent });
      expect.soft([status, body.message]).toEqual([200, undefined]);
      const { data } = (await server.request("GET", `${path}/${body.data.reference}`, { key })).body;
      expect.soft(data).toMatchObject(recordOf(sent, data.reference));
    }
  });
});
