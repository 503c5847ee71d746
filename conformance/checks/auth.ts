// Checks authentication (§5).
import type { Check, Context } from "../check.ts";
import type { TargetRequest, TargetResponse } from "../target/exchange.ts";
import {
  basic,
  bearer,
  lastReplaced,
  oppositeCase,
  quoted,
  whole,
  withoutLast,
  withSuffix,
} from "../target/key-forms.ts";
import { expectStatus, shows } from "./expect.ts";
import {
  checkoutBody,
  disbursementBody,
  get,
  is2xx,
  paid,
  pay,
  pays,
  startCheckout,
  verifyDisbursement,
} from "./requests.ts";

/** A well-formed key that no merchant has. */
export const wrongKey = (context: Context) => ({ value: context.target.merchant.keys[0] });

/** Each endpoint has two checks: without a key, and with an unknown key. */
const endpoints = [
  {
    name: "Creating a disbursement",
    ids: ["auth.create-needs-key", "auth.create-refuses-wrong-key"],
    effect: "must-be-rejected",
    send: (context: Context, key: TargetRequest["key"], headers: TargetRequest["headers"] = {}) =>
      pay(context, disbursementBody(context), { effect: "must-be-rejected", key, headers }),
  },
  {
    name: "Verifying a disbursement",
    ids: ["auth.verify-needs-key", "auth.verify-refuses-wrong-key"],
    effect: "none",
    send: (context: Context, key: TargetRequest["key"], headers: TargetRequest["headers"] = {}) =>
      verifyDisbursement(context, context.fresh(), { key, headers }),
  },
  {
    name: "Creating a checkout",
    ids: ["auth.checkout-needs-key", "auth.checkout-refuses-wrong-key"],
    effect: "must-be-rejected",
    send: (context: Context, key: TargetRequest["key"], headers: TargetRequest["headers"] = {}) =>
      startCheckout(context, checkoutBody(context), { effect: "must-be-rejected", key, headers }),
  },
] as const;

const keys = [
  { name: "without a key", key: () => "none" as const },
  { name: "with an unknown key", key: wrongKey },
];

/**
 * Expects 401 for a request without a key, and with an unknown key.
 * @param what names the request; empty if the check has only one
 */
export async function expectKeyNeeded(
  context: Context,
  id: string,
  what: string,
  send: (key: TargetRequest["key"]) => Promise<TargetResponse>,
) {
  for (const { name, key } of keys)
    expectStatus(context, id, await send(key(context)), 401, `${what === "" ? "" : `for ${what} `}${name}`);
}

/** Forms that differ slightly from the valid key. It is very unlikely that one of them is another merchant's key. */
export const almostForms = [withoutLast, withSuffix, lastReplaced, oppositeCase, quoted, bearer];

/** Returns values that differ slightly from the valid key. */
export const almostKeys = ({ keyAs }: Context): { what: string; value: string }[] => [
  { what: "an empty key", value: "" },
  ...almostForms.map((form) => ({ what: form.what, value: keyAs(form) })).filter(({ value }) => value !== keyAs(whole)),
];

/** Returns headers with the key in places where the contract does not have it. */
export const keysElsewhere = ({ keyAs }: Context): { where: string; headers: Record<string, string> }[] => [
  { where: "Authorization: Bearer", headers: { authorization: keyAs(bearer) } },
  { where: "Authorization: Basic", headers: { authorization: `Basic ${keyAs(basic)}` } },
  { where: "a cookie", headers: { cookie: `x-api-key=${keyAs(whole)}; api_key=${keyAs(whole)}` } },
];

/** Words that a lookup of keys in a plain JavaScript object finds. */
const inherited = ["constructor", "__proto__", "toString"];

/** Returns the keys that each endpoint must refuse, although a lenient comparison may accept them. */
const lenientKeys = (context: Context): { what: string; value: string }[] => [
  ...almostKeys(context),
  ...inherited.map((value) => ({ what: `the key ${value}`, value })),
];

/** Returns spellings of a record's path that a router may resolve after authentication has ignored them. */
const spellings = (reference: string) => [
  `/v1/disbursements/${reference}.json`,
  `/v1/disbursements/${reference}/`,
  `/v1/disbursements/${reference};key=x`,
  `//v1/disbursements/${reference}`,
  `/v1/./disbursements/${reference}`,
  `/V1/Disbursements/${reference}`,
  `/v1/%64isbursements/${reference}`,
];

const concurrency = 12;

/** The checks of one endpoint: every form of the key, and concurrent requests without a key. */
const checksOf = ({ name, effect, send }: (typeof endpoints)[number]): Check[] => [
  {
    name: `${name} with a key that differs slightly from the valid one is refused`,
    ids: ["auth.whole-key-compared"],
    effect,
    async run(context) {
      for (const { what, value } of lenientKeys(context))
        expectStatus(context, "auth.whole-key-compared", await send(context, { value }), 401, `for ${what}`);
    },
  },
  {
    name: `${name} with the key outside the x-api-key header is refused`,
    ids: ["auth.key-only-in-header"],
    effect,
    async run(context) {
      for (const { where, headers } of keysElsewhere(context)) {
        const response = await send(context, "none", headers);
        expectStatus(context, "auth.key-only-in-header", response, 401, `for the key in ${where}`);
      }
    },
  },
  {
    name: `${name} without a key is refused ${concurrency} times at once`,
    ids: ["auth.no-way-around"],
    effect,
    async run(context) {
      const responses = await Promise.all(Array.from({ length: concurrency }, () => send(context, "none")));
      for (const response of responses) {
        const expected = `no 2xx for one of ${concurrency} concurrent requests without a key`;
        shows(context, "auth.no-way-around", response, !is2xx(response), expected);
      }
    },
  },
];

export const checks: Check[] = [
  ...endpoints.flatMap(({ name, ids, effect, send }) =>
    keys.map((kind, index): Check => ({
      name: `${name} ${kind.name} is refused`,
      ids: [ids[index] as string],
      effect,
      async run(context) {
        expectStatus(context, ids[index] as string, await send(context, kind.key(context)), 401, kind.name);
      },
    })),
  ),
  ...endpoints.flatMap(checksOf),
  {
    name: "Existing record is hidden without a valid key",
    ids: ["auth.record-hidden-without-key"],
    ...pays(1),
    async run(context) {
      const { reference } = await paid(context);
      const id = "auth.record-hidden-without-key";
      const send = (key: TargetRequest["key"]) => verifyDisbursement(context, reference, { key });
      await expectKeyNeeded(context, id, "", send);
      for (const path of spellings(encodeURIComponent(reference))) {
        const response = await get(context, path, { key: "none" });
        shows(context, id, response, !is2xx(response), `no 2xx for GET ${path} without a key`);
      }
    },
  },
];
