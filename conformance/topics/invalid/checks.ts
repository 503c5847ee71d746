// Checks that invalid values are refused: mutations of a valid request, grouped by the rule of the contract that they
// violate, and random values, which the run's seed determines (§2.1, §2.4, §7, §8, D1, D6).
import { judges, type Context } from "../../check.ts";
import type { Schema } from "../../contract/contract.ts";
import { createValidators, inlined } from "../../contract/validate.ts";
import { payeeIn, commonPairs } from "../../generate/countries.ts";
import { anyValueFor, mutations, sample } from "../../generate/mutations.ts";
import { usualAmount } from "../../generate/plan.ts";
import { allowsMadeUpNumbers } from "../../run-options.ts";
import { expectStatus } from "../../steps/expect.ts";
import { type Body, checkoutBody, disbursementBody, siteOf } from "../../steps/bodies.ts";
import { payInvalid, startCheckout, startInvalidCheckout } from "../../steps/requests.ts";
import { invalidAtOnce, several } from "../../steps/several.ts";
import type { RequirementId } from "../../../generated/requirement-ids.ts";

const randomInvalid = 100;
const statedBy = createValidators("core");

type Kind = "missing" | "type" | "value";

/** `isStated`: the interface itself forbids the request. */
type Invalid = { what: string; field: string; body: Body; kind: Kind; isStated: boolean; isRandom: boolean };

type Found = Omit<Invalid, "isStated">;

/** The statuses of D1, each with the requirement that demands it. */
const strict = {
  missing: { id: "refusal.missing-field-400", status: 400 },
  type: { id: "refusal.wrong-type-400", status: 400 },
  value: { id: "refusal.bad-value-422", status: 422 },
} as const;

/** Returns the body as the target receives it. JSON omits undefined, and JSON.stringify turns minus zero into zero. */
const asSent = (body: Body) => JSON.parse(JSON.stringify(body)) as Body;

/** Returns the largest number in the JSON text of a value, which a faulty target might read as an amount; 0 without numbers. */
const largestIn = (value: unknown): number =>
  Math.max(0, ...((JSON.stringify(value) ?? "").match(/\d+(\.\d+)?(e[+-]?\d+)?/gi)?.map(Number) ?? []));

function kindOf(faults: readonly string[]): Kind {
  if (faults.some((fault) => fault.includes(" must have required property"))) return "missing";
  return faults.some((fault) => / must be (integer|string|object|number|array|boolean|null)/.test(fault))
    ? "type"
    : "value";
}

/** Returns the mutations and random changes of a valid request that violate the profile's version of the schema. */
function invalidRequests(
  context: Context,
  schema: string,
  valid: () => Body,
  isStated: (found: Found) => boolean,
): Invalid[] {
  const { options, random } = context;
  const plain: Schema = inlined(options.profile, schema);
  const fields = Object.keys(plain.properties ?? {}).filter(
    (field) => Object.keys(plain.properties?.[field] ?? {}).length > 0,
  );
  const table = mutations(plain, valid(), siteOf(context)).map((each) => ({
    ...each,
    // Every request needs a fresh reference, unless the reference itself was mutated.
    body: each.field === "reference" ? each.body : { ...each.body, reference: valid()["reference"] },
    isRandom: false,
  }));
  // A service may derive a missing value from another field.
  const missing = fields.flatMap((field) =>
    commonPairs.map((pair) => ({
      what: `${field} missing for ${pair.country}`,
      field,
      body: { ...valid(), ...payeeIn(pair, options, random), [field]: undefined } as Body,
      isRandom: false,
    })),
  );
  const others = sample(anyValueFor(fields), randomInvalid, options.seed).map(([field, value]) => ({
    what: `${field}: ${JSON.stringify(value)?.slice(0, 60)}`,
    field,
    body: { ...valid(), [field]: value } as Body,
    isRandom: true,
  }));
  return [...table, ...missing, ...others].flatMap((each) => {
    const body = asSent(each.body);
    const faults = context.validator(schema)(body);
    const found = { ...each, body, kind: kindOf(faults) };
    // A real recipient might keep what a faulty target pays.
    const isRisk = each.field === "amount" && largestIn(body["amount"]) > usualAmount && !allowsMadeUpNumbers(options);
    return faults.length === 0 || isRisk ? [] : [{ ...found, isStated: isStated(found) }];
  });
}

const invalidPayouts = (context: Context) =>
  invalidRequests(
    context,
    "DisbursementRequest",
    () => disbursementBody(context),
    ({ body }) => statedBy("DisbursementRequest")(body).length > 0,
  );

/** Returns true if §2.4 forbids a checkout. §2.4 shows no patterns, and allows any number as amount. */
function isStatedOfCheckout({ kind, field, body }: Found): boolean {
  const value = body[field];
  if (statedBy("CheckoutRequest")(body).length === 0) return false;
  if (kind === "value") return field === "country" && [...String(value)].length !== 2;
  return kind === "missing" || !(field === "amount" && typeof value === "number");
}

/** Only the contract, and not the interface, gives checkouts a reference of the merchant. */
const invalidCheckouts = (context: Context) =>
  invalidRequests(
    context,
    "CheckoutRequest",
    () => checkoutBody(context, context.options.profile === "core" ? {} : { reference: context.fresh() }),
    isStatedOfCheckout,
  );

/**
 * Judges that each request is refused, for the requirement that `idOf` returns. The exact status is judged for its own
 * requirement (`strict`) if `isSeparate`; otherwise it is part of the requirement of `idOf`, in the extended profile.
 * Returns the status of each field's first request, by field.
 */
async function refuseAll(
  context: Context,
  isSeparate: boolean,
  idOf: (each: Invalid) => RequirementId,
  requests: readonly Invalid[],
  send: typeof payInvalid,
) {
  const anyStatus = send === payInvalid ? [400, 422] : (["4xx"] as const);
  const responses = await several(requests, invalidAtOnce(context), async (each) => {
    const response = await send(context, each.body);
    const { id, status } = strict[each.kind];
    if (isSeparate) expectStatus(context, id, response, status, `for ${each.what}`);
    const isExact = context.options.profile === "extended" && !isSeparate;
    expectStatus(context, idOf(each), response, isExact ? status : anyStatus, `for ${each.what}`);
    return [each.field, response.status ?? "no response"] as const;
  });
  return Object.fromEntries(responses.toReversed());
}

/** What a stated rule forbids: a kind of fault in a field, or in any field. */
type Rule = { id: RequirementId; kind: Kind; field?: string };

const payoutRules: Rule[] = [
  { id: "create.reference-required", kind: "missing", field: "reference" },
  { id: "create.amount-required", kind: "missing", field: "amount" },
  { id: "create.phone-required", kind: "missing", field: "phoneNumber" },
  { id: "create.country-required", kind: "missing", field: "country" },
  { id: "create.currency-required", kind: "missing", field: "currency" },
  { id: "create.reference-type", kind: "type", field: "reference" },
  { id: "create.amount-type", kind: "type", field: "amount" },
  { id: "create.phone-type", kind: "type", field: "phoneNumber" },
  { id: "create.country-type", kind: "type", field: "country" },
  { id: "create.currency-type", kind: "type", field: "currency" },
  { id: "create.webhook-type", kind: "type", field: "webhookURL" },
  { id: "create.amount-minimum", kind: "value", field: "amount" },
  { id: "create.phone-pattern", kind: "value", field: "phoneNumber" },
  { id: "create.country-pattern", kind: "value", field: "country" },
  { id: "create.currency-pattern", kind: "value", field: "currency" },
];
const checkoutRules: Rule[] = [
  { id: "checkout.amount-required", kind: "missing", field: "amount" },
  { id: "checkout.currency-required", kind: "missing", field: "currency" },
  { id: "checkout.country-required", kind: "missing", field: "country" },
  { id: "checkout.types", kind: "type" },
  { id: "checkout.country-length", kind: "value", field: "country" },
];

const errorStatuses: RequirementId = "checkout.error-statuses";

const breaks = ({ kind, field }: Rule, each: Invalid) =>
  each.isStated && each.kind === kind && (field === undefined || each.field === field);

/** Returns the requirement of D6 that demands the refusal of a checkout. */
function decidedRule({ field }: Invalid): RequirementId {
  if (field === "amount") return "checkout-request.amount";
  return ["country", "currency"].includes(field) ? "checkout-request.patterns" : "checkout-request.generated-refused";
}

export const checks = [
  ...payoutRules.map((rule) =>
    judges([rule.id, strict[rule.kind].id, "create.split-400-422"], {}, async (context) => {
      const breaking = invalidPayouts(context).filter((each) => breaks(rule, each) && !each.isRandom);
      const statuses = await refuseAll(context, true, () => rule.id, breaking, payInvalid);
      context.observe("create.split-400-422", `${rule.kind} of ${rule.field}`, statuses[rule.field!]);
    }),
  ),
  judges("create.generated-invalid-refused", {}, async (context, id) => {
    const others = invalidPayouts(context).filter(({ isStated, isRandom }) => isRandom || !isStated);
    await refuseAll(context, false, () => id, others, payInvalid);
  }),
  judges(["create.webhook-format", strict.value.id], {}, async (context, id) => {
    const site = siteOf(context);
    for (const webhookURL of ["not a url", `${site}/hooks`, "/hooks", `//${site}/hooks`, "https://a b/"]) {
      const response = await payInvalid(context, disbursementBody(context, { webhookURL }));
      expectStatus(context, strict.value.id, response, strict.value.status, `for webhookURL: ${webhookURL}`);
      expectStatus(context, id, response, [400, 422], `for webhookURL: ${webhookURL}`);
    }
  }),
  judges("create.phone-422", {}, async (context, id) => {
    for (const phoneNumber of ["225703810", "+2257038102473"]) {
      const response = await payInvalid(context, disbursementBody(context, { phoneNumber }));
      expectStatus(context, id, response, 422, "for a phone number in the wrong format");
    }
  }),
  ...checkoutRules.map((rule) =>
    judges([rule.id, strict[rule.kind].id, ...(rule.field ? [] : [errorStatuses])], {}, async (context) => {
      const breaking = invalidCheckouts(context).filter((each) => breaks(rule, each));
      const statuses = await refuseAll(context, true, () => rule.id, breaking, startInvalidCheckout);
      if (!rule.field) context.observe(errorStatuses, "status by field", statuses);
    }),
  ),
  judges(
    ["checkout-request.amount", "checkout-request.patterns", "checkout-request.generated-refused"],
    {},
    async (context) => {
      const others = invalidCheckouts(context).filter(({ isStated }) => !isStated);
      await refuseAll(context, false, decidedRule, others, startInvalidCheckout);
    },
  ),
  judges("checkout.patterns", {}, async (context, id) => {
    // The interface does not forbid these values, so a sound target may create checkouts.
    for (const over of [
      ...["ci", "C1"].map((country) => ({ country })),
      ...["xof", "XO", "XOFF"].map((currency) => ({ currency })),
    ]) {
      const response = await startCheckout(context, checkoutBody(context, over), { forced: true });
      expectStatus(context, id, response, "4xx", `for ${JSON.stringify(over)}`);
    }
  }),
];
