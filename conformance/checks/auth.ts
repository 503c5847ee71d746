// Checks authentication (§5).
import type { Check, Context } from "../check.ts";
import type { TargetRequest } from "../target/exchange.ts";
import { basic, oppositeCase, withoutLast } from "../target/key-forms.ts";
import { expectStatus } from "./expect.ts";
import { checkoutBody, disbursementBody, paid, pay, startCheckout, verifyDisbursement, pays } from "./requests.ts";

/** A well-formed key that no merchant has. */
export const wrongKey = (context: Context) => ({ value: `certify-wrong-${context.options.runId}` });

async function refused(context: Context, id: string, what: string, send: () => ReturnType<typeof verifyDisbursement>) {
  expectStatus(context, id, await send(), 401, what);
}

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
      run: (context) => refused(context, ids[index] as string, kind.name, () => send(context, kind.key(context))),
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
        await refused(context, "auth.whole-key-compared", `for ${name}`, () =>
          verifyDisbursement(context, context.fresh(), { key: { value } }),
        );
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
        await refused(context, "auth.key-only-in-header", `for the key in ${name}`, () =>
          verifyDisbursement(context, context.fresh(), { key: "none", headers }),
        );
      }
    },
  },
  {
    name: "Existing record is hidden without a valid key",
    ids: ["auth.record-hidden-without-key"],
    ...pays(1),
    async run(context) {
      const { reference } = await paid(context);
      for (const { name, key } of keys) {
        await refused(context, "auth.record-hidden-without-key", name, () =>
          verifyDisbursement(context, reference, { key: key(context) }),
        );
      }
    },
  },
];
