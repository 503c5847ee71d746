// What the contract forbids in the body of a create, and the requirements that demand the refusal.
import { createValidators } from "../../contract/validate.ts";
import type { RequirementId } from "../../../generated/requirement-ids.ts";

export type Kind = "missing" | "type" | "value";

/** An invalid value of a field, or a missing field. */
export type Defect = { field: string; body: Record<string, unknown>; kind: Kind };

export const statedBy = createValidators("core");

/** The statuses of D1, each with the requirement that demands it. */
export const strict = {
  missing: { id: "refusal.missing-field-400", status: 400 },
  type: { id: "refusal.wrong-type-400", status: 400 },
  value: { id: "refusal.bad-value-422", status: 422 },
} as const;

export function kindOf(faults: readonly string[]): Kind {
  if (faults.some((fault) => fault.includes(" must have required property"))) return "missing";
  return faults.some((fault) => / must be (integer|string|object|number|array|boolean|null)/.test(fault))
    ? "type"
    : "value";
}

/** Returns true if §2.4 forbids a checkout. §2.4 shows no patterns, and allows any number as amount. */
export function isStatedOfCheckout({ kind, field, body }: Defect): boolean {
  const value = body[field];
  if (statedBy("CheckoutRequest")(body).length === 0) return false;
  if (kind === "value") return field === "country" && [...String(value)].length !== 2;
  return kind === "missing" || !(field === "amount" && typeof value === "number");
}

/** What a stated rule forbids: a kind of fault in a field, or in any field. */
export type Rule = { id: RequirementId; kind: Kind; field?: string };

export const payoutRules: Rule[] = [
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
export const checkoutRules: Rule[] = [
  { id: "checkout.amount-required", kind: "missing", field: "amount" },
  { id: "checkout.currency-required", kind: "missing", field: "currency" },
  { id: "checkout.country-required", kind: "missing", field: "country" },
  { id: "checkout.types", kind: "type" },
  { id: "checkout.country-length", kind: "value", field: "country" },
];

export const breaks = ({ kind, field }: Rule, defect: Pick<Defect, "kind" | "field">) =>
  defect.kind === kind && (field === undefined || defect.field === field);

/** Returns the requirement of D6 that demands the refusal of a checkout. */
export function decidedRule({ field }: Pick<Defect, "field">): RequirementId {
  if (field === "amount") return "checkout-request.amount";
  return ["country", "currency"].includes(field) ? "checkout-request.patterns" : "checkout-request.generated-refused";
}
