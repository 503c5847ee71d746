import type { Checkout, Disbursement, FinalStatus } from "../../domain/storage.ts";
import { optional, type Row } from "./context.ts";

/** What rows of `disbursements` and of `checkouts` have in common. */
function toRecord(row: Row) {
  const webhookURL = optional<string>(row.webhook_url!);
  const dueAt = optional<number>(row.due_at!);
  return {
    id: row.id as string,
    merchantId: row.merchant_id as string,
    reference: row.reference as string,
    merchantsReference: row.merchants_reference as string,
    amount: row.amount as number,
    fee: row.fee as number,
    country: row.country as string,
    currency: row.currency as string,
    ...(webhookURL === undefined ? {} : { webhookURL }),
    createdAt: row.created_at as number,
    updatedAt: row.updated_at as number,
    ...(dueAt === undefined ? {} : { due: { at: dueAt, status: row.due_status as FinalStatus } }),
  };
}

export function toDisbursement(row: Row): Disbursement {
  return {
    ...toRecord(row),
    status: row.status as Disbursement["status"],
    customer: { id: row.customer_id as string, phoneNumber: row.phone_number as string },
  };
}

export function toCheckout(row: Row): Checkout {
  const redirectURL = optional<string>(row.redirect_url!);
  const customerId = optional<string>(row.customer_id!);
  return {
    ...toRecord(row),
    status: row.status as Checkout["status"],
    locale: row.locale as Checkout["locale"],
    ...(redirectURL === undefined ? {} : { redirectURL }),
    ...(customerId === undefined ? {} : { customer: { id: customerId, phoneNumber: row.phone_number as string } }),
  };
}
