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
      for (const { what, value } of almostKeys(context)) {
        const response = await verifyDisbursement(context, context.fresh(), { key: { value } });
        expectStatus(context, "auth.whole-key-compared", response, 401, `for ${what}`);
      }
    },
  },
  {
    name: "Verify refuses the key outside the x-api-key header",
    ids: ["auth.key-only-in-header"],
    effect: "none",
    async run(context) {
      for (const { where, headers } of keysElsewhere(context)) {
        const response = await verifyDisbursement(context, context.fresh(), { key: "none", headers });
        expectStatus(context, "auth.key-only-in-header", response, 401, `for the key in ${where}`);
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
