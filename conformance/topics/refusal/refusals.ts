// Checks the status and the message of a refusal, which fault a refusal reports if there are several, and the ids of
// requests (D1, D2, D20).
import { isDeepStrictEqual } from "node:util";
import { describeResponse, type Check, type Context } from "../../check.ts";
import type { TargetRequest, TargetResponse } from "../../target/exchange.ts";
import { bothRefused, expectStatus, shows } from "../../steps/expect.ts";
import { bodiesOf } from "../json/json.ts";
import { asJson, disbursementBody, get, paid, payInvalid, pays } from "../../steps/requests.ts";
import { textOf } from "../../target/values.ts";

const large = "x".repeat(17_000);

const paths = ["/v1/nothing", "/nothing", "/v1/disbursements/a/b", "/v1", "/V1/disbursements", "/v2/disbursements/a"];

const methods = ({ target: { merchant } }: Context): [method: string, path: string, allowed: string][] => [
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

export const checks: Check[] = [
  {
    name: "Body that is not a JSON object is refused with 400",
    ids: ["refusal.malformed-400"],
    effect: "must-be-rejected",
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
    effect: "must-be-rejected",
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
    effect: "must-be-rejected",
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
    effect: "none",
    async run(context) {
      for (const path of paths) {
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
    effect: "must-be-rejected",
    async run(context) {
      for (const [method, path, allowed] of methods(context)) {
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
    ...pays(3),
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
    effect: "must-be-rejected",
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
    effect: "none",
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
];
