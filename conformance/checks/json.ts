// §1, §4, §7: bodies that are not what they should be.
import { summary, type Check } from "../check.ts";
import { dataOf, disbursement, is4xx, isRefusal, pay, payInvalid } from "./requests.ts";

const json = { "content-type": "application/json" };

export const malformed: [string, string | Buffer][] = [
  ["text", "not json"],
  ["an object cut short", '{"reference":"certify-cut","amount":100,'],
  ["a trailing comma", '{"reference":"certify-comma","amount":100,}'],
  ["single quotes", "{'reference':'certify-quotes','amount':100}"],
  ["a form", "reference=certify-form&amount=100"],
  ["bytes that are no UTF-8", Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31])],
  ["NaN", '{"reference":"certify-nan","amount":NaN}'],
];

export const notObjects: [string, unknown][] = [
  ["null", null],
  ["an array", []],
  ["an array of disbursements", [{ reference: "certify-array", amount: 100 }]],
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
      for (const [name, body] of malformed) {
        const answer = await payInvalid(context, undefined, { body, headers: json });
        context.judge("json.malformed-refused", is4xx(answer), `a 4xx to ${name}`, summary(answer), [answer]);
      }
    },
  },
  {
    name: "create with a body that is no object",
    ids: ["json.object-required"],
    effect: "must-be-rejected",
    async run(context) {
      for (const [name, body] of notObjects) {
        const answer = await payInvalid(context, body);
        context.judge("json.object-required", isRefusal(answer), `400 or 422 to ${name}`, summary(answer), [answer]);
      }
    },
  },
  {
    name: "create without a body",
    ids: ["json.body-required"],
    effect: "must-be-rejected",
    async run(context) {
      for (const headers of [json, {}]) {
        const answer = await payInvalid(context, undefined, { headers: { ...headers, "content-length": "0" } });
        context.judge("json.body-required", is4xx(answer), "a 4xx to no body at all", summary(answer), [answer]);
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
        const answer = await pay(context, disbursement(context, { reference }), { headers: { "content-type": type } });
        const ok = answer.status === 200 && dataOf(answer)["merchantsReference"] === reference;
        context.judge("json.charset-accepted", ok, `200 to Content-Type ${type}, text understood`, summary(answer), [
          answer,
        ]);
      }
    },
  },
];
