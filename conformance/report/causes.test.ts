import { expect, test } from "vitest";
import type { Exchange, RequirementResult } from "../results.ts";
import { check, exchange, requirement, sampleReport } from "../testing/sample-report.ts";
import { causesOf } from "./causes.ts";

let requests = 1000;
type Over = Partial<RequirementResult> & { expected?: string; actual?: string };

/** Returns a failed requirement with the one exchange that shows its failure. */
function failed(id: string, response: Partial<Exchange>, { expected = "200", actual = "", ...over }: Over = {}) {
  const shown = exchange({ id: (requests += 1), ...response });
  const at = { shownBy: shown.id, contradictedBy: shown.id };
  const checks = [check({ verdict: "fail", expected, actual, exchanges: [shown], ...at })];
  return requirement(id, "fail", { checks, ...over });
}

const errorBody = (reference: string) => JSON.stringify({ error: `lookup of ${reference} failed after 12 ms` });
const oops = (reference: string) => ({ status: 500, responseBody: errorBody(reference) });
const read = { method: "GET", url: "https://sandbox.example/v1/disbursements/DSB1" };
const unprotected = { expected: "401 and no record for a disbursement without a key" };

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
      failed("auth.a", { status: 404, ...read }, unprotected),
      failed("auth.b", { status: 200, ...read, url: `${read.url}2` }, unprotected),
      failed("auth.c", { status: 422, url: "http://a/v1/disbursements" }, unprotected),
      failed("verify.a", { status: 404, ...read }, { expected: "200 for a record" }),
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
      failed("a", { id: 900 }, { expected: "a status" }),
      failed("b", {}, { expected: "an amount" }),
      failed("c", { id: 900 }, { expected: "an amount" }),
    ],
    [["a", "c"], ["b"]],
  ],
  [
    "failed musts come first, in the order of their requests, then what could not be judged, then shoulds",
    [
      failed("should", { id: 1, status: 400 }, { level: "should" }),
      requirement("open", "could-not-run", { checks: [check({ verdict: "could-not-run", actual: "b" })] }),
      failed("read", { id: 5, status: 404 }),
      failed("paid", { id: 4 }),
      requirement("webhook", "fail", { checks: [check({ verdict: "fail", actual: "none" })] }),
    ],
    [["paid"], ["read"], ["webhook"], ["open"], ["should"]],
  ],
])("%s", (_, requirements, groups) => {
  const causes = causesOf(sampleReport(requirements));
  expect(causes.map(({ failures }) => failures.map((failure) => failure.requirement.id))).toEqual(groups);
});

test.each<[string, Partial<Exchange>, Over, RegExp]>([
  ["auth.a", { status: 404, ...read }, unprotected, /reference} responds with 404 instead of 401$/],
  ["create.duplicate-refused", {}, { expected: "409" }, /no unique constraint/],
  ["create.duplicate-race", {}, { actual: "2 × 200, 18 × 409" }, /looked up first/],
  ["create.duplicate-race", {}, { actual: "1 × 200, 19 × 500" }, /not turned into 409/],
  ["verify.found", { status: 404, ...read }, {}, /read replica/],
  ["verify.unknown-404", { status: 404 }, { expected: "404" }, /^The target responds with 404$/],
  ["create.accepted", { status: undefined, failure: "no complete response" }, {}, /--timeout/],
  [
    "json.body",
    { status: 500, responseBody: JSON.stringify({ error: `Unexpected token 'o', "not {}" is not JSON` }) },
    {},
    /500 Unexpected token 'o', … is not JSON/,
  ],
  ["create.amount-echoed", {}, { expected: "amount 5" }, /^What create.amount-echoed promises\.$/],
])("the likely cause of %s %j", (id, response, over, cause) => {
  expect(causesOf(sampleReport([failed(id, response, over)]))[0]?.title).toMatch(cause);
});
