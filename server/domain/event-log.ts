import type { Delivery, DeliverySearch } from "./deliveries.ts";
import type { Event } from "./events.ts";
import type { Page } from "./pages.ts";

export interface PageQuery {
  merchantId: string;
  /** The service's reference of a record. If set, only the entries of that record are listed. */
  reference?: string;
  /** If set, only the entries of events created at or after this time are listed. */
  createdAfter?: number;
  limit: number;
  /** A cursor from an earlier page. */
  cursor?: string;
  /** `older` (the default) lists newest first; `newer` lists oldest first and can be followed as events are written. */
  direction?: "older" | "newer";
}

export interface EventLog {
  findDelivery(merchantId: string, id: string): Promise<Delivery | undefined>;
  /** @throws InvalidCursorError if this list never returned the cursor to this merchant */
  listEvents(query: PageQuery): Promise<Page<Event>>;
  /** Lists the events that have an address. @throws InvalidCursorError as for `listEvents` */
  listDeliveries(query: PageQuery & DeliverySearch): Promise<Page<Delivery>>;
}
