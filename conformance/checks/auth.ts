// Checks authentication (§5).
import type { Check, Context } from "../check.ts";
import type { TargetRequest, TargetResponse } from "../target/exchange.ts";
import { basic, oppositeCase, withoutLast } from "../target/key-forms.ts";
import { expectStatus } from "./expect.ts";
import { checkoutBody, disbursementBody, paid, pay, pays, startCheckout, verifyDisbursement } from "./requests.ts";

/** A well-formed key that no merchant has. */
export const wrongKey = (context: Context) => ({ value: `certify-wrong-${context.options.runId}` });

/** Each endpoint has two checks: without a key, and with an unknown key. */
const endpoints = [
  {
    name: "Creating a disbursement",
    ids: ["auth.create-needs-key", "auth.create-refuses-wrong-key"],
    effect: "must-be-rejected",
    send: (context: Context, key: TargetRequest["key"]) =>
      pay(context, disbursementBody(context), { effect: "must-be-rejected", key }),
  },
  {
    name: "Verifying a disbursement",
    ids: ["auth.verify-needs-key", "auth.verify-refuses-wrong-key"],
    effect: "none",
    send: (context: Context, key: TargetRequest["key"]) => verifyDisbursement(context, context.fresh(), { key }),
  },
  {
    name: "Creating a checkout",
    ids: ["auth.checkout-needs-key", "auth.checkout-refuses-wrong-key"],
    effect: "must-be-rejected",
    send: (context: Context, key: TargetRequest["key"]) =>
      startCheckout(context, checkoutBody(context), { effect: "must-be-rejected", key }),
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

/** Values that differ slightly from the valid key. It is very unlikely that one of them is another merchant's key. */
export const almostKeys: [string, (key: string) => string][] = [
  ["an empty key", () => ""],
  [withoutLast.what, withoutLast.of],
  ["the key with an extra character", (key) => `${key}x`],
  ["the key with its last character replaced", (key) => key.slice(0, -1) + (key.endsWith("A") ? "B" : "A")],
  [oppositeCase.what, oppositeCase.of],
  ["the key in quotes", (key) => `"${key}"`],
  ["the key prefixed with Bearer", (key) => `Bearer ${key}`],
];

export const keysElsewhere: [string, (key: string) => Pick<TargetRequest, "path" | "headers">][] = [
  ["Authorization: Bearer", (key) => ({ path: "", headers: { authorization: `Bearer ${key}` } })],
  ["Authorization: Basic", (key) => ({ path: "", headers: { authorization: `Basic ${basic.of(key)}` } })],
  ["a cookie", (key) => ({ path: "", headers: { cookie: `x-api-key=${key}; api_key=${key}` } })],
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
  {
    name: "Verify refuses keys that differ slightly from the valid one",
    ids: ["auth.whole-key-compared"],
    effect: "none",
    async run(context) {
      const { key } = context.options;
      for (const [name, alter] of almostKeys) {
        const value = alter(key);
        if (value === key) continue;
        const response = await verifyDisbursement(context, context.fresh(), { key: { value } });
        expectStatus(context, "auth.whole-key-compared", response, 401, `for ${name}`);
      }
    },
  },
  {
    name: "Verify refuses the key outside the x-api-key header",
    ids: ["auth.key-only-in-header"],
    effect: "none",
    async run(context) {
      for (const [name, place] of keysElsewhere) {
        const { headers } = place(context.options.key);
        const response = await verifyDisbursement(context, context.fresh(), { key: "none", headers });
        expectStatus(context, "auth.key-only-in-header", response, 401, `for the key in ${name}`);
      }
    },
  },
  {
    name: "Existing record is hidden without a valid key",
    ids: ["auth.record-hidden-without-key"],
    ...pays(1),
    async run(context) {
      const { reference } = await paid(context);
      const send = (key: TargetRequest["key"]) => verifyDisbursement(context, reference, { key });
      await expectKeyNeeded(context, "auth.record-hidden-without-key", "", send);
    },
  },
];
