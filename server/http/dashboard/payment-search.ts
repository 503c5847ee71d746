import type { Checkout } from "../../domain/checkouts.ts";
import type { Disbursement } from "../../domain/disbursements.ts";
import type { Page } from "../../domain/pages.ts";
import type { RecordQuery } from "../../domain/records.ts";
import type { DashboardContext } from "./dashboard-context.ts";

export type Kind = "disbursements" | "checkouts";
export type Payment = Disbursement | Checkout;

const ON_A_PAGE = 25;

/** A search for payments, and the pages of what it finds. */
export interface PaymentSearch {
  status?: string;
  createdAfter?: number;
  createdBefore?: number;
  limit?: number;
  cursor?: string;
  /** A reference or a phone number. */
  search?: string;
  phoneNumber?: string;
}

/** Reads a page of a list. The text to search for is the service's or the merchant's reference, or a phone number. */
export async function readPayments(
  { storage }: Pick<DashboardContext, "storage">,
  kind: Kind,
  merchantId: string,
  { search, phoneNumber, ...filter }: PaymentSearch,
): Promise<Page<Payment>> {
  // The filter has only statuses of this kind.
  const read = (kind === "disbursements" ? storage.listDisbursements : storage.listCheckouts) as (
    query: RecordQuery,
  ) => Promise<Page<Payment>>;
  const find = kind === "disbursements" ? storage.findDisbursement : storage.findCheckout;
  const query = { limit: ON_A_PAGE, ...filter, merchantId };
  if (search === undefined) return read(query);
  const { cursor: _cursor, ...all } = query;
  const [own, named] = await Promise.all([find(merchantId, search), read({ ...all, merchantsReference: search })]);
  const { status, createdAfter = 0, createdBefore = Infinity } = query;
  const fits =
    own && (status ?? own.status) === own.status && own.createdAt >= createdAfter && own.createdAt < createdBefore;
  const found = [...(fits ? [own] : []), ...named.items.filter(({ id }) => id !== own?.id)];
  if (found.length > 0 || phoneNumber === undefined) return { items: found };
  return read({ ...query, phoneNumber });
}
