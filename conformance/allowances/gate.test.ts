import { describe, expect, test } from "vitest";
import type { TargetRequest, TargetResponse } from "../target/exchange.ts";
import type { Target } from "../target/target.ts";
import { isCleanRefusal, withLimits } from "./gate.ts";
import { createLimits } from "./limits.ts";

const refusal = { statusCode: 422, error: "Too much" };

/** Sends a request to a target that refuses everything, through a gate that knows one limit. */
async function limitOf(request: Partial<TargetRequest>, json: object = refusal): Promise<string | undefined> {
  const send = async (sent: TargetRequest) => ({ status: 422, json, request: sent }) as unknown as TargetResponse;
  const clock = { now: () => new Date(0), sleep: async () => {} };
  const gated = withLimits({ send } as unknown as Target, createLimits({ largestAmount: 50_000 }), clock);
  const create = {
    method: "POST",
    path: "/v1/disbursements",
    effect: "moves-money",
    json: { amount: 90_000 },
  } as const;
  return (await gated.send({ ...create, ...request })).limit;
}

test("a refused create names the limit that it exceeds", async () => {
  expect(await limitOf({})).toBe("amounts above 50000");
  expect(await limitOf({ path: "/v1/checkouts" })).toBe("amounts above 50000");
});

test.each<[string, Partial<TargetRequest>, object?]>([
  ["inside the limit", { json: { amount: 50_000 } }],
  ["without the fields of an error", {}, { oops: true }],
  ["with another merchant's key", { key: "second" }],
  ["that must be refused", { effect: "must-be-rejected" }],
  ["with a body as text", { body: "{}", json: undefined }],
  ["that forces an outcome", { forced: true }],
])("a refused create %s names none", async (_, over, json) => {
  expect(await limitOf(over, json)).toBeUndefined();
});

describe("a clean refusal", () => {
  const fields = { statusCode: 422, error: "e" };
  test.each([
    ["422 with the fields of §7", "/v1/disbursements", 422, fields, true],
    ["400", "/v1/disbursements", 400, { ...fields, statusCode: 400 }, true],
    ["another statusCode", "/v1/disbursements", 422, { ...fields, statusCode: 400 }, false],
    ["no error", "/v1/disbursements", 422, { statusCode: 422 }, false],
    ["a message that is no text", "/v1/disbursements", 422, { ...fields, message: 1 }, false],
    ["a duplicate reference", "/v1/disbursements", 409, { ...fields, statusCode: 409 }, false],
    ["a missing key", "/v1/disbursements", 401, { ...fields, statusCode: 401 }, false],
    ["an error of the server", "/v1/disbursements", 500, { ...fields, statusCode: 500 }, false],
    [
      "403 for a checkout, whose errors the interface leaves open",
      "/v1/checkouts",
      403,
      { statusCode: 403, error: "e" },
      true,
    ],
    ["404 for a checkout", "/v1/checkouts", 404, { ...fields, statusCode: 404 }, false],
    ["a body that is not JSON", "/v1/disbursements", 422, undefined, false],
  ])("%s", (_, path, status, json, expected) => {
    expect(isCleanRefusal({ status, json, request: { path } } as unknown as TargetResponse)).toBe(expected);
  });
});
