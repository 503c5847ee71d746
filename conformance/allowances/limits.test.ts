import { describe, expect, test } from "vitest";
import type { TargetResponse } from "../target/exchange.ts";
import type { Declaration } from "./declaration.ts";
import type { Fields } from "./search.ts";
import { createLimits, isCleanRefusal, unknownLimit } from "./limits.ts";

const recipient = "2257038102473";
const own = { reference: "a", phoneNumber: recipient, country: "CI", currency: "XOF" };
const refusal = { statusCode: 422, error: "Too much" };

/** Returns what a target that refuses this create may limit, if only the limits in `known` were searched for. */
function unknown(json: Fields, known: (keyof Declaration)[] = [], over: object = {}, request: object = {}) {
  const limits = createLimits();
  for (const field of known) limits.search(field);
  const exchange = { responseBody: "{}" };
  const create = { method: "POST", path: "/v1/disbursements", effect: "moves-money", json: { ...own, ...json } };
  const response = { status: 422, json: refusal, exchange, request: { ...create, ...request }, ...over };
  return unknownLimit(limits, recipient, [response as unknown as TargetResponse]);
}

test.each<[json: Fields, line: string, known?: (keyof Declaration)[], request?: object]>([
  [{ amount: 90_000 }, "largestAmount: 1000000"],
  [{ reference: "a".repeat(41) }, "longestReference: 20"],
  [{ reference: "é" }, 'referenceCharacters: "A-Za-z0-9_-"'],
  [{ webhookURL: "http://a.example" }, "httpsWebhooks: true"],
  [{ amount: 90_000, currency: "KES" }, "largestByCurrency: { KES: 1000000 }", ["largestAmount"]],
  [{ reference: "支".repeat(20) }, "longestReferenceBytes: 40", ["longestReference"]],
  [{ reference: "-a" }, 'referenceEnds: "A-Za-z0-9"', ["longestReference"]],
  [
    {},
    "largestCheckout: 500000",
    ["largestAmount"],
    { path: "/v1/checkouts", json: { amount: 90_000, country: "CI", currency: "XOF" } },
  ],
])("a limit that nobody searched for is unknown: %j", (json, line, known = [], request = {}) => {
  expect(unknown(json, known, {}, request)).toContain(`"${line}" to certify.yaml`);
});

test("a refusal counts if the limit was searched for, or if every target must accept the value", () => {
  expect(unknown({ amount: 90_000 }, ["largestAmount"])).toBeUndefined();
  expect(unknown({ amount: 10_000 })).toBeUndefined();
});

test.each<[string, object, object?]>([
  ["without the fields of an error", { json: { oops: true } }],
  ["with another status", { status: 500, json: { statusCode: 500, error: "Oops" } }],
  ["that must be refused", {}, { effect: "must-be-rejected" }],
  ["that forces an outcome", {}, { forced: true }],
])("a refusal counts for a create %s", (_, over, request) => {
  expect(unknown({ amount: 90_000 }, [], over, request)).toBeUndefined();
});

describe("a clean refusal", () => {
  const fields = { statusCode: 422, error: "e" };
  test.each([
    ["422 with the fields of §7", "/v1/disbursements", 422, fields, true],
    ["400", "/v1/disbursements", 400, { ...fields, statusCode: 400 }, true],
    ["another statusCode", "/v1/disbursements", 422, { ...fields, statusCode: 400 }, false],
    ["a message that is no text", "/v1/disbursements", 422, { ...fields, message: 1 }, false],
    ["a duplicate reference", "/v1/disbursements", 409, { ...fields, statusCode: 409 }, false],
    ["an error of the server", "/v1/disbursements", 500, { ...fields, statusCode: 500 }, false],
    [
      "403 for a checkout, whose errors the interface leaves open",
      "/v1/checkouts",
      403,
      { statusCode: 403, error: "e" },
      true,
    ],
    ["a body that is not JSON", "/v1/disbursements", 422, undefined, false],
  ])("%s", (_, path, status, json, expected) => {
    expect(isCleanRefusal({ status, json, request: { path } } as unknown as TargetResponse)).toBe(expected);
  });
});
