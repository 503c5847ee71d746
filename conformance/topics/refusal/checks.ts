// Checks the status and the message of a refusal, paths and methods, the ids of requests, and that no unusual request
// causes a 5xx (§7, §9, D1, D2, D20, D26).
import { isDeepStrictEqual } from "node:util";
import { define, type Context, describeResponse } from "../../check.ts";
import { bothRefused, expectStatus, shows } from "../../steps/expect.ts";
import { siteOf, asJson, disbursementBody } from "../../steps/bodies.ts";
import { get, payInvalid, startInvalidCheckout, verifyDisbursement } from "../../steps/requests.ts";
import { is4xx } from "../../steps/responses.ts";
import { paid } from "../../steps/records.ts";
import { invalidAtOnce, several } from "../../steps/several.ts";
import type { TargetRequest, TargetResponse } from "../../target/exchange.ts";
import { textOf } from "../../target/values.ts";
import { bodiesOf } from "../json/checks.ts";

const large = "x".repeat(17_000);
const unknownPaths = [
  "/v1/nothing",
  "/nothing",
  "/v1/disbursements/a/b",
  "/v1",
  "/V1/disbursements",
  "/v2/disbursements/a",
];

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

type Step = { what: string; expected: number; over?: Record<string, unknown>; more: Partial<TargetRequest> };

/** Requests with two faults each. `expected` is the status for the fault that D1 says takes precedence. */
const twoFaults: Step[] = [
  { what: "an unsupported method without a key", expected: 405, more: { method: "DELETE", key: "none" } },
  { what: "an unknown path without a key", expected: 404, more: { path: "/v1/nothing", key: "none" } },
  { what: "an oversized body without a key", expected: 401, over: { padding: large }, more: { key: "none" } },
  {
    what: "a text/plain body without a key",
    expected: 401,
    more: { key: "none", headers: { "content-type": "text/plain" } },
  },
  {
    what: "an oversized text/plain body",
    expected: 413,
    more: { body: large, headers: { "content-type": "text/plain" } },
  },
  {
    what: "a text/plain body that is not JSON",
    expected: 415,
    more: { body: "not json", headers: { "content-type": "text/plain" } },
  },
];

const severalFaults: { expected: number; over: Record<string, unknown>; fields: string[] }[] = [
  { expected: 400, over: { amount: undefined, currency: undefined }, fields: ["amount", "currency"] },
  { expected: 400, over: { amount: "100", country: 12 }, fields: ["amount", "country"] },
  { expected: 400, over: { reference: undefined, amount: "100" }, fields: ["reference", "amount"] },
  // This catches a server that refuses the fraction while it parses the body, and therefore names no field.
  { expected: 400, over: { amount: 1.5, currency: 952 }, fields: ["amount", "currency"] },
  { expected: 422, over: { phoneNumber: "12", country: "ci" }, fields: ["phoneNumber", "country"] },
  {
    expected: 422,
    over: { amount: 0, currency: "xof", webhookURL: "not a url" },
    fields: ["amount", "currency", "webhookURL"],
  },
];

type FieldError = { path?: unknown; code?: unknown };

function fieldErrorsOf(response: TargetResponse): FieldError[] {
  const { fields } = (response.json ?? {}) as { fields?: unknown };
  return Array.isArray(fields) ? (fields as FieldError[]) : [];
}

/** Returns the rules that the response may report for an invalid value in `severalFaults`. */
function rulesOf(path: unknown, over: Record<string, unknown>): string[] {
  const value = over[textOf(path)];
  if (value === undefined) return ["required"];
  if (path === "amount") return Number.isInteger(value) ? ["minimum"] : ["type"];
  return typeof value === "number" ? ["type"] : ["pattern", "format", "min_length", "max_length"];
}

/** Statuses that mean that the requested path or method does not exist. */
const absent = [404, 405, 410];

const paths = ({ target: { merchant } }: Context): [path: string, allowed: string][] => [
  ["/v1/disbursements", "POST"],
  [`/v1/disbursements/${merchant.unknown}`, "GET"],
  ["/v1/checkouts", "POST"],
];

const json = asJson("").headers;
const effect = "must-be-rejected" as const;

/** Segments that are not valid percent-encoding. */
const segments = ["%", "%zz", "%e0%a4%a", "%ff", "%c0%af", "%00"];
const oddMethods = ["HEAD", "OPTIONS", "PUT", "PATCH", "DELETE", "TRACE", "PROPFIND"];

const oddPaths = ({ target: { merchant } }: Context) => [
  "/v1/disbursements",
  `/v1/disbursements/${merchant.unknown}`,
  "/v1/checkouts",
  "/v1",
];

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

/**
 * Returns true if there was a response and its status is not a 5xx. It also returns true for 501, the right status for
 * a method that the server does not implement.
 */
const handled = (status: number | undefined) => (status !== undefined && status < 500) || status === 501;

export const checks = define([
  {
    name: "Body that is not a JSON object is refused with 400",
    ids: ["refusal.malformed-400"],
    async run(context) {
      const id = "refusal.malformed-400";
      for (const [index, [what]] of bodiesOf({}).entries())
        await bothRefused(context, id, 400, what, (valid) => asJson(bodiesOf(valid)[index]![1]));
      const { headers } = asJson("");
      const response = await payInvalid(context, undefined, { headers: { ...headers, "content-length": "0" } });
      expectStatus(context, id, response, 400, "for no body");
    },
  },
  {
    name: "400 takes precedence over 422",
    ids: ["refusal.mixed-400"],
    async run(context) {
      const faults = [
        { amount: undefined, phoneNumber: "12" },
        { amount: "100", country: "ci" },
        { country: 1, phoneNumber: "+1" },
      ];
      for (const over of faults) {
        const response = await payInvalid(context, disbursementBody(context, over));
        const when = `for a 400 fault and a 422 fault in ${Object.keys(over).join(" and ")}`;
        expectStatus(context, "refusal.mixed-400", response, 400, when);
      }
    },
  },
  {
    name: "Content-Type other than JSON is refused with 415",
    ids: ["refusal.media-type-415"],
    async run(context) {
      for (const [what, headers] of types)
        await bothRefused(context, "refusal.media-type-415", 415, what, (valid) => ({
          body: JSON.stringify(valid),
          headers,
        }));
    },
  },
  {
    name: "Unknown path returns 404",
    ids: ["refusal.unknown-path-404"],
    async run(context) {
      for (const path of unknownPaths) {
        for (const key of ["own", "none"] as const) {
          const response = await get(context, path, { key });
          const when = `for ${path} ${key === "own" ? "with" : "without"} a key`;
          expectStatus(context, "refusal.unknown-path-404", response, 404, when);
        }
      }
    },
  },
  {
    name: "Unsupported method is refused with 405",
    ids: ["refusal.wrong-method-405"],
    async run(context) {
      for (const [method, path, allowed] of wrongMethods(context)) {
        const response = await context.target.send({ method, path, effect: "must-be-rejected" });
        const listed = String(response.headers["allow"] ?? "")
          .toUpperCase()
          .split(/\s*,\s*/);
        const ok = response.status === 405 && listed.includes(allowed) && !listed.includes(method);
        const actual = `${describeResponse(response)}, Allow: ${response.headers["allow"] ?? "missing"}`;
        const expected = `405 for ${method} ${path}, with Allow: ${allowed}`;
        context.judge("refusal.wrong-method-405", ok, expected, actual, response);
      }
    },
  },
  {
    name: "Of two faults, the first in order decides the status",
    ids: ["refusal.order"],
    pays: 3,
    async run(context) {
      for (const { what, expected, over, more } of twoFaults) {
        const body = more.body === undefined ? { json: disbursementBody(context, over) } : {};
        const request = { method: "POST", path: "/v1/disbursements", effect: "must-be-rejected", ...body } as const;
        const response = await context.target.send({ ...request, ...more });
        expectStatus(context, "refusal.order", response, expected, `for ${what}`);
      }
      const { body } = await paid(context);
      const bad = await payInvalid(context, { ...body, phoneNumber: "12" });
      expectStatus(context, "refusal.order", bad, 422, "for a duplicate reference with an invalid value");
      const worse = await payInvalid(context, { ...body, amount: "100" });
      expectStatus(context, "refusal.order", worse, 400, "for a duplicate reference with a wrong type");
    },
  },
  {
    name: "Error names every invalid field, in its fields and in its message",
    ids: ["error-code.fields", "error-body.names-fields"],
    async run(context) {
      for (const { expected, over, fields } of severalFaults) {
        const response = await payInvalid(context, disbursementBody(context, over));
        const isExpected = response.status === expected;
        const received = fieldErrorsOf(response);
        const areNamed = isDeepStrictEqual(received.map(({ path }) => path).toSorted(), fields.toSorted());
        const areRules = received.every(({ path, code }) => rulesOf(path, over).includes(textOf(code)));
        const names = fields.join(" and ");
        const listed = `${expected} with fields for ${names}, each with the rule that it breaks`;
        shows(context, "error-code.fields", response, isExpected && areNamed && areRules, listed);
        const { message } = (response.json ?? {}) as { message?: unknown };
        const isTold = fields.every((field) => textOf(message).includes(field));
        const told = `${expected} with a message that names ${names}`;
        shows(context, "error-body.names-fields", response, isExpected && isTold, told);
      }
    },
  },
  {
    name: "Each response has its own request id",
    ids: ["answers.request-id-own"],
    async run(context) {
      const chosen = `${context.target.merchant.unknown}-chosen-by-the-caller`;
      const path = `/v1/disbursements/${context.fresh()}`;
      const seen = new Set(["", chosen]);
      const requests: Record<string, string>[] = [{}, {}, { "x-request-id": chosen }];
      for (const headers of requests) {
        const response = await get(context, path, { headers });
        const id = String(response.headers["x-request-id"] ?? "");
        const expected = "an x-request-id that the service made for this request alone";
        context.judge("answers.request-id-own", !seen.has(id), expected, id || "none", response);
        seen.add(id);
      }
    },
  },

  {
    name: "Endpoints are under /v1 of the base address",
    ids: ["versioning.paths"],
    async run(context) {
      for (const response of [await payInvalid(context, {}), await startInvalidCheckout(context, {})]) {
        const { method, path } = response.request;
        const found = is4xx(response) && !absent.includes(response.status ?? 0);
        const expected = `a 4xx other than ${absent.join(", ")} for an empty object at ${method} ${path}`;
        shows(context, "versioning.paths", response, found, expected);
      }
      const unknown = await verifyDisbursement(context, context.fresh());
      const expected = "the service's own 404, in JSON, for an unknown reference";
      shows(context, "versioning.paths", unknown, unknown.status === 404 && unknown.json !== undefined, expected);
    },
  },
  {
    name: "HEAD returns what GET returns, without a body",
    ids: ["methods.head"],
    pays: 1,
    async run(context) {
      const { reference } = await paid(context);
      for (const asked of [`/${reference}`, `/${context.fresh()}`, "?limit=1"]) {
        const path = `/v1/disbursements${asked}`;
        const shown = await get(context, path);
        const head = await context.target.send({ method: "HEAD", path, effect: "must-be-rejected" });
        const type = "content-type";
        const same =
          shown.status !== undefined &&
          head.status === shown.status &&
          head.text === "" &&
          head.headers[type] === shown.headers[type];
        const expected = `${shown.status} with Content-Type ${shown.headers[type]} and no body`;
        const actual = `${describeResponse(head)}, Content-Type ${head.headers[type] ?? "missing"}`;
        context.judge("methods.head", same, expected, actual, [shown, head]);
      }
    },
  },
  {
    name: "OPTIONS is refused with 405",
    ids: ["methods.options-405"],
    async run(context) {
      for (const [path, allowed] of paths(context)) {
        const headers = { origin: `https://${siteOf(context)}`, "access-control-request-method": allowed };
        const request = { method: "OPTIONS", path, key: "none", effect: "must-be-rejected", headers } as const;
        const response = await context.target.send(request);
        const { allow = "", "access-control-allow-origin": origin } = response.headers;
        const ok = response.status === 405 && allow.split(/\s*,\s*/).includes(allowed) && origin === undefined;
        const expected = `405 for a CORS preflight of ${path}, with ${allowed} in Allow`;
        const actual = `${describeResponse(response)}, Allow: ${allow || "missing"}, allowed origin: ${origin ?? "none"}`;
        context.judge("methods.options-405", ok, expected, actual, response);
      }
    },
  },

  {
    name: "Unusual methods and paths cause no 5xx",
    ids: ["errors.no-5xx"],
    async run(context) {
      const reads = segments.map((segment) => ["GET", `/v1/disbursements/${segment}`] as const);
      const all = [
        ...reads,
        ...oddPaths(context).flatMap((path) => oddMethods.map((method) => [method, path] as const)),
      ];
      await several(all, invalidAtOnce(context), async ([method, path]) => {
        const response = await context.target.send({ method, path, effect });
        const expected = `a response and no 5xx for ${method} ${path}`;
        shows(context, "errors.no-5xx", response, handled(response.status), expected);
      });
    },
  },
  {
    name: "Unusual bodies and headers cause no 5xx",
    ids: ["errors.no-5xx"],
    async run(context) {
      for (const [what, body, headers] of bodies) {
        const response = await payInvalid(context, undefined, { body, headers });
        shows(context, "errors.no-5xx", response, handled(response.status), `a response and no 5xx for ${what}`);
      }
    },
  },
]);
