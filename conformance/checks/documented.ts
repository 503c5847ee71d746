// Lists the requests that provoke each documented response, so that Dredd can judge the response. The list omits
// responses that cannot be provoked on demand (429, most 500). It also omits the sandbox operations, because some of
// them delete the caller's data.
import type { Context } from "../check.ts";
import type { Profile } from "../results.ts";
import type { Effect } from "../results.ts";
import type { TargetRequest } from "../target/exchange.ts";
import { checkoutBody, dataOf, disbursementBody, paid, startCheckout, usualAmount } from "./requests.ts";

/**
 * The parts in which a request may differ from others to the same operation. `json` is sent as JSON, `body` unchanged.
 */
type Made = {
  parameter?: string;
  query?: string;
  json?: unknown;
  body?: string;
  key?: TargetRequest["key"];
  type?: string;
  forced?: boolean;
};

export type Documented = {
  method: string;
  template: string;
  status: number;
  /** The requirement under which the result is reported. */
  id: string;
  profile: Profile;
  effect: Effect;
  payouts?: number;
  /** Set if the request is sent only to a target with sandbox controls. */
  sandbox?: true;
  make(context: Context): Made | Promise<Made>;
};

const withoutKey = { key: "none" as const };
const tooLarge = (json: Record<string, unknown>) => ({ json: { ...json, padding: "x".repeat(17_000) } });

const disbursements = { method: "POST", template: "/v1/disbursements" };
const aDisbursement = { method: "GET", template: "/v1/disbursements/{reference}" };
const checkouts = { method: "POST", template: "/v1/checkouts" };
const aCheckout = { method: "GET", template: "/v1/checkouts/{reference}" };
const paying = { effect: "moves-money", payouts: 1 } as const;
const creating = { effect: "moves-money" } as const;
const rejected = { effect: "must-be-rejected" } as const;
const harmless = { effect: "none" } as const;
const core = { profile: "core" } as const;
const extended = { profile: "extended" } as const;

const startedReference = async (context: Context) => {
  const data = dataOf(await startCheckout(context, checkoutBody(context)));
  return String(data["reference"]);
};

const forDisbursements: Documented[] = [
  {
    ...disbursements,
    status: 200,
    id: "create.accepted",
    ...core,
    ...paying,
    make: (c) => ({ json: disbursementBody(c) }),
  },
  {
    ...disbursements,
    status: 400,
    id: "create.amount-required",
    ...core,
    ...rejected,
    make: (c) => ({ json: disbursementBody(c, { amount: undefined }) }),
  },
  {
    ...disbursements,
    status: 401,
    id: "auth.create-needs-key",
    ...core,
    ...rejected,
    make: (c) => ({ json: disbursementBody(c), ...withoutKey }),
  },
  {
    ...disbursements,
    status: 409,
    id: "create.duplicate-refused",
    ...core,
    ...paying,
    payouts: 2,
    make: async (c) => ({ json: (await paid(c)).body }),
  },
  {
    ...disbursements,
    status: 413,
    id: "limits.body-size",
    ...extended,
    ...rejected,
    make: (c) => tooLarge(disbursementBody(c)),
  },
  {
    ...disbursements,
    status: 415,
    id: "refusal.media-type-415",
    ...extended,
    ...rejected,
    make: (c) => ({ json: disbursementBody(c), type: "text/plain" }),
  },
  {
    ...disbursements,
    status: 422,
    id: "create.phone-pattern",
    ...core,
    ...rejected,
    make: (c) => ({ json: disbursementBody(c, { phoneNumber: "12" }) }),
  },
  {
    ...disbursements,
    status: 500,
    id: "forced.500-records-nothing",
    ...extended,
    ...paying,
    sandbox: true,
    make: (c) => ({ json: disbursementBody(c, { phoneNumber: "2250000000500" }), forced: true }),
  },
  {
    ...disbursements,
    status: 503,
    id: "forced.503-twice",
    ...extended,
    ...paying,
    sandbox: true,
    make: (c) => ({ json: disbursementBody(c, { phoneNumber: "2250000000503" }), forced: true }),
  },
  {
    ...aDisbursement,
    status: 200,
    id: "verify.record-shape",
    ...core,
    ...paying,
    make: async (c) => ({ parameter: (await paid(c)).reference }),
  },
  {
    ...aDisbursement,
    status: 401,
    id: "auth.verify-needs-key",
    ...core,
    ...harmless,
    make: (c) => ({ parameter: c.fresh(), ...withoutKey }),
  },
  {
    ...aDisbursement,
    status: 404,
    id: "verify.unknown-404",
    ...core,
    ...harmless,
    make: (c) => ({ parameter: c.fresh() }),
  },
];

const forCheckouts: Documented[] = [
  {
    ...checkouts,
    status: 200,
    id: "checkout.accepted",
    ...core,
    ...creating,
    make: (c) => ({ json: checkoutBody(c) }),
  },
  {
    ...checkouts,
    status: 400,
    id: "checkout.amount-required",
    ...core,
    ...rejected,
    make: (c) => ({ json: checkoutBody(c, { amount: undefined }) }),
  },
  {
    ...checkouts,
    status: 401,
    id: "auth.checkout-needs-key",
    ...core,
    ...rejected,
    make: (c) => ({ json: checkoutBody(c), ...withoutKey }),
  },
  {
    ...checkouts,
    status: 409,
    id: "checkout-request.reference-unique",
    ...extended,
    ...creating,
    async make(c) {
      const json = checkoutBody(c, { reference: c.fresh() });
      await startCheckout(c, json);
      return { json };
    },
  },
  {
    ...checkouts,
    status: 413,
    id: "limits.body-size",
    ...extended,
    ...rejected,
    make: (c) => tooLarge(checkoutBody(c)),
  },
  {
    ...checkouts,
    status: 415,
    id: "refusal.media-type-415",
    ...extended,
    ...rejected,
    make: (c) => ({ json: checkoutBody(c), type: "text/plain" }),
  },
  {
    ...checkouts,
    status: 422,
    id: "checkout-request.amount",
    ...extended,
    ...rejected,
    make: (c) => ({ json: checkoutBody(c, { amount: 0 }) }),
  },
  {
    ...aCheckout,
    status: 200,
    id: "checkout-record.shape",
    ...extended,
    ...creating,
    make: async (c) => ({ parameter: await startedReference(c) }),
  },
  {
    ...aCheckout,
    status: 401,
    id: "checkout-record.needs-key",
    ...extended,
    ...harmless,
    make: (c) => ({ parameter: c.fresh(), ...withoutKey }),
  },
  {
    ...aCheckout,
    status: 404,
    id: "checkout-record.unknown-404",
    ...extended,
    ...harmless,
    make: (c) => ({ parameter: c.fresh() }),
  },
];

/** The documented responses that can be provoked, in the order of the OpenAPI document. */
export const documented: readonly Documented[] = [...forDisbursements, ...forCheckouts];

/** Returns the largest number of payouts that these requests can cause, and the sum of their amounts. */
export const costOf = (rows: readonly Documented[]) => {
  const payouts = rows.reduce((sum, row) => sum + (row.payouts ?? 0), 0);
  return { payouts, amount: payouts * usualAmount };
};
