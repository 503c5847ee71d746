// §1, §4, §7: bodies that are not what they should be.
import { describeResponse, type Check } from "../check.ts";
import { dataOf, disbursementBody, is4xx, isRefusal, pay, payInvalid } from "./requests.ts";

const json = { "content-type": "application/json" };

/**
 * Bodies that are no JSON, although a lenient reader finds a whole sound request in all but the first.
 * @param sound a request that would be accepted
 */
export function malformed(sound: Record<string, unknown>): [string, string | Buffer][] {
  const text = JSON.stringify(sound);
  const open = text.slice(0, -1);
  const form = new URLSearchParams(Object.entries(sound).map(([name, value]) => [name, String(value)]));
  /** Up to the first text of the request, its quote included. */
  const start = /^.*?:"/.exec(text)?.[0] ?? "{";
  return [
    ["text", "not json"],
    ["an object cut short", `${open},`],
    ["a trailing comma", `${open},}`],
    ["single quotes", text.replaceAll('"', "'")],
    ["a form", form.toString()],
    [
      "bytes that are no UTF-8",
      Buffer.concat([Buffer.from(start), Buffer.from([0xff, 0xfe]), Buffer.from(text.slice(start.length))]),
    ],
    ["NaN", text.replace(/"amount":[^,}]+/, '"amount":NaN')],
    ["two objects", text + text],
  ];
}

/** Bodies that are JSON but no object; the list of one holds a sound request. */
export const notObjects = (sound: Record<string, unknown>): [string, unknown][] => [
  ["null", null],
  ["an array", []],
  ["an array of one request", [sound]],
  ["a string", "certify"],
  ["a number", 100],
  ["true", true],
];

export const jsonChecks: Check[] = [
  {
    name: "create with a body that is no JSON",
    ids: ["json.malformed-refused"],
    effect: "must-be-rejected",
    async run(context) {
      for (const [name, body] of malformed(disbursementBody(context))) {
        const response = await payInvalid(context, undefined, { body, headers: json });
        context.judge("json.malformed-refused", is4xx(response), `a 4xx to ${name}`, describeResponse(response), [
          response,
        ]);
      }
    },
  },
  {
    name: "create with a body that is no object",
    ids: ["json.object-required"],
    effect: "must-be-rejected",
    async run(context) {
      for (const [name, body] of notObjects(disbursementBody(context))) {
        const response = await payInvalid(context, body);
        context.judge(
          "json.object-required",
          isRefusal(response),
          `400 or 422 to ${name}`,
          describeResponse(response),
          [response],
        );
      }
    },
  },
  {
    name: "create without a body",
    ids: ["json.body-required"],
    effect: "must-be-rejected",
    async run(context) {
      for (const headers of [json, {}]) {
        const response = await payInvalid(context, undefined, { headers: { ...headers, "content-length": "0" } });
        context.judge("json.body-required", is4xx(response), "a 4xx to no body at all", describeResponse(response), [
          response,
        ]);
      }
    },
  },
  {
    name: "create with a charset in Content-Type",
    ids: ["json.charset-accepted"],
    effect: "moves-money",
    payouts: 2,
    amount: 200,
    async run(context) {
      for (const type of ["application/json; charset=utf-8", "application/json;charset=UTF-8"]) {
        const reference = `${context.fresh()}-é`;
        const response = await pay(context, disbursementBody(context, { reference }), {
          headers: { "content-type": type },
        });
        const ok = response.status === 200 && dataOf(response)["merchantsReference"] === reference;
        context.judge(
          "json.charset-accepted",
          ok,
          `200 to Content-Type ${type}, text understood`,
          describeResponse(response),
          [response],
        );
      }
    },
  },
];
