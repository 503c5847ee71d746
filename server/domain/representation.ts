import type { components } from "../../generated/openapi.ts";
import type { Checkout } from "./checkouts.ts";
import type { Disbursement } from "./disbursements.ts";
import type { Failure } from "./failures.ts";
import type { Customer } from "./records.ts";

type Schemas = components["schemas"];

/** Converts records to the form that responses and webhooks contain. A field that was not given is left out (D7a). */

export const timestamp = (milliseconds: number): string => new Date(milliseconds).toISOString();

/** The response to verifying a disbursement (§2.3). */
export function disbursementView(record: Disbursement, merchantName: string): Schemas["Disbursement"] {
  return { ...recordView(record, merchantName), customer: customerView(record.customer), status: record.status };
}

/** The response to verifying a checkout (D8). */
export function checkoutView(record: Checkout, merchantName: string): Schemas["Checkout"] {
  const { customer, redirectURL, status } = record;
  return {
    ...recordView(record, merchantName),
    ...(customer === undefined ? {} : { customer: customerView(customer) }),
    ...(redirectURL === undefined ? {} : { redirectURL }),
    status,
  };
}

function recordView(record: Disbursement | Checkout, merchantName: string) {
  const failure = failureIn(record);
  const { id, merchantId: userId, country, currency, amount, fee, webhookURL, reference, merchantsReference } = record;
  return {
    id,
    userId,
    merchant: { name: merchantName },
    country,
    currency,
    amount,
    fee,
    ...(webhookURL === undefined ? {} : { webhookURL }),
    reference,
    merchantsReference,
    ...(failure === undefined ? {} : { failure }),
    createdAt: timestamp(record.createdAt),
    updatedAt: timestamp(record.updatedAt),
  };
}

/** Why a payment failed, if it has failed. The reason can be known before the record is final. */
export const failureIn = ({ status, failure }: Disbursement | Checkout): Failure | undefined =>
  status === "failed" ? failure : undefined;

/** Requests contain no customer name, so the name is made from the last four digits of the number (D19). */
export function customerView({ id, phoneNumber }: Customer): Schemas["Customer"] {
  return { id, name: `Customer ${phoneNumber.slice(-4)}`, phoneNumber };
}
