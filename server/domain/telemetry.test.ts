import { expect, test } from "vitest";
import { createTelemetry } from "./telemetry.ts";

const settled = { merchantId: "m", delayMs: 1 };

test("every subscriber of a name gets its events until it unsubscribes, and its errors harm no other and are told once", () => {
  const errors: unknown[] = [];
  const { emit, on } = createTelemetry((error) => errors.push(error));
  const got: unknown[] = [];
  on("settled", () => {
    throw new Error("broken");
  });
  const stop = on("settled", (event) => got.push(["first", event]));
  on("settled", (event) => got.push(["second", event]));
  on("commit", (event) => got.push(["other", event]));
  emit("settled", settled);
  stop();
  emit("settled", settled);
  expect(got).toEqual(["first", "second", "second"].map((name) => [name, settled]));
  expect(errors).toEqual([new Error("broken")]);
});
