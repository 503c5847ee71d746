import { expect, test } from "vitest";
import type { Exchange, RequirementResult } from "../results.ts";
import { check, exchange, requirement, sampleReport } from "../testing/sample-report.ts";
import { causesOf } from "./causes.ts";

let ids = 0;
type Over = Partial<RequirementResult> & { expected?: string; actual?: string };

/** Returns a failed requirement that one exchange shows. */
function failed(id: string, response: Partial<Exchange>, { expected = "200", actual = "", ...over }: Over = {}) {
  const shown = exchange({ id: (ids += 1), ...response });
  const checks = [check({ verdict: "fail", expected, actual, exchanges: [shown], shownBy: shown.id })];
  return requirement(id, "fail", { checks, ...over });
}

const grouped = (requirements: RequirementResult[]) =>
  causesOf(sampleReport(requirements)).map(({ failures }) => failures.map((failure) => failure.requirement.id));

const errorBody = (reference: string) => JSON.stringify({ error: `lookup of ${reference} failed after 12 ms` });

test("the same error is one cause, whatever ids and numbers its text contains", () => {
  const a = failed("a", { status: 500, responseBody: errorBody("DSB1") });
  const b = failed("b", { status: 500, responseBody: errorBody("DSB2") }, { expected: "401 without a key" });
  const c = failed("c", { status: 404, responseBody: errorBody("DSB3") });
  expect(grouped([a, b, c])).toEqual([["a", "b"], ["c"]]);
});

test("what a route returns instead of 401 is one cause, which names the middleware", () => {
  const url = "http://a/v1/disbursements/DSB1";
  const expected = "401 and no record for a disbursement without a key";
  const requirements = [
    failed("auth.a", { status: 404, url, method: "GET" }, { expected }),
    failed("auth.b", { status: 200, url: `${url}2`, method: "GET" }, { expected }),
    failed("auth.c", { status: 422, url: "http://a/v1/disbursements", method: "POST" }, { expected }),
    failed("verify.a", { status: 404, url, method: "GET" }, { expected: "200 for a record" }),
  ];
  expect(grouped(requirements)).toEqual([["auth.a", "auth.b"], ["auth.c"], ["verify.a"]]);
  const [first] = causesOf(sampleReport(requirements));
  expect(first?.title).toMatch(/^GET \/v1\/disbursements\/{reference} responds with 404 instead of 401. This route is/);
});

test("a 5xx for a valid request comes first, and explains the others", () => {
  const invalid = failed("a", { status: 500, responseBody: errorBody("DSB1") }, { expected: "400 or 422" });
  const valid = failed("b", { status: 500, responseBody: errorBody("DSB2") });
  const [cause, ...others] = causesOf(sampleReport([invalid, valid]));
  expect([cause?.failures.map(({ requirement: { id } }) => id), others]).toEqual([["b", "a"], []]);
  expect(cause?.title).toContain("The target fails for valid requests too");
});

test("the same exchange is one cause, and different faults of accepted requests are not", () => {
  const shown = exchange({ id: 900, status: 200 });
  const one = check({ verdict: "fail", expected: "a status", exchanges: [shown], shownBy: 900 });
  const two = check({ verdict: "fail", expected: "an amount", exchanges: [shown], shownBy: 900 });
  expect(
    grouped([
      requirement("a", "fail", { checks: [one] }),
      failed("b", { status: 200 }, { expected: "an amount" }),
      requirement("c", "fail", { checks: [two] }),
    ]),
  ).toEqual([["a", "c"], ["b"]]);
});

/** Returns the checks of a requirement that the target contradicted with this exchange. */
const at = (id: number, over: Partial<Exchange> = {}) => [
  check({ verdict: "fail", exchanges: [exchange({ id, ...over })], shownBy: id, contradictedBy: id }),
];

test("the cause that was met first comes first, after it other musts, what could not be judged, and shoulds", () => {
  const [early, late] = [exchange({ id: 3, status: 200 }), exchange({ id: 9, status: 404 })];
  const shownTogether = check({ verdict: "fail", exchanges: [early, late], contradictedBy: 9 });
  const openCheck = check({ verdict: "could-not-run", actual: "b", contradictedBy: 1 });
  expect(
    grouped([
      requirement("should", "warn", {
        level: "should",
        checks: [check({ verdict: "warn", actual: "a", contradictedBy: 1 })],
      }),
      requirement("open", "could-not-run", { checks: [openCheck] }),
      requirement("read", "fail", { effect: "none", checks: at(5, { status: 404 }) }),
      requirement("together", "fail", { checks: [shownTogether] }),
      requirement("paid", "fail", { checks: [...at(12), ...at(4)] }),
      requirement("webhook", "fail", { checks: [check({ verdict: "fail", actual: "none" })] }),
    ]),
  ).toEqual([["paid"], ["read"], ["together"], ["webhook"], ["open"], ["should"]]);
});

test("of two requirements that the same request contradicts, the one about the received status comes first", () => {
  const shown = exchange({ id: 7, status: 409 });
  const expecting = (expected: string) => [
    check({ verdict: "fail", expected, exchanges: [shown], shownBy: 7, contradictedBy: 7 }),
  ];
  expect(
    grouped([
      requirement("accepted", "fail", { checks: expecting("200 for a valid disbursement") }),
      requirement("conflict", "fail", { checks: expecting("409 only for a reference that a disbursement has") }),
    ]),
  ).toEqual([["conflict", "accepted"]]);
});

test("a known failure needs no attention", () => {
  const knownFailure = { reason: "Fixed in 4.2", expires: "2026-12-31" };
  expect(grouped([requirement("a", "warn", { knownFailure }), requirement("b", "warn", { level: "should" })])).toEqual([
    ["b"],
  ]);
});

const dsb = "https://sandbox.example/v1/disbursements/DSB1";
test.each<[string, string, Partial<Exchange>, Over, RegExp]>([
  [
    "a 500 for a duplicate",
    "create.duplicate-refused",
    { status: 500 },
    { expected: "409" },
    /unique constraint .* works/,
  ],
  ["an accepted duplicate", "create.duplicate-refused", { status: 200 }, { expected: "409" }, /no unique constraint/],
  [
    "a race with two winners",
    "create.duplicate-race",
    { status: 200 },
    { actual: "2 × 200, 18 × 409" },
    /looked up first/,
  ],
  ["404 after a create", "verify.found", { status: 404, method: "GET", url: dsb }, {}, /read replica/],
  [
    "404 for an unknown reference",
    "verify.unknown-404",
    { status: 404, method: "GET", url: dsb },
    { expected: "404" },
    /^The target responds with 404$/,
  ],
  ["a page", "errors.shape", { status: 400, responseHeaders: { "content-type": "text/html" } }, {}, /proxy/],
  ["a redirect", "create.accepted", { status: 301 }, {}, /--base-url/],
  ["a timeout", "create.accepted", { status: undefined, failure: "no complete response within 9 ms" }, {}, /--timeout/],
  ["a 500 for a bad value", "create.amount-type", { status: 500 }, { expected: "400 or 422" }, /Validate the body/],
  ["a converted value", "create.amount-type", { status: 200 }, { expected: "400 or 422" }, /converts the value/],
  [
    "a wrong amount",
    "create.amount-echoed",
    { status: 200 },
    { expected: "amount 5" },
    /^What create.amount-echoed promises\.$/,
  ],
])("the likely cause of %s", (_, id, response, over, cause) => {
  const [found] = causesOf(sampleReport([failed(id, response, over)]));
  expect(found?.title).toMatch(cause);
});
