import { describe, expect, test } from "vitest";
import type { Context } from "../check.ts";
import type { TargetResponse } from "../target/exchange.ts";
import { expectData, expectNoFaults, expectStatus, same } from "./expect.ts";

const respond = (status: number | undefined, data?: object) =>
  ({
    status,
    json: { data },
    exchange: status === undefined ? { failure: "refused" } : { responseBody: JSON.stringify({ data }) },
  }) as TargetResponse;

/** Returns what a function of the vocabulary recorded. */
function recorded(run: (context: Context, id: string) => boolean) {
  const findings: [ok: boolean, expected: string, actual: string][] = [];
  const judge: Context["judge"] = (_id, ok, expected, actual) => (findings.push([ok, expected, actual]), ok);
  const ok = run({ judge } as Context, "id");
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
