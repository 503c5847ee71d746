// Sends requests that are generated from the contract: systematic mutations of a valid request, and random values that
// the run's seed determines.
import type { Check, Context } from "../check.ts";
import type { Schema } from "../contract/contract.ts";
import { anyValueFor, sample } from "../generate/arbitraries.ts";
import { mutations } from "../generate/mutations.ts";
import type { TargetResponse } from "../target/exchange.ts";
import { inlined } from "../contract/validate.ts";
import { expectStatus } from "./expect.ts";
import { checkoutBody, disbursementBody, payInvalid, siteOf, startInvalidCheckout } from "./requests.ts";
import { invalidAtOnce, several } from "./several.ts";

const randomInvalid = 100;

type Invalid = { what: string; body: Record<string, unknown>; faults: string[] };

/** Returns the body as the target receives it. JSON omits undefined, and JSON.stringify turns minus zero into zero. */
const asSent = (body: Record<string, unknown>) => JSON.parse(JSON.stringify(body)) as Record<string, unknown>;

/**
 * Returns mutations and random changes of a valid request, but only those that violate the profile's version of the
 * schema.
 */
function invalidRequests(context: Context, schema: string, valid: () => Record<string, unknown>): Invalid[] {
  const validate = context.validator(schema);
  const plain: Schema = inlined(context.options.profile, schema);
  const fields = Object.keys(plain.properties ?? {}).filter(
    (field) => Object.keys(plain.properties?.[field] ?? {}).length > 0,
  );
  const table = mutations(plain, valid(), siteOf(context)).map(({ what, field, body }) => ({
    what,
    // Every request needs a fresh reference, unless the reference itself was mutated.
    body: field === "reference" ? body : { ...body, reference: valid()["reference"] },
  }));
  const random = sample(anyValueFor(fields), randomInvalid, context.options.seed).map(([field, value]) => ({
    what: `${field}: ${JSON.stringify(value)?.slice(0, 60)}`,
    body: { ...valid(), [field]: value },
  }));
  return [...table, ...random]
    .map(({ what, body }) => ({ what, body: asSent(body), faults: validate(asSent(body)) }))
    .filter(({ faults }) => faults.length > 0);
}

/** Returns true if D1 requires 422: no field is missing and every field has the right type, but a value is invalid. */
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
  await several(requests, invalidAtOnce(context), async ({ what, body, faults }) => {
    const response = await send(body);
    const status = isValueFault(faults) ? 422 : 400;
    const exact = context.options.profile === "extended";
    // Shorten the fault, because it may quote the pattern of a URL, which has more than 1,000 characters.
    const when = `for ${what} (${faults[0]?.slice(0, 120)})`;
    expectStatus(context, id, response, exact ? status : [400, 422], when);
  });
}

export const checks: Check[] = [
  {
    name: "Generated invalid disbursements are refused",
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
    name: "Generated invalid checkouts are refused",
    ids: ["checkout-request.generated-refused"],
    effect: "must-be-rejected",
    run: (context) =>
      judgeAll(
        context,
        "checkout-request.generated-refused",
        invalidRequests(context, "CheckoutRequest", () => checkoutBody(context, { reference: context.fresh() })),
        (body) => startInvalidCheckout(context, body),
      ),
  },
];
