import type { Storage } from "../../domain/storage.ts";
import { MODE } from "../mode.ts";
import { auditLog } from "./audit.ts";
import { clocks } from "./clocks.ts";
import { backlog, deliveryQueue } from "./delivery-queue.ts";
import { eventLog } from "./events.ts";
import { figures } from "./figures.ts";
import { handovers } from "./handovers.ts";
import { housekeeping } from "./housekeeping.ts";
import { insertions } from "./inserting.ts";
import { ledgerStore } from "./ledger.ts";
import { loading } from "./loading.ts";
import { merchants } from "./merchants.ts";
import { noting } from "./noting.ts";
import { payments } from "./payments.ts";
import type { Executor } from "./query.ts";
import { replays } from "./replays.ts";
import { requestLog } from "./request-log.ts";
import { settler } from "./settling.ts";
import { signInStore } from "./sign-in.ts";

/** The operations that are written once for both databases. */
export function portableStorage(plain: Executor): Omit<Storage, "takeRequest" | "exclusively" | "ping" | "close"> {
  const executor = noting(plain);
  return {
    ...merchants(executor),
    ...payments(executor),
    ...clocks(executor),
    ...insertions(executor),
    ...loading(executor),
    ...settler(executor),
    ...deliveryQueue(executor),
    ...backlog(executor),
    ...handovers(executor),
    ...ledgerStore(executor),
    ...eventLog(executor),
    ...replays(executor),
    ...auditLog(executor),
    ...signInStore(executor),
    ...requestLog(executor),
    ...figures(executor),
    ...housekeeping(executor),
    readMode: async () => (await executor.read({ text: MODE }))[0]?.name,
  };
}
