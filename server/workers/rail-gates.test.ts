import { expect, test, vi } from "vitest";
import { createFakeClock } from "../testing/clock.ts";
import { createTestRail, railsOf } from "../testing/rail.ts";
import { createRailGates } from "./rail-gates.ts";

/** The gates of one rail, whose pauses are known. `fail` notes so many calls without a result. */
async function setUp() {
  const clock = createFakeClock();
  const warn = vi.fn<(about: object, message?: string) => void>();
  const gates = createRailGates({
    rails: railsOf(createTestRail()),
    storage: { readPauses: async () => [] },
    clock,
    log: { warn },
  });
  expect(gates.isOpen("test")).toBe(false);
  await gates.refresh();
  expect(gates.isOpen("test")).toBe(true);
  const fail = (count: number) => {
    for (let failed = 0; failed < count; failed += 1) gates.note("test", "failed", 0, "socket hang up");
  };
  /** The milliseconds until the rail may be asked, in steps of 250. */
  const pause = () => {
    let passed = 0;
    for (; !gates.isOpen("test"); passed += 250) clock.advance(250);
    return passed;
  };
  return { note: gates.note, fail, pause, logged: () => warn.mock.calls.map((call) => call.at(-1)) };
}

test("the delay that a rail asked for is kept, whatever calls in progress show and however many are held back", async () => {
  const { note, pause } = await setUp();
  note("test", "failed", 60_000);
  note("test", "answered");
  note("test", "held", 250);
  expect(pause()).toBe(60_000);
});

test("a broken rail is left alone for twice as long each time, however many calls fail meanwhile", async () => {
  const { fail, pause, note } = await setUp();
  fail(30);
  const pauses = [pause()];
  for (let failed = 0; failed < 7; failed += 1) {
    fail(3);
    pauses.push(pause());
  }
  expect(pauses).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
  note("test", "answered");
  fail(5);
  expect(pause()).toBe(1_000);
});

test("calls that the limit of requests holds back do not hide that a rail is broken", async () => {
  const { note, fail, pause } = await setUp();
  for (let failures = 0; failures < 5; failures += 1) {
    fail(1);
    note("test", "held", 250);
  }
  expect(pause()).toBe(1_000);
});

test("the log says when a rail's outage begins and ends", async () => {
  const { note, fail, logged } = await setUp();
  for (const failures of [4, 9]) {
    fail(failures);
    note("test", "answered");
    note("test", "answered");
  }
  expect(logged()).toEqual([
    "5 calls of a rail in a row had no result; its payments wait",
    "calls of a rail have results again",
  ]);
});
