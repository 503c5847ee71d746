import { expect, test } from "vitest";
import type { Exchange, RequirementResult } from "../results.ts";
import { check, exchange, requirement, sampleReport } from "../testing/sample-report.ts";
import { causesOf } from "./causes.ts";

let ids = 0;
type Over = Partial<RequirementResult> & { expected?: string; actual?: string };

/** Returns a failed requirement that one exchange shows, and which the exchange contradicts. */
function failed(id: string, response: Partial<Exchange>, { expected = "200", actual = "", ...over }: Over = {}) {
  const shown = exchange({ id: (ids += 1), ...response });
  const at = { shownBy: shown.id, contradictedBy: shown.id };
  return requirement(id, "fail", {
    checks: [check({ verdict: "fail", expected, actual, exchanges: [shown], ...at })],
    ...over,
  });
}

const errorBody = (reference: string) => JSON.stringify({ error: `lookup of ${reference} failed after 12 ms` });
const oops = (reference: string) => ({ status: 500, responseBody: errorBody(reference) });
const dsb = "https://sandbox.example/v1/disbursements/DSB1";
const unprotected = { expected: "401 and no record for a disbursement without a key" };
/** Returns the checks of a requirement that the target contradicted with this exchange. */
const at = (id: number, over: Partial<Exchange> = {}) => [
  check({ verdict: "fail", exchanges: [exchange({ id, ...over })], shownBy: id, contradictedBy: id }),
];
const expecting = (expected: string, id: number) => [{ ...at(id)[0]!, expected }];
const openCheck = check({ verdict: "could-not-run", actual: "b", contradictedBy: 1 });

test.each<[string, RequirementResult[], string[][]]>([
  [
    "the same error is one cause, whatever ids and numbers its text contains",
    [
      failed("a", oops("DSB1")),
      failed("b", oops("DSB2"), { expected: "401 without a key" }),
      failed("c", { status: 404, responseBody: errorBody("D3") }),
    ],
    [["a", "b"], ["c"]],
  ],
  [
    "what a route returns instead of 401 is one cause",
    [
      failed("auth.a", { status: 404, url: dsb, method: "GET" }, unprotected),
      failed("auth.b", { status: 200, url: `${dsb}2`, method: "GET" }, unprotected),
      failed("auth.c", { status: 422, url: "http://a/v1/disbursements" }, unprotected),
      failed("verify.a", { status: 404, url: dsb, method: "GET" }, { expected: "200 for a record" }),
    ],
    [["auth.a", "auth.b"], ["auth.c"], ["verify.a"]],
  ],
  [
    "a 5xx for a valid request comes first",
    [failed("a", oops("D1"), { expected: "400 or 422" }), failed("b", oops("D2"))],
    [["b", "a"]],
  ],
  [
    "the same exchange is one cause, and different faults of accepted requests are not",
    [
      requirement("a", "fail", { checks: expecting("a status", 900) }),
      failed("b", { status: 200 }, { expected: "an amount" }),
      requirement("c", "fail", { checks: expecting("an amount", 900) }),
    ],
    [["b"], ["a", "c"]],
  ],
  [
    "the cause that was met first comes first, after it other musts, what could not be judged, and shoulds",
    [
      requirement("should", "warn", {
        level: "should",
        checks: [check({ verdict: "warn", actual: "a", contradictedBy: 1 })],
      }),
      requirement("open", "could-not-run", { checks: [openCheck] }),
      requirement("read", "fail", { checks: at(5, { status: 404 }) }),
      requirement("paid", "fail", { checks: [...at(12), ...at(4)] }),
      requirement("webhook", "fail", { checks: [check({ verdict: "fail", actual: "none" })] }),
    ],
    [["paid"], ["read"], ["webhook"], ["open"], ["should"]],
  ],
  [
    "of two requirements that one request contradicts, the one about the received status comes first",
    [
      requirement("accepted", "fail", {
        checks: [{ ...at(7, { status: 409 })[0]!, expected: "200 for a disbursement" }],
      }),
      requirement("conflict", "fail", {
        checks: [{ ...at(7, { status: 409 })[0]!, expected: "409 only for a known reference" }],
      }),
    ],
    [["conflict", "accepted"]],
  ],
])("%s", (_, requirements, groups) => {
  const causes = causesOf(sampleReport(requirements));
  expect(causes.map(({ failures }) => failures.map((failure) => failure.requirement.id))).toEqual(groups);
});

test.each<[string, string, Partial<Exchange>, Over, RegExp]>([
  [
    "a route without a key check",
    "auth.a",
    { status: 404, url: dsb, method: "GET" },
    unprotected,
    /^GET \/v1\/disbursements\/{reference} responds with 404 instead of 401\. This route is/,
  ],
  ["an accepted duplicate", "create.duplicate-refused", {}, { expected: "409" }, /no unique constraint/],
  ["a race with two winners", "create.duplicate-race", {}, { actual: "2 × 200, 18 × 409" }, /looked up first/],
  ["404 after a create", "verify.found", { status: 404, method: "GET", url: dsb }, {}, /read replica/],
  ["404 as expected", "verify.unknown-404", { status: 404 }, { expected: "404" }, /^The target responds with 404$/],
  ["a timeout", "create.accepted", { status: undefined, failure: "no complete response" }, {}, /--timeout/],
  ["a wrong amount", "create.amount-echoed", {}, { expected: "amount 5" }, /^What create.amount-echoed promises\.$/],
])("the likely cause of %s", (_, id, response, over, cause) => {
  expect(causesOf(sampleReport([failed(id, response, over)]))[0]?.title).toMatch(cause);
});
