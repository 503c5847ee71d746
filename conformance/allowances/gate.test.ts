import { describe, expect, test } from "vitest";
import type { RunOptions } from "../run-options.ts";
import { createBudget } from "../target/budget.ts";
import type { TargetResponse } from "../target/exchange.ts";
import type { HttpClient } from "../target/http.ts";
import { createRedactor } from "../target/redact.ts";
import { createTarget } from "../target/target.ts";
import { isCleanRefusal, withLimits } from "./gate.ts";
import { createLimits } from "./limits.ts";

type Fields = Record<string, unknown>;
const recipient = "2257038102473";

/**
 * Returns a gate to a target that refuses what matches, and everything that the target received.
 * @param refuses returns true for a refusal with 422, or another status
 */
function gate(refuses: (fields: Fields) => boolean | number, refusal: Fields = { statusCode: 422, error: "Too much" }) {
  const received: Fields[] = [];
  const http: HttpClient = {
    async send({ body = Buffer.from("{}") }) {
      const fields = JSON.parse(body.toString()) as Fields;
      received.push(fields);
      const isRefused = refuses(fields);
      const reply = isRefused ? refusal : { statusCode: 200, data: { reference: `S${received.length}` } };
      const status = typeof isRefused === "number" ? isRefused : isRefused ? 422 : 200;
      return { status, headers: {}, body: Buffer.from(JSON.stringify(reply)) };
    },
    close() {},
  };
  const options = { baseUrl: "http://127.0.0.1:1", key: "k", headers: {}, timeoutMs: 1000, effects: "money" } as const;
  const clock = { now: () => new Date(0), sleep: async () => {} };
  const budget = createBudget(500, 1e9);
  const target = createTarget(options, { http, budget, redact: createRedactor([], []), ...clock });
  const limits = createLimits();
  const [met, searches]: [string[], number[]] = [[], []];
  let count = 0;
  const gated = withLimits(target, limits, { recipient, seed: 1, loopback: true } as RunOptions, {
    ...clock,
    fresh: () => `c0123456789-${(count += 1)}`,
    onLimit: (limit) => void met.push(limit),
    onSearch: () => void searches.push(received.length),
  });
  return { gated, limits, met, searches, received };
}

const usual = { reference: "c0123456789-x", amount: 100, phoneNumber: recipient, country: "CI", currency: "XOF" };
const create = (over: Fields = {}) =>
  ({ method: "POST", path: "/v1/disbursements", effect: "moves-money", json: { ...usual, ...over } }) as const;

describe("a create that the target refuses", () => {
  test("because of its amount leads to a search for the largest one, and the response names the limit", async () => {
    const { gated, limits, met } = gate(({ amount }) => Number(amount) > 50_000);
    const response = await gated.send(create({ amount: 90_000 }));
    expect(limits.found).toEqual({ largestAmount: 50_000 });
    expect([response.status, response.limit]).toEqual([422, "amounts above 50000"]);
    expect(met).toEqual(["amounts above 50000"]);
  });

  test("leads to one search only: a known limit is named immediately", async () => {
    const { gated, searches, received } = gate(({ amount }) => Number(amount) > 50_000);
    await gated.send(create({ amount: 90_000 }));
    const before = received.length;
    const { limit } = await gated.send(create({ reference: "c0123456789-y", amount: 80_000 }));
    expect([limit, searches.length, received.length]).toEqual(["amounts above 50000", 1, before + 1]);
  });

  test("has no limit if its reference cannot be used afterwards, because the refusal used it up", async () => {
    const used = new Set<unknown>();
    const { gated, limits } = gate(({ reference, amount }) => {
      if (used.has(reference)) return 409;
      used.add(reference);
      return Number(amount) > 50_000;
    });
    const { limit } = await gated.send(create({ amount: 90_000 }));
    expect([limit, limits.found]).toEqual([undefined, {}]);
  });

  test("without the fields of an error has no limit, and no search follows", async () => {
    const { gated, searches } = gate(({ amount }) => Number(amount) > 50_000, { oops: true });
    expect((await gated.send(create({ amount: 90_000 }))).limit).toBeUndefined();
    expect(searches).toEqual([]);
  });

  test("for no reason that can be found is searched for at most twelve times", async () => {
    const { gated, searches } = gate(() => true);
    for (let index = 0; index < 20; index += 1) await gated.send(create({ reference: `c0123456789-r${index}` }));
    expect(searches).toHaveLength(12);
  });

  test.each([
    ["with another merchant's key", { key: "second" }],
    ["that must be refused", { effect: "must-be-rejected" }],
    ["with a body as text", { body: "{}", json: undefined }],
    ["that forces an outcome", { forced: true }],
  ] as const)("%s is no reason for a search", async (_, over) => {
    const { gated, searches } = gate(() => true);
    expect((await gated.send({ ...create(), ...over })).limit).toBeUndefined();
    expect(searches).toEqual([]);
  });
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
