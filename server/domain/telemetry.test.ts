import { expect, test } from "vitest";
import { createTelemetry } from "./telemetry.ts";

const settled = { merchantId: "m", delayMs: 1 };

test("every subscriber of a name gets its events, until it unsubscribes", () => {
  const { emit, on } = createTelemetry((error) => expect.unreachable(String(error)));
  const got: unknown[] = [];
  const stop = on("settled", (event) => got.push(["first", event]));
  on("settled", (event) => got.push(["second", event]));
  on("commit", (event) => got.push(["other", event]));
  emit("settled", settled);
  stop();
  emit("settled", settled);
  expect(got).toEqual([
    ["first", settled],
    ["second", settled],
    ["second", settled],
  ]);
});

test("an error of a subscriber reaches neither the others nor the work that is reported, and is told once", () => {
  const errors: unknown[] = [];
  const { emit, on } = createTelemetry((error) => errors.push(error));
  let calls = 0;
  on("settled", () => {
    throw new Error("broken");
  });
  on("settled", () => (calls += 1));
  emit("settled", settled);
  emit("settled", settled);
  expect(calls).toBe(2);
  expect(errors).toEqual([new Error("broken")]);
});
