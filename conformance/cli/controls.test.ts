import { expect, test } from "vitest";
import type { TargetRequest, TargetResponse } from "../target/exchange.ts";
import type { Target } from "../target/target.ts";
import { findControls } from "./controls.ts";

type Reply = { status: number; data?: unknown };

/** A target that responds to each path by a table, and with `otherwise` to the other paths. */
function target(table: Record<string, Reply>, otherwise: Reply = { status: 404 }) {
  const sent: TargetRequest[] = [];
  const send = async (request: TargetRequest) => {
    sent.push(request);
    const { status, data } = table[`${request.method} ${request.path.split("?")[0]}`] ?? otherwise;
    return { status, json: { data } } as TargetResponse;
  };
  const merchant = { name: "shop", unknown: "unknown-1" };
  return { target: { send, merchant, options: { seed: 1 } } as unknown as Target, sent };
}

const clock = { "POST /sandbox/clock/advance": { status: 400 } };
const finish = { "POST /sandbox/checkouts/unknown-1/finish": { status: 422 } };

test.each<[string, Record<string, Reply>, Reply | undefined, string[]]>([
  ["nothing under /sandbox", {}, undefined, []],
  ["a clock that moves, and nothing else", clock, undefined, ["clock"]],
  ["a clock and finish", { ...clock, ...finish }, undefined, ["clock", "finish"]],
  ["a clock that accepts anything", { "POST /sandbox/clock/advance": { status: 200 } }, undefined, ["clock"]],
  ["a control that only a GET shows", { "GET /sandbox/reset": { status: 405 } }, undefined, ["reset"]],
  ["a refused key", { "POST /sandbox/clock/advance": { status: 403 } }, undefined, []],
  ["an error of the server", { "POST /sandbox/clock/advance": { status: 500 } }, undefined, []],
  ["400 for every path", {}, { status: 400 }, []],
  ["200 with a page for every path", {}, { status: 200 }, []],
  ["405 for every path", {}, { status: 405 }, []],
  ["readings", { "GET /sandbox/clock": { status: 200, data: { now: "2026-01-01" } } }, undefined, ["time"]],
  ["a secret", { "GET /sandbox/webhook-secret": { status: 200, data: { secret: "s" } } }, undefined, ["secret"]],
  ["lists", { "GET /sandbox/events": { status: 200, data: { items: [] } } }, undefined, ["events"]],
])("finds the controls of a target with %s", async (_, table, otherwise, expected) => {
  expect((await findControls(target(table, otherwise).target, "money")).controls).toEqual(expected);
});

test("sends nothing that a control could act on", async () => {
  const { target: all, sent } = target({});
  await findControls(all, "reject");
  for (const { method, path, json, effect } of sent.filter((request) => request.method !== "GET")) {
    expect([method, json, effect]).toEqual(["POST", {}, "must-be-rejected"]);
    expect(path).not.toMatch(/reset|rotate|replay/);
  }
});

test("sends only GETs with --effects none", async () => {
  const { target: all, sent } = target({ "GET /sandbox/clock/advance": { status: 405 } });
  expect((await findControls(all, "none")).controls).toEqual(["clock"]);
  expect(sent.every(({ method }) => method === "GET")).toBe(true);
});
