import type { Storage } from "../../domain/storage.ts";
import { adjustments } from "./adjustments.ts";
import { approvals } from "./approvals.ts";
import { auditLog } from "./audit.ts";
import { checkouts } from "./checkouts.ts";
import { clocks } from "./clocks.ts";
import { deliveryQueue } from "./delivery-queue.ts";
import { disbursements } from "./disbursements.ts";
import { eventLog } from "./event-log.ts";
import { figures } from "./figures.ts";
import { handovers } from "./handovers.ts";
import { housekeeping } from "./housekeeping.ts";
import { ledgerStore } from "./ledger.ts";
import { merchants } from "./merchants.ts";
import { noting } from "./noting.ts";
import { paymentSearch } from "./payment-search.ts";
import type { Executor } from "./query.ts";
import { replays } from "./replays.ts";
import { requestLog } from "./request-log.ts";
import { signInStore } from "./sign-in.ts";
import { upcoming } from "./upcoming.ts";

/** The operations that every request or webhook needs. The folder `tuned` has them for each database. */
type Tuned =
  | "insertDisbursement"
  | "insertCheckout"
  | "findDisbursement"
  | "findCheckout"
  | "findMerchant"
  | "findMerchantByKey"
  | "takeRequest"
  | "settleDue"
  | "readyLanes"
  | "handoverLanes"
  | "recordAttempt"
  | "readBacklog";

/** The operations that are written once for both databases. */
export function portableStorage(plain: Executor): Omit<Storage, Tuned | "exclusively" | "ping" | "close"> {
  const executor = noting(plain);
  return {
    ...merchants(executor),
    ...disbursements(executor),
    ...checkouts(executor),
    ...paymentSearch(executor),
    ...clocks(executor),
    ...upcoming(executor),
    ...deliveryQueue(executor),
    ...handovers(executor),
    ...approvals(executor),
    ...ledgerStore(executor),
    ...adjustments(executor),
    ...eventLog(executor),
    ...replays(executor),
    ...auditLog(executor),
    ...signInStore(executor),
    ...requestLog(executor),
    ...figures(executor),
    ...housekeeping(executor),
  };
}
