// Checks malformed bodies, and a charset in Content-Type (§1, §4, §7).
import type { Check } from "../../check.ts";
import { expectData, expectStatus } from "../../steps/expect.ts";
import { asJson, disbursementBody, pay, payInvalid, pays } from "../../steps/requests.ts";
import { textOf } from "../../target/values.ts";

/**
 * Returns bodies that are not valid JSON. All but the first are derived from a valid request, so that a lenient parser
 * might accept them.
 * @param valid the fields of a valid request
 */
export function malformed(valid: Record<string, unknown>): [string, string | Buffer][] {
  const plain = JSON.stringify(valid);
  const open = plain.slice(0, -1);
  const form = new URLSearchParams(Object.entries(valid).map(([name, value]) => [name, textOf(value)]));
  /** The text up to and including the opening quote of the first string value. */
  const start = /^.*?:"/.exec(plain)?.[0] ?? "{";
  return [
    ["plain text", "not json"],
    ["a truncated object", `${open},`],
    ["a trailing comma", `${open},}`],
    ["single quotes", plain.replaceAll('"', "'")],
    ["form data", form.toString()],
    [
      "bytes that are not UTF-8",
      Buffer.concat([Buffer.from(start), Buffer.from([0xff, 0xfe]), Buffer.from(plain.slice(start.length))]),
    ],
    ["NaN", plain.replace(/"amount":[^,}]+/, '"amount":NaN')],
    ["two objects", plain + plain],
  ];
}

/** Returns JSON values that are not objects. One of the bodies is an array that contains a valid request. */
const nonObjects = (valid: Record<string, unknown>): [string, unknown][] => [
  ["null", null],
  ["an empty array", []],
  ["an array of one request", [valid]],
  ["a string", "text"],
  ["a number", 100],
  ["true", true],
];

/** Returns all bodies that are not JSON objects. */
export const bodiesOf = (valid: Record<string, unknown>) => [
  ...malformed(valid),
  ...nonObjects(valid).map(([what, value]) => [what, JSON.stringify(value)] as const),
];

export const checks: Check[] = [
  {
    name: "Create refuses a body that is not a JSON object, and a missing body",
    ids: ["json.malformed-refused", "json.object-required", "json.body-required"],
    effect: "must-be-rejected",
    async run(context) {
      for (const [name, body] of malformed(disbursementBody(context))) {
        const response = await payInvalid(context, undefined, asJson(body));
        expectStatus(context, "json.malformed-refused", response, "4xx", `for ${name}`);
      }
      for (const [name, body] of nonObjects(disbursementBody(context))) {
        const response = await payInvalid(context, body);
        expectStatus(context, "json.object-required", response, [400, 422], `for ${name}`);
      }
      for (const headers of [asJson("").headers, {}]) {
        const response = await payInvalid(context, undefined, { headers: { ...headers, "content-length": "0" } });
        expectStatus(context, "json.body-required", response, "4xx", "for a missing body");
      }
    },
  },
  {
    name: "Create accepts a charset in Content-Type",
    ids: ["json.charset-accepted"],
    ...pays(2),
    async run(context) {
      for (const type of ["application/json; charset=utf-8", "application/json;charset=UTF-8"]) {
        const body = disbursementBody(context, { reference: `${context.fresh()}-é` });
        const response = await pay(context, body, { headers: { "content-type": type } });
        const when = `for Content-Type ${type}, with the reference read as UTF-8`;
        expectData(context, "json.charset-accepted", response, { merchantsReference: body["reference"] }, when);
      }
    },
  },
];
