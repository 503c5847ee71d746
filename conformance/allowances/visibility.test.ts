import { expect, test } from "vitest";
import type { Declaration } from "./declaration.ts";
import type { TargetRequest, TargetResponse } from "../target/exchange.ts";
import { createLimits } from "./limits.ts";
import { createVisibility } from "./visibility.ts";

const verify: TargetRequest = { method: "GET", path: "/v1/disbursements/DSB%201" };
const create: TargetRequest = { method: "POST", path: "/v1/disbursements", effect: "moves-money" };

const response = (request: TargetRequest, status: number, reference = "DSB 1") =>
  ({ request, status, json: { data: { reference } } }) as unknown as TargetResponse;

/** Returns the visibility of a target on which a create got this status at the time 0. */
function after(declared = {}, status = 200) {
  const clock = { ms: 0 };
  const limits = createLimits(declared);
  const visibility = createVisibility(limits, () => new Date(clock.ms));
  visibility.created(response(create, status));
  return { clock, limits, visibility };
}

test("a new record that is not found is read again, for at most two seconds", () => {
  const { clock, visibility } = after();
  expect(visibility.again(response(verify, 404), 0)).toBe(100);
  clock.ms = 1999;
  expect(visibility.again(response(verify, 404), 19)).toBe(100);
  clock.ms = 2000;
  expect(visibility.again(response(verify, 404), 20)).toBeUndefined();
});

test.each<[string, Declaration]>([
  ["after the search", {}],
  ["although another delay is declared", { readAfterWriteMs: 500 }],
])("a delay that is met %s stops the run, with the line to add", (_, declared) => {
  const { clock, limits, visibility } = after(declared);
  limits.freeze();
  clock.ms = 700;
  expect(visibility.again(response(verify, 200), 7)).toContain('"readAfterWriteMs: 1000" to certify.yaml');
  expect(limits.found).toEqual({});
});

test("a list waits until the last record can be read, and so does a checkout", () => {
  const { clock, visibility } = after({ readAfterWriteMs: 500 });
  clock.ms = 100;
  visibility.created(response({ ...create, path: "/v1/checkouts" }, 201, "CHK1"));
  for (const path of ["/v1/disbursements?limit=2", "/v1/checkouts", "/v1/checkouts/CHK1"])
    expect(visibility.before({ method: "GET", path })).toBe(500);
  expect(visibility.before(verify)).toBe(400);
});

test("once a record has been lost, no other is waited for", () => {
  const { clock, visibility } = after();
  clock.ms = 2000;
  visibility.again(response(verify, 404), 20);
  visibility.created(response(create, 200, "DSB2"));
  const other = { ...verify, path: "/v1/disbursements/DSB2" };
  expect(visibility.again(response(other, 404), 0)).toBeUndefined();
});

test.each<[string, Partial<TargetRequest>, number?]>([
  ["with another key", { key: "second" }],
  ["without a key", { key: "none" }],
  ["of another reference", { path: "/v1/disbursements/DSB2" }],
  ["with a query", { path: "/v1/disbursements/DSB%201?x=1" }],
  ["with HEAD", { method: "HEAD" }],
  ["of what a refused create named", {}, 422],
])("a read %s never waits", (_, over, status = 200) => {
  const { visibility } = after({ readAfterWriteMs: 500 }, status);
  const request = { ...verify, ...over };
  expect([visibility.before(request), visibility.again(response(request, 404), 0)]).toEqual([0, undefined]);
});
