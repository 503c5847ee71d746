// Checks the response to a checkout, the merchant's reference, and the checkout's record and states (D3, D6).
import { judges, type Context } from "../../check.ts";
import { expectData, expectOneAccepted, expectStatus, same } from "../../steps/expect.ts";
import { atOnce, pay, startCheckout, startInvalidCheckout, verifyCheckout } from "../../steps/requests.ts";
import { checkoutBody, disbursementBody, someAddress } from "../../steps/bodies.ts";
import { dataOf, describeResponse, type TargetResponse } from "../../target/exchange.ts";
import { usualAmount } from "../../generate/plan.ts";
import { finishAny } from "../../steps/checkouts.ts";
import { started } from "../../steps/records.ts";
import { advance, finishCheckout } from "../../steps/sandbox-controls.ts";

/** Returns the faults of a response. The response must be a 200 and match a schema. */
const faultsIn = (context: Context, response: TargetResponse, schema: string) =>
  response.status === 200 ? context.validator(schema)(response.json) : [describeResponse(response)];

const concurrency = 10;
const outcomes = ["success", "failed", "cancelled"];

export const checks = [
  judges(["checkout-body.shape", "checkout-body.echo"], {}, async (context, id) => {
    const own = context.fresh();
    const response = await startCheckout(context, checkoutBody(context, { amount: 123_456, reference: own }));
    const shape = "200 with url, reference, merchantsReference, amount, fee and status";
    const faults = faultsIn(context, response, "CheckoutCreatedEnvelope");
    context.judge(id, faults.length === 0, shape, faults, response);
    const data = dataOf(response);
    const echoed = data["amount"] === 123_456 && data["merchantsReference"] === own;
    context.judge("checkout-body.echo", echoed, "amount and merchantsReference as in the request", response);
    const bare = await started(context);
    const actual = bare.data["merchantsReference"];
    const what = "if the request has no reference, merchantsReference";
    same(context, "checkout-body.echo", what, actual, bare.reference, bare.response);
  }),
  judges(
    "checkout-request.reference-unique",
    { name: `Of ${concurrency} concurrent checkouts, one is accepted`, alone: true },
    async (context, id) => {
      const body = checkoutBody(context, { reference: context.fresh() });
      const bodies = Array.from({ length: concurrency }, () => body);
      expectOneAccepted(context, id, await atOnce(context, bodies, { path: "/v1/checkouts" }));
    },
  ),
  judges("checkout-request.reference-apart", { pays: 1 }, async (context, id) => {
    // Checkout and payout also have the same amount, so that life.webhooks-addressed notices if the target confuses
    // the two.
    const shared = { reference: context.fresh(), amount: usualAmount };
    const { response: first } = await started(context, { ...shared, webhookURL: someAddress(context) });
    const response = await pay(context, disbursementBody(context, { ...shared, webhookURL: someAddress(context) }));
    await finishAny(context, first, "success");
    expectStatus(context, id, response, 200, "for a disbursement with a checkout's reference", [first, response]);
  }),
  judges("checkout-request.locale", {}, async (context, id) => {
    for (const locale of ["en", "fr"]) {
      const response = await startCheckout(context, checkoutBody(context, { locale }));
      expectStatus(context, id, response, 200, `for locale ${locale}`);
    }
    for (const [locale, expected] of [
      ["de", 422],
      ["EN", 422],
      ["", 422],
      [1, 400],
    ] as const) {
      const response = await startInvalidCheckout(context, checkoutBody(context, { locale }));
      expectStatus(context, id, response, expected, `for locale ${JSON.stringify(locale)}`);
    }
  }),
  judges("checkout-record.shape", {}, async (context, id) => {
    const address = someAddress(context);
    const addresses = { webhookURL: address, redirectURL: address };
    const { reference } = await started(context, { reference: context.fresh(), ...addresses });
    const response = await verifyCheckout(context, reference);
    const faults = faultsIn(context, response, "CheckoutEnvelope");
    context.judge(id, faults.length === 0, "200 with the record of a checkout", faults);
  }),
  judges("checkout-record.unknown-404", {}, async (context, id) => {
    for (const reference of [context.fresh(), "CHK0000000000000000000000"]) {
      const response = await verifyCheckout(context, reference);
      expectStatus(context, id, response, 404, "for an unknown checkout");
    }
  }),
  judges("checkout-request.reference-per-merchant", { needs: ["second-key"] }, async (context, id) => {
    const { body, reference } = await started(context, { reference: context.fresh() });
    const other = await startCheckout(context, body, { key: "second" });
    expectStatus(context, id, other, 200, "for a reference that only another merchant has used");
    const { reference: service, merchantsReference } = dataOf(other);
    const actual = { merchantsReference, checkout: service === reference ? "the other merchant's" : "a new one" };
    const expected = { merchantsReference: body["reference"], checkout: "a new one" };
    same(context, id, "the response's references:", actual, expected, other);
  }),

  judges(
    ["checkout-states.outcomes", "checkout-states.final", "sandbox.finish"],
    { needs: ["finish"] },
    async (context, id) => {
      // Checkouts with the same amount are open at the same time, and the latest checkout ends first.
      const { body, ...first } = await started(context);
      const others = [await started(context, body), await started(context, body)];
      for (const [index, { data, reference }] of [first, ...others].toReversed().entries()) {
        const outcome = outcomes[index]!;
        same(context, id, "at first, status", data["status"], "pending");
        const ended = await finishCheckout(context, reference, outcome);
        expectData(context, "sandbox.finish", ended, { status: outcome }, "for the finished checkout");
        expectData(context, id, await verifyCheckout(context, reference), { status: outcome }, "in its record");
        const again = await finishCheckout(context, reference, outcomes.find((other) => other !== outcome) ?? "");
        const later = await verifyCheckout(context, reference);
        const stays = again.status === 409 && dataOf(later)["status"] === outcome;
        const expected = `409 for a second finish, and status ${outcome} as before`;
        const actual = `${describeResponse(again)}; then ${describeResponse(later)}`;
        context.judge("checkout-states.final", stays, expected, actual, [again, later]);
      }
    },
  ),
  judges("checkout-states.expiry", { needs: ["clock"] }, async (context, id) => {
    const { reference } = await started(context);
    for (const [minutes, status, when] of [
      [29, "pending", "after 29 minutes"],
      [2, "cancelled", "after 31 minutes"],
    ] as const) {
      await advance(context, 60 * minutes);
      expectData(context, id, await verifyCheckout(context, reference), { status }, when);
    }
  }),
];
