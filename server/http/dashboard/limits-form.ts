import { LIMITS, limitTexts, parseLimits, type Limits } from "../../domain/limits.ts";
import { field } from "./visit.ts";
import type { English } from "./words.ts";

const LABELS: Record<keyof Limits, English> = {
  perPayment: "Most of one payout",
  perDay: "Most of a day (UTC)",
  countries: "Countries",
  currencies: "Currencies",
  recipients: "Phone numbers",
  approvalFrom: "Approval from",
};

/** What the template `limits.eta` needs. */
export const LIMIT_FORM = {
  limitTexts,
  limitFields: Object.entries(LABELS).map(([name, label]) => ({ name, label, ...LIMITS[name as keyof Limits] })),
};

/** The limits in a form; undefined if all its fields are empty. @throws ServiceError `invalid_value` */
export const limitsIn = (form: unknown): Limits | undefined =>
  parseLimits(Object.fromEntries(Object.keys(LABELS).map((name) => [name, field(form, name)])));
