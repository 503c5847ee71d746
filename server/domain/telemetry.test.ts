import { expect, test, describe } from "vitest";
import { createTelemetry, childOf, readTraceparent, traceparentOf } from "./telemetry.ts";

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

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN = "00f067aa0ba902b7";

describe("a traceparent", () => {
  test.each([
    [`00-${TRACE}-${SPAN}-01`, "01"],
    [`00-${TRACE}-${SPAN}-00`, "00"],
    [`00-${TRACE}-${SPAN}-03`, "03"],
    [`00-${TRACE}-${SPAN}-ff`, "03"],
    [`01-${TRACE}-${SPAN}-01`, "01"],
    [`cc-${TRACE}-${SPAN}-01-what-the-future-brings`, "01"],
  ])("%s is read", (header, flags) => {
    expect(readTraceparent(header)).toEqual({ traceId: TRACE, spanId: SPAN, flags });
  });

  test.each([
    undefined,
    "",
    `00-${TRACE}-${SPAN}`,
    `00-${TRACE}-${SPAN}-01-`,
    `00-${TRACE}-${SPAN}-01-more`,
    `cc-${TRACE}-${SPAN}-01.more`,
    `ff-${TRACE}-${SPAN}-01`,
    `0-${TRACE}-${SPAN}-01`,
    `00-${TRACE.toUpperCase()}-${SPAN}-01`,
    `00-${"0".repeat(32)}-${SPAN}-01`,
    `00-${TRACE}-${"0".repeat(16)}-01`,
    `00-${TRACE.slice(1)}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}g-01`,
    ` 00-${TRACE}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}-01, 00-${TRACE}-${SPAN}-01`,
  ])("%j is ignored", (header) => {
    expect(readTraceparent(header)).toBeUndefined();
  });
});

test("a child has the trace of its parent, and is a new piece of work", () => {
  const parent = readTraceparent(`00-${TRACE}-${SPAN}-01`)!;
  const child = childOf(parent, "b7ad6b7169203331");
  expect(child).toEqual({ traceId: TRACE, spanId: "b7ad6b7169203331", parentId: SPAN, flags: "01" });
  expect(traceparentOf(child)).toBe(`00-${TRACE}-b7ad6b7169203331-01`);
});
