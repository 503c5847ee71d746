// Checks malformed bodies, a charset in Content-Type, unknown fields, and JSON values that parsers interpret differently
// (§1, §4, §7, D15, D53).
import { judges, type Context, type Check } from "../../check.ts";
import { bothRefused, expectData, expectStatus } from "../../steps/expect.ts";
import { asJson, checkoutBody, disbursementBody, withAmount } from "../../steps/bodies.ts";
import { paid, verified } from "../../steps/records.ts";
import { pay, payInvalid, startCheckout } from "../../steps/requests.ts";
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

/** Unknown fields with values of every JSON type. The rules for amounts do not apply to their numbers. */
const unknownFields = ({ target: { merchant } }: Context) => ({
  [`${merchant.name}Extra`]: "x",
  [`${merchant.name}Whole`]: -7,
  [`${merchant.name}Fraction`]: 0.5,
  [`${merchant.name}Small`]: 1.5e-7,
  [`${merchant.name}Large`]: 2.5e21,
  [`${merchant.name}True`]: true,
  [`${merchant.name}Null`]: null,
  [`${merchant.name}List`]: [1, 0.25, "x"],
  [`${merchant.name}Object`]: { nested: { ratio: -1.75 } },
});

/** Whole numbers with a decimal point or an exponent. */
const notations = ["100.0", "1e2", "1.00E+2", "12.5e1", "12500e-2", "0.00123e5"];

/** Returns the body as JSON text in which one key occurs a second time, with this value. */
const withSecond = (body: Record<string, unknown>, key: string, value: unknown) =>
  `${JSON.stringify(body).slice(0, -1)},${JSON.stringify(key)}:${JSON.stringify(value)}}`;

export const checks: readonly Check[] = [
  judges(["json.malformed-refused", "json.object-required", "json.body-required"], {}, async (context) => {
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
  }),
  judges("json.charset-accepted", { pays: 2 }, async (context, id) => {
    for (const type of ["application/json; charset=utf-8", "application/json;charset=UTF-8"]) {
      const body = disbursementBody(context, { reference: `${context.fresh()}-é` });
      const response = await pay(context, body, { headers: { "content-type": type } });
      const when = `for Content-Type ${type}, with the reference read as UTF-8`;
      expectData(context, id, response, { merchantsReference: body["reference"] }, when);
    }
  }),

  judges("json-values.unknown-ignored", { pays: 1 }, async (context, id) => {
    const unknown = unknownFields(context);
    const { reference } = await paid(context, unknown);
    const { response, data } = await verified(context, reference);
    const kept = Object.keys(unknown).filter((name) => name in data);
    context.judge(id, kept.length === 0, "a record without the unknown fields", kept, response);
    const checkout = await startCheckout(context, checkoutBody(context, unknown));
    expectStatus(context, id, checkout, 200, "for a checkout with unknown fields");
  }),
  judges("json-values.lone-surrogate", {}, async (context, id) => {
    for (const half of ["\ud83d", "\udcb8"]) {
      const response = await payInvalid(context, disbursementBody(context, { reference: context.fresh() + half }));
      expectStatus(context, id, response, 422, `for a reference with ${JSON.stringify(half)}`);
    }
  }),
  judges("json-values.duplicate-key", {}, async (context, id) => {
    for (const key of ["amount", "country"] as const) {
      await bothRefused(context, id, 400, `two values for ${key}`, (body) => {
        const other = { amount: Number(body["amount"]) + 1, country: body["country"] === "KE" ? "GH" : "KE" };
        return asJson(withSecond(body, key, other[key]));
      });
    }
  }),
  judges("json-values.inexact-fraction", {}, async (context, id) => {
    // Parsing rounds these numbers to 100.
    for (const literal of ["100.00000000000000000001", "10000000000000000000001e-20"]) {
      await bothRefused(context, id, 400, `an amount of ${literal}`, (body) => withAmount(body, literal));
    }
  }),
  judges("json-values.exact-integer", { pays: notations.length }, async (context, id) => {
    for (const literal of notations) {
      const response = await pay(context, undefined, withAmount(disbursementBody(context), literal));
      expectData(context, id, response, { amount: Number(literal) }, `for ${literal}`);
    }
  }),
];
