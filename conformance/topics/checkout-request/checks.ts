// Checks the response to a checkout, the merchant's reference, and the checkout's record and states (D3, D6).
import { define, type Context } from "../../check.ts";
import { hasControl } from "../../run-options.ts";
import { expectData, expectNoFaults, expectOneAccepted, expectStatus, same, shows } from "../../steps/expect.ts";
import { atOnce, pay, startCheckout, startInvalidCheckout, verifyCheckout } from "../../steps/requests.ts";
import { checkoutBody, disbursementBody, someAddress } from "../../steps/bodies.ts";
import { dataOf } from "../../steps/responses.ts";
import { usualAmount } from "../../generate/plan.ts";
import { finishAny } from "../../steps/checkouts.ts";
import { started } from "../../steps/records.ts";
import { advance, finishCheckout } from "../../steps/sandbox-controls.ts";
import { describeResponse, type TargetResponse } from "../../target/exchange.ts";

/** Returns the faults of a response. The response must be a 200 and match a schema. */
const faultsIn = (context: Context, response: TargetResponse, schema: string) =>
  response.status === 200 ? context.validator(schema)(response.json) : [describeResponse(response)];

const concurrency = 10;
const outcomes = ["success", "failed", "cancelled"];

export const checks = define([
  {
    name: "Response to a checkout has all fields and repeats the request's values",
    ids: ["checkout-body.shape", "checkout-body.echo"],
    async run(context) {
      const own = context.fresh();
      const response = await startCheckout(context, checkoutBody(context, { amount: 123_456, reference: own }));
      const shape = "200 with url, reference, merchantsReference, amount, fee and status";
      const faults = faultsIn(context, response, "CheckoutCreatedEnvelope");
      expectNoFaults(context, "checkout-body.shape", shape, faults, response);
      const data = dataOf(response);
      const echoed = data["amount"] === 123_456 && data["merchantsReference"] === own;
      shows(context, "checkout-body.echo", response, echoed, "amount and merchantsReference as in the request");
      const bare = await started(context);
      const actual = bare.data["merchantsReference"];
      const what = "if the request has no reference, merchantsReference";
      same(context, "checkout-body.echo", { what, actual, expected: bare.reference }, bare.response);
    },
  },
  {
    name: `Of ${concurrency} concurrent checkouts with the same reference, one is accepted`,
    ids: ["checkout-request.reference-unique"],
    async run(context) {
      const body = checkoutBody(context, { reference: context.fresh() });
      const bodies = Array.from({ length: concurrency }, () => body);
      const responses = await atOnce(context, bodies, { path: "/v1/checkouts" });
      expectOneAccepted(context, "checkout-request.reference-unique", responses);
    },
  },
  {
    name: "Checkout and disbursement can have the same reference",
    ids: ["checkout-request.reference-apart"],
    pays: 1,
    async run(context) {
      // Checkout and payout also have the same amount, so that life.webhooks-addressed notices if the target confuses
      // the two.
      const shared = { reference: context.fresh(), amount: usualAmount };
      const { response: first } = await started(context, { ...shared, webhookURL: someAddress(context) });
      const response = await pay(context, disbursementBody(context, { ...shared, webhookURL: someAddress(context) }));
      if (hasControl(context.options, "finish")) await finishAny(context, first, "success");
      const when = "for a disbursement with a checkout's reference";
      expectStatus(context, "checkout-request.reference-apart", response, 200, when, [first, response]);
    },
  },
  {
    name: "Checkout locale must be en or fr",
    ids: ["checkout-request.locale"],
    async run(context) {
      for (const locale of ["en", "fr"]) {
        const response = await startCheckout(context, checkoutBody(context, { locale }));
        expectStatus(context, "checkout-request.locale", response, 200, `for locale ${locale}`);
      }
      for (const [locale, expected] of [
        ["de", 422],
        ["EN", 422],
        ["", 422],
        [1, 400],
      ] as const) {
        const response = await startInvalidCheckout(context, checkoutBody(context, { locale }));
        expectStatus(context, "checkout-request.locale", response, expected, `for locale ${JSON.stringify(locale)}`);
      }
    },
  },
  {
    name: "Checkout record has every documented field",
    ids: ["checkout-record.shape"],
    async run(context) {
      const address = someAddress(context);
      const { reference } = await started(context, {
        reference: context.fresh(),
        webhookURL: address,
        redirectURL: address,
      });
      const response = await verifyCheckout(context, reference);
      const faults = faultsIn(context, response, "CheckoutEnvelope");
      expectNoFaults(context, "checkout-record.shape", "200 with the record of a checkout", faults);
    },
  },
  {
    name: "Unknown checkout returns 404",
    ids: ["checkout-record.unknown-404"],
    async run(context) {
      for (const reference of [context.fresh(), "CHK0000000000000000000000"]) {
        const response = await verifyCheckout(context, reference);
        expectStatus(context, "checkout-record.unknown-404", response, 404, "for an unknown checkout");
      }
    },
  },
  {
    name: "Two merchants can give their checkouts the same reference",
    ids: ["checkout-request.reference-per-merchant"],
    needs: ["second-key"],
    async run(context) {
      const id = "checkout-request.reference-per-merchant";
      const { body, reference } = await started(context, { reference: context.fresh() });
      const other = await startCheckout(context, body, { key: "second" });
      expectStatus(context, id, other, 200, "for a reference that only another merchant has used");
      const { reference: service, merchantsReference } = dataOf(other);
      const actual = { merchantsReference, checkout: service === reference ? "the other merchant's" : "a new one" };
      const expected = { merchantsReference: body["reference"], checkout: "a new one" };
      same(context, id, { what: "the response's references:", actual, expected }, other);
    },
  },

  {
    name: "Checkout can be finished once, with each outcome",
    ids: ["checkout-states.outcomes", "checkout-states.final", "sandbox.finish"],
    needs: ["finish"],
    async run(context) {
      // Checkouts with the same amount are open at the same time, and the latest checkout ends first.
      const { body, ...first } = await started(context);
      const others = [await started(context, body), await started(context, body)];
      for (const [index, { data, reference }] of [first, ...others].toReversed().entries()) {
        const outcome = outcomes[index]!;
        const initial = { what: "at first, status", actual: data["status"], expected: "pending" };
        same(context, "checkout-states.outcomes", initial);
        const ended = await finishCheckout(context, reference, outcome);
        expectData(context, "sandbox.finish", ended, { status: outcome }, "for the finished checkout");
        const record = await verifyCheckout(context, reference);
        shows(context, "checkout-states.outcomes", record, dataOf(record)["status"] === outcome, `status ${outcome}`);
        const again = await finishCheckout(context, reference, outcomes.find((other) => other !== outcome) ?? "");
        const later = await verifyCheckout(context, reference);
        const stays = again.status === 409 && dataOf(later)["status"] === outcome;
        const expected = `409 for a second finish, and status ${outcome} as before`;
        const actual = `${describeResponse(again)}; then ${describeResponse(later)}`;
        context.judge("checkout-states.final", stays, expected, actual, [again, later]);
      }
    },
  },
  {
    name: "Unpaid checkout is cancelled after 30 minutes",
    ids: ["checkout-states.expiry"],
    needs: ["clock"],
    async run(context) {
      const { reference } = await started(context);
      const steps = [
        { seconds: 1740, expected: "pending", when: "after 29 minutes" },
        { seconds: 120, expected: "cancelled", when: "after 31 minutes" },
      ];
      for (const { seconds, expected, when } of steps) {
        await advance(context, seconds);
        const response = await verifyCheckout(context, reference);
        const ok = dataOf(response)["status"] === expected;
        shows(context, "checkout-states.expiry", response, ok, `status ${expected} ${when}`);
      }
    },
  },
]);
