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

test("a new record that is not found is read again for two seconds; once one is lost, no other is waited for", () => {
  const { clock, visibility } = after();
  clock.ms = 1999;
  expect(visibility.again(response(verify, 404), 19)).toBe(100);
  clock.ms = 2000;
  expect(visibility.again(response(verify, 404), 20)).toBeUndefined();
  visibility.created(response(create, 200, "DSB2"));
  expect(visibility.again(response({ ...verify, path: "/v1/disbursements/DSB2" }, 404), 0)).toBeUndefined();
});

test("another merchant's record is not waited for, and its absence is no loss", () => {
  const { visibility } = after();
  visibility.created(response({ ...create, key: "second" }, 200, "DSB2"));
  expect(visibility.again(response({ ...verify, path: "/v1/disbursements/DSB2" }, 404), 0)).toBeUndefined();
  expect(visibility.again(response(verify, 404), 0)).toBe(100);
});

test.each([{}, { readAfterWriteMs: 500 }])("a delay that the run did not know (%j) stops it", (declared) => {
  const { clock, limits, visibility } = after(declared);
  limits.freeze();
  clock.ms = 700;
  expect(visibility.again(response(verify, 200), 7)).toContain('"readAfterWriteMs: 1000" to certify.yaml');
});
