import { describe, expect, test } from "vitest";
import type { Context } from "../check.ts";
import type { TargetResponse } from "../target/exchange.ts";
import { eventually } from "./eventually.ts";
import {
  expectData,
  expectHidden,
  expectNoFaults,
  expectNone,
  expectOneAccepted,
  expectStatus,
  same,
} from "./expect.ts";
import type { RequirementId } from "../../generated/requirement-ids.ts";

const respond = (status: number | undefined, data?: object) =>
  ({
    status,
    json: { data },
    exchange: status === undefined ? { failure: "refused" } : { responseBody: JSON.stringify({ data }) },
  }) as TargetResponse;

type Finding = [ok: boolean, expected: string, actual: string];

/** Calls a function of the vocabulary, and returns what it returns and records. The target responds with `response`. */
function judged<T>(run: (context: Context, id: RequirementId) => T, response = respond(200)): [T, Finding[]] {
  const findings: Finding[] = [];
  const judge: Context["judge"] = (_id, ok, expected, actual) => (findings.push([ok, expected, actual]), ok);
  const context: Partial<Context> = { judge, target: { send: async () => response } as never, responses: [] };
  return [run(context as Context, "create.accepted"), findings];
}

/** Returns the only finding of a function of the vocabulary. */
function recorded(run: (context: Context, id: RequirementId) => boolean) {
  const [ok, findings] = judged(run);
  expect(findings).toEqual([[ok, expect.any(String), expect.any(String)]]);
  return findings[0];
}

describe("an expected status", () => {
  test.each([
    [200, 200, true, "200 for x"],
    [201, 200, false, "200 for x"],
    [undefined, 200, false, "200 for x"],
    [422, [400, 422], true, "400 or 422 for x"],
    [500, [400, 422], false, "400 or 422 for x"],
    [204, "2xx", true, "a 2xx for x"],
    [499, "4xx", true, "a 4xx for x"],
    [399, "4xx", false, "a 4xx for x"],
    [500, "4xx", false, "a 4xx for x"],
    [undefined, "4xx", false, "a 4xx for x"],
  ] as const)("%s, where %j is expected: %s", (status, allowed, ok, text) => {
    const finding = recorded((context, id) => expectStatus(context, id, respond(status), allowed, "for x"));
    expect(finding?.slice(0, 2)).toEqual([ok, text]);
  });
});

const judgedData = (response: TargetResponse) =>
  recorded((context, id) => expectData(context, id, response, { amount: 5, reference: "r" }, "as sent"));

describe("expected data", () => {
  test.each([
    [200, { amount: 5, reference: "r", fee: 1 }, true],
    [200, { amount: 5 }, false],
    [200, { amount: "5", reference: "r" }, false],
    [201, { amount: 5, reference: "r" }, false],
  ])("%s %j: %s", (status, data, ok) => {
    expect(judgedData(respond(status, data))?.[0]).toBe(ok);
  });

  test("says which values were received, even if the response is too long to be shown whole", () => {
    const [, expected, actual] = judgedData(respond(200, { text: "x".repeat(500), amount: 6 })) ?? [];
    expect(expected).toBe('200 with amount 5 and reference "r" as sent');
    expect(actual).toMatch(/^amount 6 and reference missing in 200 /);
  });
});

test("equal values may have their fields in another order", () => {
  const expected = { a: 1, b: [2] };
  const compare = (actual: unknown) => recorded((context, id) => same(context, id, { what: "it", actual, expected }));
  expect(compare({ b: [2], a: 1 })?.[0]).toBe(true);
  expect(compare(undefined)).toEqual([false, 'it {"a":1,"b":[2]}', "it missing"]);
});

test("faults are named, and none is as expected", () => {
  expect(recorded((context, id) => expectNoFaults(context, id, "x", ["a", "b"]))).toEqual([false, "x", "a, b"]);
  expect(recorded((context, id) => expectNoFaults(context, id, "x", []))).toEqual([true, "x", "as expected"]);
});

test.each([
  [["a", "b"], ["a", "b"], false],
  [[], ["as expected in 3 records"], true],
])("the faults %j among many things are findings: %j", (actual, texts, ok) => {
  const faults = actual.map((each) => ({ actual: each, evidence: [] }));
  const [, findings] = judged((context, id) => expectNone(context, id, "no fault", faults, "3 records"));
  expect(findings).toEqual(texts.map((text) => [ok, "no fault", text]));
});

test.each([
  [[409, 200, 409], true, "2 × 409, 1 × 200"],
  [[200, 200, 409], false, "2 × 200, 1 × 409"],
  [[409, 409], false, "2 × 409"],
  [[200, 500], false, "1 × 200, 1 × 500"],
  [[200, undefined], false, "1 × 200, 1 × no response"],
])("of a burst with the statuses %j, one is accepted: %s", (statuses, ok, actual) => {
  const finding = recorded((context, id) =>
    expectOneAccepted(
      context,
      id,
      statuses.map((status) => respond(status)),
    ),
  );
  expect([finding?.[0], finding?.[2].split(", ").toSorted()]).toEqual([ok, actual.split(", ").toSorted()]);
});

test.each([
  [404, "", true],
  [404, "DSB1", false],
  [200, "", false],
])("a record is hidden by status %s with the text %j: %s", async (status, text, ok) => {
  const response = { ...respond(status), text };
  const request = { method: "GET", path: "/v1/disbursements/DSB1?x=1" };
  const hidden = { secrets: ["DSB1"], status: 404, whom: "a stranger" };
  const [sent, findings] = judged((context, id) => expectHidden(context, id, request, hidden), response);
  await sent;
  expect(findings[0]?.slice(0, 2)).toEqual([ok, "404 and no record for a stranger at GET /v1/disbursements/DSB1"]);
});

test.each([
  [1, true, 0],
  [3, true, 200],
  [99, false, 500],
])("what becomes true at look %s within 500 ms is met: %s", async (truth, isMet, waited) => {
  let [time, looks] = [0, 0];
  const context = { now: () => new Date(time), sleep: async (ms: number) => void (time += ms) } as Context;
  expect(await eventually(context, () => (looks += 1) >= truth, 500)).toBe(isMet);
  expect(time).toBe(waited);
});

test("time in which the process did not run does not end a wait", async () => {
  let [time, looks] = [0, 0];
  const context = { now: () => new Date(time), sleep: async (ms: number) => void (time += 20 * ms) } as Context;
  expect(await eventually(context, () => (looks += 1) > 3, 500)).toBe(true);
});
