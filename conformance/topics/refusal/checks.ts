// Checks the status and the message of a refusal, paths and methods, the ids of requests, and that no unusual request
// causes a 5xx (§7, §9, D1, D2, D20, D26).
import { judges, type Context, type Check } from "../../check.ts";
import { bothRefused, expectFields, expectStatus } from "../../steps/expect.ts";
import { asJson, disbursementBody, siteOf } from "../../steps/bodies.ts";
import { get, type More, payInvalid, startInvalidCheckout, verifyDisbursement } from "../../steps/requests.ts";
import { is4xx } from "../../steps/responses.ts";
import { paid } from "../../steps/records.ts";
import { invalidAtOnce, several } from "../../steps/several.ts";
import { describeResponse, type TargetRequest, type TargetResponse } from "../../target/exchange.ts";
import { equal } from "../../target/values.ts";
import { bodiesOf } from "../json/checks.ts";
import type { RequirementId } from "../../../generated/requirement-ids.ts";

const large = "x".repeat(17_000);
const unknown = ["/v1/nothing", "/nothing", "/v1/disbursements/a/b", "/v1", "/V1/disbursements", "/v2/disbursements/a"];

const wrongMethods = ({ target: { merchant } }: Context): [method: string, path: string, allowed: string][] => [
  ["PUT", "/v1/disbursements", "POST"],
  ["PATCH", "/v1/disbursements", "POST"],
  ["DELETE", "/v1/disbursements", "POST"],
  ["POST", `/v1/disbursements/${merchant.unknown}`, "GET"],
  ["DELETE", `/v1/disbursements/${merchant.unknown}`, "GET"],
  ["PUT", "/v1/checkouts", "POST"],
  ["DELETE", `/v1/checkouts/${merchant.unknown}`, "GET"],
];

const types: [string, Record<string, string>][] = [
  ["text/plain", { "content-type": "text/plain" }],
  ["form data", { "content-type": "application/x-www-form-urlencoded" }],
  ["XML", { "content-type": "application/xml" }],
  ["application/jsonx", { "content-type": "application/jsonx" }],
  ["no Content-Type", {}],
];

const plain = { "content-type": "text/plain" };

/** Requests with two faults each, and the status for the fault that D1 says takes precedence. */
const twoFaults: [what: string, status: number, more: More, over?: Record<string, unknown>][] = [
  ["an unsupported method without a key", 405, { method: "DELETE", key: "none" }],
  ["an unknown path without a key", 404, { path: "/v1/nothing", key: "none" }],
  ["an oversized body without a key", 401, { key: "none" }, { padding: large }],
  ["a text/plain body without a key", 401, { key: "none", headers: plain }],
  ["an oversized text/plain body", 413, { body: large, headers: plain }],
  ["a text/plain body that is not JSON", 415, { body: "not json", headers: plain }],
];

/** Sets of values that each break a rule, and the status for the set. */
const severalFaults: [status: number, over: Record<string, unknown>][] = [
  [400, { amount: undefined, currency: undefined }],
  [400, { amount: "100", country: 12 }],
  [400, { reference: undefined, amount: "100" }],
  // This catches a server that refuses the fraction while it parses the body, and therefore names no field.
  [400, { amount: 1.5, currency: 952 }],
  [422, { phoneNumber: "12", country: "ci" }],
  [422, { amount: 0, currency: "xof", webhookURL: "not a url" }],
];

/** Returns the rules that the response may report for an invalid value in `severalFaults`. */
function rulesOf(path: string, over: Record<string, unknown>): string[] {
  const value = over[path];
  if (value === undefined) return ["required"];
  if (path === "amount") return Number.isInteger(value) ? ["minimum"] : ["type"];
  return typeof value === "number" ? ["type"] : ["pattern", "format", "min_length", "max_length"];
}

const paths = ({ target: { merchant } }: Context): [path: string, allowed: string][] => [
  ["/v1/disbursements", "POST"],
  [`/v1/disbursements/${merchant.unknown}`, "GET"],
  ["/v1/checkouts", "POST"],
];

/** Expects a 405, with an Allow header that lists the allowed method and not that of the request. */
async function expect405(context: Context, id: RequirementId, request: TargetRequest, allowed: string) {
  const { method, path } = request;
  const response = await context.target.send({ ...request, effect });
  const { allow = "missing" } = response.headers;
  const names = allow.toUpperCase().split(/\s*,\s*/);
  const ok = response.status === 405 && names.includes(allowed) && (method === "OPTIONS" || !names.includes(method));
  const actual = `${describeResponse(response)}, Allow: ${allow}`;
  context.judge(id, ok, `405 for ${method} ${path}, with Allow: ${allowed}`, actual, response);
  return response;
}

const json = asJson("").headers;
const effect = "must-be-rejected" as const;

/** Segments that are not valid percent-encoding. */
const segments = ["%", "%zz", "%e0%a4%a", "%ff", "%c0%af", "%00"];
const oddMethods = ["HEAD", "OPTIONS", "PUT", "PATCH", "DELETE", "TRACE", "PROPFIND"];

const deep = (open: string, close: string) => open.repeat(3000) + close.repeat(3000);

const bodies: [string, string | Buffer, Record<string, string>][] = [
  ["deeply nested arrays", deep("[", "]"), json],
  ["deeply nested objects", `${'{"a":'.repeat(2000)}1${"}".repeat(2000)}`, json],
  ["a number of 5,000 digits", `{"amount":${"9".repeat(5000)}}`, json],
  ["a duplicate key", '{"amount":100,"amount":"100","reference":1}', json],
  ["1e400", '{"amount":1e400}', json],
  ["a lone surrogate", String.raw`{"reference":"\ud800","amount":1}`, json],
  ["__proto__", '{"__proto__":{"amount":1},"constructor":{"prototype":{"amount":1}}}', json],
  ["a byte order mark", "\ufeff{}", json],
  ["UTF-16", Buffer.from('{"amount":1}', "utf16le"), json],
  ["plain text declared as gzip", "not gzip", { ...json, "content-encoding": "gzip" }],
  ["an unknown charset", "{}", { "content-type": "application/json; charset=unknown" }],
  ["a malformed Content-Type", "{}", { "content-type": "application/json;;;=" }],
  ["an Accept that cannot be satisfied", "{}", { ...json, accept: "image/png" }],
  ["an Expect that cannot be satisfied", "{}", { ...json, expect: "unknown" }],
  ["a header of 6,000 characters", "{}", { ...json, "x-long": "x".repeat(6000) }],
];

/** What the response to HEAD has in common with the response to GET, and the body. */
const formOf = ({ status, headers, text }: TargetResponse) => ({ status, type: headers["content-type"], text });

export const checks: readonly Check[] = [
  judges("refusal.malformed-400", {}, async (context, id) => {
    for (const [index, [what]] of bodiesOf({}).entries())
      await bothRefused(context, id, 400, what, (valid) => asJson(bodiesOf(valid)[index]![1]));
    const { headers } = asJson("");
    const response = await payInvalid(context, undefined, { headers: { ...headers, "content-length": "0" } });
    expectStatus(context, id, response, 400, "for no body");
  }),
  judges("refusal.mixed-400", {}, async (context, id) => {
    const faults = [
      { amount: undefined, phoneNumber: "12" },
      { amount: "100", country: "ci" },
      { country: 1, phoneNumber: "+1" },
    ];
    for (const over of faults) {
      const response = await payInvalid(context, disbursementBody(context, over));
      expectStatus(context, id, response, 400, `for a 400 fault and a 422 fault in ${Object.keys(over).join(" and ")}`);
    }
  }),
  judges("refusal.media-type-415", {}, async (context, id) => {
    for (const [what, headers] of types)
      await bothRefused(context, id, 415, what, (valid) => ({ body: JSON.stringify(valid), headers }));
  }),
  judges("refusal.unknown-path-404", {}, async (context, id) => {
    for (const path of unknown) {
      for (const key of ["own", "none"] as const) {
        const response = await get(context, path, { key });
        expectStatus(context, id, response, 404, `for ${path} ${key === "own" ? "with" : "without"} a key`);
      }
    }
  }),
  judges("refusal.wrong-method-405", {}, async (context, id) => {
    for (const [method, path, allowed] of wrongMethods(context))
      await expect405(context, id, { method, path }, allowed);
  }),
  judges("refusal.order", { pays: 3 }, async (context, id) => {
    for (const [what, status, more, over] of twoFaults) {
      const body = more.body === undefined ? disbursementBody(context, over) : undefined;
      expectStatus(context, id, await payInvalid(context, body, more), status, `for ${what}`);
    }
    const { body } = await paid(context);
    const bad = await payInvalid(context, { ...body, phoneNumber: "12" });
    expectStatus(context, id, bad, 422, "for a duplicate reference with an invalid value");
    const worse = await payInvalid(context, { ...body, amount: "100" });
    expectStatus(context, id, worse, 400, "for a duplicate reference with a wrong type");
  }),
  judges(["error-code.fields", "error-body.names-fields"], {}, async (context, id) => {
    for (const [status, over] of severalFaults) {
      const response = await payInvalid(context, disbursementBody(context, over));
      const fields = Object.keys(over);
      const when = `for ${fields.join(" and ")}`;
      expectStatus(context, [id, "error-body.names-fields"], response, status, when);
      expectFields(context, response, fields, when, (field) => rulesOf(field, over));
    }
  }),
  judges("answers.request-id-own", {}, async (context, id) => {
    const chosen = `${context.target.merchant.unknown}-chosen-by-the-caller`;
    const path = `/v1/disbursements/${context.fresh()}`;
    const seen = new Set(["", chosen]);
    for (const more of [{}, {}, { headers: { "x-request-id": chosen } }]) {
      const response = await get(context, path, more);
      const requestId = String(response.headers["x-request-id"] ?? "");
      const expected = "an x-request-id that the service made for this request alone";
      context.judge(id, !seen.has(requestId), expected, requestId || "none", response);
      seen.add(requestId);
    }
  }),
  judges("versioning.paths", {}, async (context, id) => {
    for (const response of [await payInvalid(context, {}), await startInvalidCheckout(context, {})]) {
      const { method, path } = response.request;
      // These statuses mean that the path or the method does not exist.
      const found = is4xx(response) && ![404, 405, 410].includes(response.status ?? 0);
      context.judge(id, found, `a 4xx other than 404, 405, 410 for an empty object at ${method} ${path}`, response);
    }
    const missing = await verifyDisbursement(context, context.fresh());
    const expected = "the service's own 404, in JSON, for an unknown reference";
    context.judge(id, missing.status === 404 && missing.json !== undefined, expected, missing);
  }),
  judges("methods.head", { pays: 1 }, async (context, id) => {
    const { reference } = await paid(context);
    for (const asked of [`/${reference}`, `/${context.fresh()}`, "?limit=1"]) {
      const path = `/v1/disbursements${asked}`;
      const shown = await get(context, path);
      const head = await context.target.send({ method: "HEAD", path, effect });
      const same = shown.status !== undefined && equal(formOf(head), { ...formOf(shown), text: "" });
      const expected = `${shown.status} with Content-Type ${shown.headers["content-type"]} and no body`;
      const actual = `${describeResponse(head)}, Content-Type ${head.headers["content-type"] ?? "missing"}`;
      context.judge(id, same, expected, actual, [shown, head]);
    }
  }),
  judges("methods.options-405", {}, async (context, id) => {
    for (const [path, allowed] of paths(context)) {
      const headers = { origin: `https://${siteOf(context)}`, "access-control-request-method": allowed };
      const preflight = await expect405(context, id, { method: "OPTIONS", path, key: "none", headers }, allowed);
      const origin = preflight.headers["access-control-allow-origin"];
      const expected = `no allowed origin for a CORS preflight of ${path}`;
      context.judge(id, origin === undefined, expected, `allowed origin: ${origin}`, preflight);
    }
  }),

  judges("errors.no-5xx", {}, async (context, id) => {
    const odd = [...paths(context).map(([path]) => path), "/v1"];
    const all: [what: string, more: More][] = [
      ...segments.map((segment): [string, More] => [segment, { method: "GET", path: `/v1/disbursements/${segment}` }]),
      ...odd.flatMap((path) => oddMethods.map((method): [string, More] => [`${method} ${path}`, { method, path }])),
      ...bodies.map(([what, body, headers]): [string, More] => [what, { body, headers }]),
    ];
    await several(all, invalidAtOnce(context), async ([what, more]) => {
      const response = await payInvalid(context, undefined, more);
      const { status = 599 } = response;
      // 501 is the right status for a method that the server does not implement.
      context.judge(id, status < 500 || status === 501, `a response and no 5xx for ${what}`, response);
    });
  }),
];
