import type { Columns } from "./context.ts";

const SHARED: Columns = {
  merchant_id: "text",
  epoch: "bigint",
  merchants_reference: "text",
  reference: "text",
  id: "uuid",
  customer_id: "text",
  phone_number: "text",
  amount: "bigint",
  fee: "bigint",
  country: "text",
  currency: "text",
  webhook_url: "text",
  status: "text",
  created_at: "bigint",
  updated_at: "bigint",
  due_at: "bigint",
  due_real: "bigint",
  due_status: "text",
  traceparent: "text",
};
export const DISBURSEMENT_COLUMNS: Columns = SHARED;
export const CHECKOUT_COLUMNS: Columns = { ...SHARED, locale: "text", redirect_url: "text" };

/** Compares two texts as PostgreSQL's collation "C" does for most; any order that all processes share will do. */
export const byText = (a: string, b: string): number => (a < b ? -1 : Number(a > b));
