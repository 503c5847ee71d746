import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { aCheckout, aPayout, startServer, type TestServer } from "../testing/server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.close());

const shown = (value: unknown) => JSON.stringify(value).slice(0, 80);
const emoji = (count: number) => "🧵".repeat(count);
const urlOf = (length: number) => `https://merchant.example/${"x".repeat(length - 25)}`;

const WRONG_TYPES = [null, true, 1.5, ["x"], { x: 1 }];
const NOT_STRINGS = [...WRONG_TYPES, 1];
const NOT_NUMBERS = [...WRONG_TYPES, "100", ""];

const REFERENCES_REFUSED = ["", emoji(65), "x".repeat(65), "a\0b", "a\nb", "\u007f", "\u0085", "\ud800", "\udc00x"];
const URLS_REFUSED = [
  "",
  "merchant.example/hook",
  "//merchant.example/hook",
  "/hook",
  "ftp://merchant.example/",
  "javascript:alert(1)",
  "data:text/html,x",
  "file:///etc/passwd",
  "mailto:ada@merchant.example",
  "http:",
  "http://",
  "http:///hook",
  "https://?",
  "http:merchant.example",
  "https://ada:secret@merchant.example/",
  "https://ada@merchant.example/",
  "https://@merchant.example/",
  "https://merchant.example@evil.example/",
  "https://merchant .example/",
  " https://merchant.example/",
  "https://merchant.example/ ",
  "https://merchant.example/a b",
  "https://merchant.example/\n",
  "https://merchant.example/é",
  "https://merchant.example/%zz",
  "https://merchant.example:99999/",
  "https://merchant.example:x/",
  "http://[::1",
  "http://[:::1]/",
  "http://%/",
  urlOf(2_049),
];
const URLS_ACCEPTED = [
  "https://merchant.example",
  "HTTPS://Merchant.Example/Hook",
  "http://merchant.example:8080/a;b=c/?d=%C3%A9&e=@#f",
  "http://127.0.0.1:9/",
  "http://[2001:db8::1]/hook",
  "https://merchant.example/user@host:/x",
  "https://xn--mrchant-bya.example/",
  "http://localhost/",
  urlOf(2_048),
];
const CODES = {
  country: ["ci", "C", "CIV", "C1", "C ", "ÇI", "", "CI\n"],
  currency: ["xof", "XO", "XOFF", "X0F", "€UR", ""],
};

interface Field {
  required: boolean;
  /** Values of the wrong type, which are refused with 400. */
  mistyped: unknown[];
  /** Values of the right type that are out of range, which are refused with 422. */
  refused: unknown[];
  accepted: unknown[];
}
const reference: Field = {
  required: true,
  mistyped: NOT_STRINGS,
  refused: REFERENCES_REFUSED,
  accepted: [emoji(64), "x".repeat(63), " ", " spaces kept  ", "Été/№1?#%", "<script>", "\u00a0", "e\u0301", "\u200b"],
};
const amount: Field = { required: true, mistyped: NOT_NUMBERS, refused: [0, -1, 2 ** 53], accepted: [1, 2 ** 53 - 1] };
const country: Field = { required: true, mistyped: NOT_STRINGS, refused: CODES.country, accepted: ["CI", "ZZ"] };
const currency: Field = { required: true, mistyped: NOT_STRINGS, refused: CODES.currency, accepted: ["XOF", "ZZZ"] };
const url: Field = { required: false, mistyped: NOT_STRINGS, refused: URLS_REFUSED, accepted: URLS_ACCEPTED };

const payout: Record<string, Field> = {
  reference,
  amount,
  phoneNumber: {
    required: true,
    mistyped: [...NOT_STRINGS, 2_257_038_102_473],
    refused: [
      "",
      "225703810",
      "2257038102473000",
      "+2257038102473",
      "22570 38102",
      "225703810a",
      "٢٢٥٧٠٣٨١٠٢",
      "2257038102\n",
    ],
    accepted: ["2257038102", "225703810247300", "0000000000"],
  },
  country,
  currency,
  webhookURL: url,
};
const checkout: Record<string, Field> = {
  amount,
  country,
  currency,
  webhookURL: url,
  redirectURL: url,
  reference: { ...reference, required: false },
  locale: { required: false, mistyped: NOT_STRINGS, refused: ["", "EN", "de", "fr-CI"], accepted: ["en", "fr"] },
};

describe.each([
  ["/v1/disbursements", payout, aPayout],
  ["/v1/checkouts", checkout, aCheckout],
] as const)("%s", (path, fields, valid) => {
  const post = (changes: Record<string, unknown>) => server.request("POST", path, { body: { ...valid(), ...changes } });

  test.each(Object.entries(fields))(
    "%s: returns 400 for a wrong type and names the field",
    async (name, { mistyped }) => {
      for (const value of mistyped) {
        const { status, body } = await post({ [name]: value });
        expect
          .soft([status, body.message], shown(value))
          .toEqual([400, expect.stringMatching(`^${name} must be \\w+\\.$`)]);
      }
    },
  );

  test.each(Object.entries(fields))(
    "%s: returns 422 for a value out of range and names the field",
    async (name, field) => {
      for (const value of field.refused) {
        const { status, body } = await post({ [name]: value });
        expect.soft([status, body.message], shown(value)).toEqual([422, expect.stringMatching(`^${name} must `)]);
      }
    },
  );

  test.each(Object.entries(fields))("%s: accepts valid values", async (name, { accepted }) => {
    for (const value of accepted) expect.soft((await post({ [name]: value })).status, shown(value)).toBe(200);
  });

  test.each(Object.entries(fields))("%s: returns 400 if it is required and missing", async (name, { required }) => {
    const { status, body } = await post({ [name]: undefined });
    expect([status, body.message]).toEqual(required ? [400, `${name} is required.`] : [200, undefined]);
  });

  test("the message names every invalid field; form errors come before value errors (D1, D2)", async () => {
    const required = Object.keys(fields).filter((name) => fields[name]!.required);
    const nothing = await server.request("POST", path, { body: {} });
    expect(nothing.status).toBe(400);
    for (const name of required) expect.soft(nothing.body.message).toContain(`${name} is required`);

    const mixed = await post({ amount: "x", currency: "x", country: undefined });
    expect(mixed.status).toBe(400);
    for (const name of ["amount must", "currency must", "country is"]) expect.soft(mixed.body.message).toContain(name);

    const values = await post({ amount: 0, currency: "x", country: "x", webhookURL: "x" });
    expect(values.status).toBe(422);
    for (const name of ["amount", "currency", "country", "webhookURL"])
      expect.soft(values.body.message).toContain(name);
  });
});

describe("/sandbox", () => {
  test.each<[string, unknown, number]>([
    ["/sandbox/clock/advance", {}, 400],
    ["/sandbox/clock/advance", { seconds: "1" }, 400],
    ["/sandbox/clock/advance", { seconds: 1.5 }, 400],
    ["/sandbox/clock/advance", { seconds: null }, 400],
    ["/sandbox/clock/advance", { seconds: -1 }, 422],
    ["/sandbox/clock/advance", { seconds: 31_536_001 }, 422],
    ["/sandbox/checkouts/nothing/finish", {}, 400],
    ["/sandbox/checkouts/nothing/finish", { outcome: 1 }, 400],
    ["/sandbox/checkouts/nothing/finish", { outcome: "pending" }, 422],
    ["/sandbox/checkouts/nothing/finish", { outcome: "success" }, 404],
    ["/sandbox/deliveries/nothing/replay", undefined, 404],
  ])("POST %s %j returns %i", async (path, body, status) => {
    expect((await server.request("POST", path, { body })).status).toBe(status);
  });

  test.each([
    ["events?limit=abc", 400],
    ["events?limit=", 400],
    ["events?limit=1.5", 400],
    ["events?limit=1:5", 400],
    ["events?limit=%zz", 400],
    ["events?limit=1&limit=2", 400],
    ["events?reference=a&reference=b", 400],
    ["events?limit=0", 422],
    ["events?limit=-1", 422],
    ["events?limit=101", 422],
    ["events?limit=99999999999999999999", 422],
    ["deliveries?status=lost", 422],
    ["deliveries?status=", 422],
    ["events?limit=100", 200],
    ["events?reference=a:b/c@d", 200],
    ["events?limit=1&cursor=nothing", 422],
    ["events?limit=1&reference=%00", 200],
    ["deliveries?status=exhausted&unknown=1", 200],
  ])("GET /sandbox/%s returns %i", async (query, status) => {
    expect((await server.request("GET", `/sandbox/${query}`)).status).toBe(status);
  });

  test("the message for a reserved character in a query says to escape it", async () => {
    const { body } = await server.request("GET", "/sandbox/events?limit=1:5");
    expect(body.message).toBe("limit must be percent-encoded.");
  });
});
