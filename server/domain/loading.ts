import type { components } from "../../generated/openapi.ts";
import type { Actor } from "./audit.ts";
import { MOST_NAMED, ServiceError, type FieldError } from "./errors.ts";
import type { Merchant } from "./merchants.ts";
import { draftOf, type DraftContext, type RecordStore } from "./payments.ts";
import { failureOf, type PaymentKind, type PastPayment } from "./records.ts";
import { timestamp } from "./representation.ts";
import { sandboxTime } from "./time.ts";

type Schemas = components["schemas"];
type Asked = Schemas["DisbursementToLoad"] | Schemas["CheckoutToLoad"];
export type LoadPayments = ReturnType<typeof createLoadPayments>;

/**
 * Returns a function that loads payments of the past into a sandbox (D112), all or none, and resolves with how many. It
 * throws ServiceError: `invalid_value` with the first wrong fields, or as `loadPayments` of the storage does.
 */
export function createLoadPayments(context: DraftContext & { storage: RecordStore }) {
  return async (
    merchant: Merchant,
    { disbursements = [], checkouts = [] }: Schemas["PaymentsToLoad"],
    actor: Actor,
  ): Promise<Schemas["PaymentsLoaded"]> => {
    const now = timestamp(sandboxTime(merchant, context.clock.now()));
    const notLater = `not be later than ${now}, the merchant's sandbox time`;
    const fields: FieldError[] = [];
    const seen = new Set<string>();
    const pastOf = (kind: PaymentKind) => (request: Asked, index: number) => {
      const { status, failure, createdAt, updatedAt = createdAt, phoneNumber, ...given } = request;
      const name = `${kind} ${given.reference}`;
      const require = (isMet: boolean, field: string, code: FieldError["code"], rule: string) => {
        const path = `${kind}s.${index}.${field}`;
        if (!isMet) fields.push({ path, code, message: `${path} must ${rule}.` });
      };
      // What no schema can say. Timestamps of the contract compare like times.
      require(createdAt <= now, "createdAt", "maximum", notLater);
      require(createdAt > now || updatedAt <= now, "updatedAt", "maximum", notLater);
      require(updatedAt >= createdAt, "updatedAt", "minimum", "not be earlier than createdAt");
      require(!failure || status === "failed", "failure", "enum", "be absent unless the status is failed");
      require(!given.reference || !seen.has(name), "reference", "enum", "differ from the references before it");
      seen.add(name);
      return {
        ...(kind === "checkout" && { locale: "en" }),
        ...draftOf(context, kind, merchant, given, {}, Date.parse(createdAt)),
        status,
        ...(status === "failed" && { failure: failureOf(failure ?? "declined") }),
        createdAt: Date.parse(createdAt),
        updatedAt: Date.parse(updatedAt),
        phoneNumber,
      } as PastPayment;
    };
    const records = [...disbursements.map(pastOf("disbursement")), ...checkouts.map(pastOf("checkout"))];
    const named = fields.slice(0, MOST_NAMED);
    const message = named.map((field) => field.message).join(" ");
    if (named.length > 0) throw new ServiceError("invalid_value", message, { fields: named });
    await context.storage.loadPayments(merchant.id, records, actor);
    return { disbursements: disbursements.length, checkouts: checkouts.length };
  };
}
