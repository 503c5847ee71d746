import { expect, test } from "vitest";
import type { TargetRequest, TargetResponse } from "../target/exchange.ts";
import { createLimits } from "./limits.ts";
import { createVisibility } from "./visibility.ts";

const verify: TargetRequest = { method: "GET", path: "/v1/disbursements/DSB%201" };
const create: TargetRequest = { method: "POST", path: "/v1/disbursements", effect: "moves-money" };

const response = (request: TargetRequest, status: number, reference = "DSB 1") =>
  ({ request, status, json: { data: { reference } } }) as unknown as TargetResponse;

/** Returns the visibility of a target on which a payout was created at the time 0. */
function after(declared = {}) {
  const clock = { ms: 0 };
  const limits = createLimits(declared);
  const visibility = createVisibility(limits, () => new Date(clock.ms));
  visibility.created(response(create, 200));
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

test("a delay that was met is recorded, and awaited from then on", () => {
  const { clock, limits, visibility } = after();
  clock.ms = 700;
  expect(visibility.again(response(verify, 200), 7)).toBeUndefined();
  expect(limits.found).toEqual({ readAfterWriteMs: 1000 });
  visibility.created(response(create, 200, "DSB2"));
  clock.ms = 800;
  expect(visibility.before({ ...verify, path: "/v1/disbursements/DSB2" })).toBe(900);
});

test("a record that is found immediately shows no delay", () => {
  const { limits, visibility } = after();
  expect(visibility.again(response(verify, 200), 0)).toBeUndefined();
  expect(limits.found).toEqual({});
});

test("a record that was found once and is then missing is not read again", () => {
  const { visibility } = after();
  visibility.again(response(verify, 200), 0);
  expect(visibility.again(response(verify, 404), 0)).toBeUndefined();
});

test("once a record has been lost, no other is waited for", () => {
  const { clock, visibility } = after();
  clock.ms = 2000;
  visibility.again(response(verify, 404), 20);
  visibility.created(response(create, 200, "DSB2"));
  const other = { ...verify, path: "/v1/disbursements/DSB2" };
  expect(visibility.again(response(other, 404), 0)).toBeUndefined();
});

test("a declared delay is awaited before the first read only", () => {
  const { clock, visibility } = after({ readAfterWriteMs: 500 });
  clock.ms = 200;
  expect(visibility.before(verify)).toBe(300);
  visibility.again(response(verify, 200), 0);
  expect(visibility.before(verify)).toBe(0);
});

test.each([
  ["with another key", { key: "second" }],
  ["without a key", { key: "none" }],
  ["of another reference", { path: "/v1/disbursements/DSB2" }],
  ["with a query", { path: "/v1/disbursements/DSB%201?x=1" }],
  ["with HEAD", { method: "HEAD" }],
] as const)("a read %s never waits", (_, over) => {
  const { visibility } = after({ readAfterWriteMs: 500 });
  const request = { ...verify, ...over };
  expect([visibility.before(request), visibility.again(response(request, 404), 0)]).toEqual([0, undefined]);
});

test("nothing is awaited after a create that was refused", () => {
  const visibility = createVisibility(createLimits({ readAfterWriteMs: 500 }), () => new Date(0));
  visibility.created(response(create, 422));
  expect(visibility.before(verify)).toBe(0);
});
