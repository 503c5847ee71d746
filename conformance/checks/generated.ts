// Requests made from the contract: tables of mutations, and random ones from the seed of the run.
import { describeResponse, type Check, type Context } from "../check.ts";
import type { Schema } from "../contract/contract.ts";
import { anyValueFor, sample, soundDisbursements } from "../generate/arbitraries.ts";
import { mutations } from "../generate/mutations.ts";
import type { TargetResponse } from "../target/exchange.ts";
import { inlined } from "../contract/validate.ts";
import {
  checkoutBody,
  dataOf,
  disbursementBody,
  isRefusal,
  pay,
  payInvalid,
  startInvalidCheckout,
  verifyDisbursement,
} from "./requests.ts";

const randomInvalid = 100;
const randomValid = 12;
const largestAmount = 1000;

type Invalid = { what: string; body: Record<string, unknown>; faults: string[] };

/** What JSON makes of a value: it has no undefined and no minus zero. */
const asSent = (body: Record<string, unknown>) => JSON.parse(JSON.stringify(body)) as Record<string, unknown>;

/** Mutations and random changes of a sound request that the contract, as far as the profile promises it, rules out. */
function invalidRequests(context: Context, schema: string, sound: () => Record<string, unknown>): Invalid[] {
  const validate = context.validator(schema);
  const plain: Schema = inlined(context.options.profile, schema);
  const fields = Object.keys(plain.properties ?? {}).filter(
    (field) => Object.keys(plain.properties?.[field] ?? {}).length > 0,
  );
  const table = mutations(plain, sound()).map(({ what, field, body }) => ({
    what,
    // Only what breaks the reference goes without a fresh one.
    body: field === "reference" ? body : { ...body, reference: sound()["reference"] },
  }));
  const random = sample(anyValueFor(fields), randomInvalid, context.options.seed).map(([field, value]) => ({
    what: `${field}: ${JSON.stringify(value)?.slice(0, 60)}`,
    body: { ...sound(), [field]: value },
  }));
  return [...table, ...random]
    .map(({ what, body }) => ({ what, body: asSent(body), faults: validate(asSent(body)) }))
    .filter(({ faults }) => faults.length > 0);
}

/** Whether every fault is one that D1 answers with 422: the type fits, the value does not. */
const isValueFault = (faults: readonly string[]) =>
  faults.every(
    (fault) => !/ must be (integer|string|object|number|array|boolean|null)| must have required property/.test(fault),
  );

async function judgeAll(
  context: Context,
  id: string,
  requests: readonly Invalid[],
  send: (body: unknown) => Promise<TargetResponse>,
) {
  for (const { what, body, faults } of requests) {
    const response = await send(body);
    const status = isValueFault(faults) ? 422 : 400;
    const exact = context.options.profile === "extended";
    const ok = exact ? response.status === status : isRefusal(response);
    const expected = `${exact ? status : "400 or 422"} to ${what} (${faults[0]})`;
    context.judge(id, ok, expected, describeResponse(response), [response]);
  }
}

/** A reference of any text that nobody has used. */
const freshText = (context: Context, text: string) => `${text} ${context.fresh()}`;

export const generatedChecks: Check[] = [
  {
    name: "generated disbursements that break the contract",
    ids: ["create.generated-invalid-refused"],
    effect: "must-be-rejected",
    run: (context) =>
      judgeAll(
        context,
        "create.generated-invalid-refused",
        invalidRequests(context, "DisbursementRequest", () => disbursementBody(context)),
        (body) => payInvalid(context, body),
      ),
  },
  {
    name: "generated checkouts that break the contract",
    ids: ["checkout-request.generated-refused"],
    effect: "must-be-rejected",
    run: (context) =>
      judgeAll(
        context,
        "checkout-request.generated-refused",
        invalidRequests(context, "CheckoutRequest", () => checkoutBody({ reference: context.fresh() })),
        (body) => startInvalidCheckout(context, body),
      ),
  },
  {
    name: "generated disbursements that keep the contract",
    ids: ["create.generated-valid-accepted"],
    effect: "moves-money",
    payouts: randomValid,
    amount: randomValid * largestAmount,
    needs: ["safe-numbers"],
    async run(context) {
      const { recipient, seed } = context.options;
      for (const { text, ...fields } of sample(soundDisbursements(recipient, largestAmount), randomValid, seed)) {
        const body = { ...fields, reference: freshText(context, text) };
        const response = await pay(context, body);
        const { merchantsReference, amount, reference } = dataOf(response);
        const echoed = response.status === 200 && merchantsReference === body.reference && amount === body.amount;
        const expected = `200 with the reference and amount of ${JSON.stringify({ ...body, phoneNumber: undefined })}`;
        if (!context.judge("create.generated-valid-accepted", echoed, expected, describeResponse(response), [response]))
          continue;
        const record = await verifyDisbursement(context, String(reference));
        const { country, currency, customer } = dataOf(record) as {
          country?: unknown;
          currency?: unknown;
          customer?: { phoneNumber?: unknown };
        };
        const kept =
          country === body.country && currency === body.currency && customer?.phoneNumber === body.phoneNumber;
        context.judge(
          "create.generated-valid-accepted",
          kept,
          "a record with the same country, currency and number",
          describeResponse(record),
          [response, record],
        );
      }
    },
  },
];
