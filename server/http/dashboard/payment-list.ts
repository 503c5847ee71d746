import type { Page } from "../../domain/pages.ts";
import type { RecordQuery } from "../../domain/records.ts";
import type { Checkout } from "../../domain/checkouts.ts";
import type { Disbursement } from "../../domain/disbursements.ts";
import type { DashboardContext } from "./dashboard-context.ts";
import type { PaymentFilter } from "./payment-filter.ts";

export type Kind = "disbursements" | "checkouts";

const ON_A_PAGE = 25;

/** Reads a page of a list. The text to search for is the service's or the merchant's reference, or a phone number. */
export async function pageOf(
  { storage }: Pick<DashboardContext, "storage">,
  kind: Kind,
  merchantId: string,
  asked: PaymentFilter,
): Promise<Page<Disbursement | Checkout>> {
  const { search, phoneNumber, typed: _, ...filter } = asked;
  // The filter has only statuses of this kind.
  const list = (kind === "disbursements" ? storage.listDisbursements : storage.listCheckouts) as (
    query: RecordQuery,
  ) => Promise<Page<Disbursement | Checkout>>;
  const find = kind === "disbursements" ? storage.findDisbursement : storage.findCheckout;
  const query = { limit: ON_A_PAGE, ...filter, merchantId };
  if (search === undefined) return list(query);
  const { cursor: _cursor, ...all } = query;
  const [own, named] = await Promise.all([find(merchantId, search), list({ ...all, merchantsReference: search })]);
  const { status, createdAfter = 0, createdBefore = Infinity } = query;
  const fits =
    own && (status ?? own.status) === own.status && own.createdAt >= createdAfter && own.createdAt < createdBefore;
  const found = [...(fits ? [own] : []), ...named.items.filter(({ id }) => id !== own?.id)];
  if (found.length > 0 || phoneNumber === undefined) return { items: found };
  return list({ ...query, phoneNumber });
}
