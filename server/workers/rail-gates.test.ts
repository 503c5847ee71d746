import { pino } from "pino";
import { expect, test } from "vitest";
import { createTestRail, railsOf } from "../testing/rail.ts";
import { createRailGates } from "./rail-gates.ts";

async function gates() {
  let now = 0;
  const storage = { readPauses: async () => [] };
  const logged: string[] = [];
  const write = (line: string) => {
    const { rail, msg, detail } = JSON.parse(line);
    logged.push(`${rail}: ${msg}${detail ? ` (${detail})` : ""}`);
  };
  const log = pino({}, { write });
  const clock = { monotonic: () => now };
  const gate = createRailGates({ rails: railsOf(createTestRail()), storage, clock, log });
  const isOpen = () => gate.isOpen("test");
  return { gate, isOpen, logged, pass: (ms: number) => (now += ms) };
}

test("a rail is asked only once it is known which rails are paused", async () => {
  const { gate, isOpen } = await gates();
  expect(isOpen()).toBe(false);
  await gate.refresh();
  expect(isOpen()).toBe(true);
});

test("the delay that a rail asked for is kept, whatever calls in progress show and however many are held back", async () => {
  const { gate, isOpen, pass } = await gates();
  await gate.refresh();
  gate.note("test", "failed", 60_000);
  gate.note("test", "answered");
  gate.note("test", "held", 250);
  pass(59_999);
  expect(isOpen()).toBe(false);
  pass(1);
  expect(isOpen()).toBe(true);
});

test("calls that the limit of requests holds back do not hide that a rail is broken", async () => {
  const { gate, isOpen, pass } = await gates();
  await gate.refresh();
  for (let failures = 0; failures < 5; failures += 1) {
    gate.note("test", "failed");
    gate.note("test", "held", 250);
    pass(250);
  }
  expect(isOpen()).toBe(false);
  pass(750);
  expect(isOpen()).toBe(true);
});

test("the log says when a rail's outage begins and ends, however many calls fail meanwhile", async () => {
  const { gate, logged } = await gates();
  for (let failures = 0; failures < 4; failures += 1) gate.note("test", "failed", 0, "socket hang up");
  gate.note("test", "answered");
  expect(logged).toEqual([]);
  for (let failures = 0; failures < 9; failures += 1) gate.note("test", "failed", 0, "socket hang up");
  gate.note("test", "answered");
  gate.note("test", "answered");
  expect(logged).toEqual([
    "test: 5 calls of a rail in a row had no result; its payments wait (socket hang up)",
    "test: calls of a rail have results again",
  ]);
});
