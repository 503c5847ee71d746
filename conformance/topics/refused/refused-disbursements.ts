// Checks that refused disbursements leave nothing behind (§5 to §7).
import { Prerequisite, type Check, type Context } from "../../check.ts";
import type { TargetRequest } from "../../target/exchange.ts";
import { alteredKeys } from "../../generate/bypasses.ts";
import { wrongKey } from "../../steps/probes.ts";
import { malformed } from "../json/json.ts";
import { awaitWebhook, costOf, judgeAddresses, refuseThenPay, type Refusable } from "./refused-requests.ts";
import { asJson, pay, payInvalid } from "../../steps/requests.ts";

const withKey = (what: string, key: (context: Context) => TargetRequest["key"]): Refusable => ({
  what,
  send: (context, body) => payInvalid(context, body, { key: key(context) }),
});

const unauthenticated: Refusable[] = [
  withKey("no key", () => "none"),
  withKey("an unknown key", wrongKey),
  withKey("an empty key", () => ({ value: "" })),
  ...alteredKeys.map(({ what, of }) =>
    withKey(what, (context) => {
      const value = context.keyAs(of);
      return value === context.keyAs((key) => key) ? wrongKey(context) : { value };
    }),
  ),
];

const fields = ["reference", "amount", "phoneNumber", "country", "currency"];
/** Invalid values of every kind. A request without a reference is among them. */
const invalid: Refusable[] = [
  ...fields.flatMap((field) => [{ [field]: undefined }, { [field]: true }]),
  { amount: 0 },
  { phoneNumber: "12" },
  { country: "ci" },
  { currency: "xof" },
  { webhookURL: "not a url" },
].map((over: Record<string, unknown>) => ({
  what: Object.entries(over)
    .map(([field, value]) => `${field} ${JSON.stringify(value) ?? "missing"}`)
    .join(),
  send: (context, body) => payInvalid(context, { ...body, ...over }),
}));

const notRequests: Refusable[] = [
  ...malformed({}).map(([what], index): Refusable => ({
    what,
    send: (context, body) => payInvalid(context, undefined, asJson(malformed(body)[index]![1])),
  })),
  { what: "an array of one request", send: (context, body) => payInvalid(context, [body]) },
];

const types: Refusable[] = [
  ["text/plain", { "content-type": "text/plain" }],
  ["application/xml", { "content-type": "application/xml" }],
  ["form data", { "content-type": "application/x-www-form-urlencoded" }],
  ["no Content-Type", {}],
].map(([what, headers]) => ({
  what: `Content-Type ${what as string}`,
  send: (context, body) =>
    pay(context, undefined, { body: JSON.stringify(body), headers: headers as Record<string, string> }),
}));

/** Sizes above the limits of common servers and frameworks. The padding does not change the JSON value. */
const sizes: Refusable[] = [20, 128].map((kibibytes) => ({
  what: `a body of ${kibibytes} KiB`,
  send: (context, body) =>
    pay(context, undefined, asJson(`${JSON.stringify(body).slice(0, -1)}${" ".repeat(kibibytes * 1024)}}`)),
}));

const paths: Refusable[] = [
  "/v1/disbursements/",
  "/V1/Disbursements",
  "/v1/disbursement",
  "/v1/disbursements/new",
  "/disbursements",
].map((path) => ({
  what: `POST ${path}`,
  send: (context, body) => context.target.send({ method: "POST", path, effect: "moves-money", json: body }),
}));

const methods: Refusable[] = ["PUT", "PATCH", "DELETE"].map((method) => ({
  what: `${method} /v1/disbursements`,
  send: (context, body) =>
    context.target.send({ method, path: "/v1/disbursements", effect: "moves-money", json: body }),
}));

const stated: { id: string; name: string; cases: Refusable[] }[] = [
  {
    id: "refused.unauthenticated-leaves-nothing",
    name: "Disbursement without a valid key leaves nothing behind",
    cases: unauthenticated,
  },
  { id: "refused.invalid-leaves-nothing", name: "Invalid disbursement leaves nothing behind", cases: invalid },
  {
    id: "refused.malformed-leaves-nothing",
    name: "Disbursement that is not a JSON object leaves nothing behind",
    cases: notRequests,
  },
];

/** Kinds of requests that the interface does not define. A target may accept such requests. */
const open = [types, sizes, paths, methods];

export const checks: Check[] = [
  ...stated.map(({ id, name, cases }): Check => ({
    name,
    ids: [id, "refused.no-webhook"],
    ...costOf(cases),
    async *run(context) {
      const { judged, paid } = await refuseThenPay(context, id, cases);
      if (!judged) throw new Prerequisite("a refusal of an invalid request", "every such request was accepted");
      yield;
      if (paid) await awaitWebhook(context, paid);
      judgeAddresses(context);
    },
  })),
  {
    name: "Request with another path, method, size or Content-Type leaves nothing behind if refused",
    ids: ["refused.unsupported-leaves-nothing", "refused.no-webhook"],
    ...costOf(...open),
    async *run(context) {
      const [id = ""] = this.ids;
      const groups = [];
      for (const cases of open) groups.push(await refuseThenPay(context, id, cases));
      const last = groups.findLast(({ paid }) => paid)?.paid;
      yield;
      if (last) await awaitWebhook(context, last);
      if (!groups.some(({ judged }) => judged))
        context.notApplicable(id, "the target refuses no path, method, size or Content-Type");
      judgeAddresses(context);
    },
  },
];
