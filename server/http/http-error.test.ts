import { afterAll, beforeAll, describe, expect, test } from "vitest";
import document from "../../generated/openapi.json" with { type: "json" };
import { createKey } from "../domain/merchants.ts";
import { aCheckout, aPayout, startServer, type TestServer } from "../testing/server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.close());

type Options = Parameters<TestServer["request"]>[2];
const post = (path: string, options: Options) => server.request("POST", path, options);

/** A request for each code that a client can provoke. Other tests cover rate limits and a failing storage. */
const PROVOKED: Record<string, () => ReturnType<typeof post>> = {
  invalid_request: () => post("/v1/disbursements", { body: "{" }),
  unauthorized: () => post("/v1/disbursements", { key: null, body: aPayout() }),
  async key_not_permitted() {
    const key = await createKey(server.merchants, server.merchant.id, { scopes: ["read"] });
    return post("/v1/disbursements", { key, body: aPayout() });
  },
  async merchant_suspended() {
    const { merchant, key } = await server.addMerchant("Suspended");
    await server.storage.setMerchantState(merchant.id, "suspended", "command ada@host");
    return post("/v1/disbursements", { key, body: aPayout() });
  },
  async limit_exceeded() {
    const { merchant, key } = await server.addMerchant("Limited");
    await server.storage.setMerchantLimits(merchant.id, { countries: ["GH"] }, "command ada@host");
    return post("/v1/disbursements", { key, body: aPayout() });
  },
  not_found: () => server.request("GET", "/v1/disbursements/nothing"),
  unknown_path: () => server.request("GET", "/v2/disbursements"),
  method_not_allowed: () => server.request("DELETE", "/v1/disbursements"),
  async duplicate_reference() {
    const body = aPayout();
    await post("/v1/disbursements", { body });
    return post("/v1/disbursements", { body });
  },
  async checkout_final() {
    const { reference } = (await server.createCheckout()).body.data;
    const finish = () => post(`/sandbox/checkouts/${reference}/finish`, { body: { outcome: "success" } });
    await finish();
    return finish();
  },
  content_too_large: () => post("/v1/checkouts", { body: { ...aCheckout(), padding: "x".repeat(17_000) } }),
  unsupported_media_type: () => post("/v1/checkouts", { body: aCheckout(), headers: { "content-type": "text/plain" } }),
  invalid_value: () => post("/v1/checkouts", { body: { ...aCheckout(), amount: 0 } }),
  internal_error: () => post("/v1/disbursements", { body: aPayout({ phoneNumber: "2257038102500" }) }),
  unavailable: () => post("/v1/disbursements", { body: aPayout({ phoneNumber: "2257038102503" }) }),
};

/** The statuses in the table of error codes, which is in the contract's introduction. */
const STATUSES = new Map(
  document.info.description
    .split("\n")
    .flatMap((row) => [...row.matchAll(/^\| *`(\w+)` *\| *(\d+)/g)])
    .map(([, code, status]) => [code, Number(status)]),
);

test.each(Object.entries(PROVOKED))("%s has the status that the contract states", async (code, provoke) => {
  const { status, body } = await provoke();
  expect([body.code, status]).toEqual([code, STATUSES.get(code)]);
});

test("only the codes without a request here are missing from this table", () => {
  const { enum: codes } = document.components.schemas.ErrorCode;
  expect(codes.filter((code) => !(code in PROVOKED))).toEqual([
    "delivery_in_progress",
    "insufficient_funds",
    "not_served",
    "rate_limited",
  ]);
});

describe("fields (D46)", () => {
  test.each<[string, Record<string, unknown>, [path: string, code: string][]]>([
    ["a missing field", { amount: undefined }, [["amount", "required"]]],
    ["a wrong type", { amount: "100" }, [["amount", "type"]]],
    ["null", { country: null }, [["country", "type"]]],
    ["a pattern", { phoneNumber: "12" }, [["phoneNumber", "pattern"]]],
    ["a minimum", { amount: 0 }, [["amount", "minimum"]]],
    ["a maximum", { amount: 2 ** 53 }, [["amount", "maximum"]]],
    [
      "a text that is too long",
      { webhookURL: `https://m.example/${"x".repeat(2_048)}` },
      [["webhookURL", "max_length"]],
    ],
    [
      "several",
      { amount: 0, currency: "x", country: undefined },
      [
        ["amount", "minimum"],
        ["country", "required"],
        ["currency", "pattern"],
      ],
    ],
  ])("%s: %j", async (_, changes, expected) => {
    const { body } = await post("/v1/disbursements", { body: { ...aPayout(), ...changes } });
    const named = body.fields.map(({ path, code }: { path: string; code: string }) => [path, code]);
    expect(named.toSorted()).toEqual(expected);
    for (const { path, message } of body.fields) {
      expect(message).toMatch(new RegExp(`^${path} .+\\.$`));
      expect(body.message).toContain(message.slice(0, -1));
    }
  });

  test.each([undefined, "{", "[]", "1"])("an error about the whole body %j names no field", async (body) => {
    const response = await post("/v1/disbursements", { body });
    expect([response.status, response.body.fields]).toEqual([400, undefined]);
  });

  test.each<[object, number, [path: string, code: string][]]>([
    [
      {},
      400,
      [
        ["seconds", "one_of"],
        ["to", "one_of"],
      ],
    ],
    [
      { seconds: 1, to: "2026-11-20T09:30:00.000Z" },
      400,
      [
        ["seconds", "one_of"],
        ["to", "one_of"],
      ],
    ],
    [{ to: 1 }, 400, [["to", "type"]]],
    [{ seconds: -1 }, 422, [["seconds", "minimum"]]],
    [{ to: "tomorrow" }, 422, [["to", "pattern"]]],
    [{ to: "2026-02-30T00:00:00.000Z" }, 422, [["to", "format"]]],
    [{ to: "9999-12-31T00:00:00.001Z" }, 422, [["to", "maximum"]]],
  ])("advancing the clock by %j is refused with %i", async (body, status, expected) => {
    const response = await post("/sandbox/clock/advance", { body });
    const named = response.body.fields.map(({ path, code }: { path: string; code: string }) => [path, code]);
    expect([response.status, named]).toEqual([status, expected]);
  });
});
