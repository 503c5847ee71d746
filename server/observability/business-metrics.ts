import { Gauge, type Registry } from "prom-client";
import type { Clock } from "../domain/clock.ts";
import type { FigureStore } from "../domain/figures.ts";

const MOST_RECEIVERS = 100;

export interface Business {
  /** When the oldest pending payout was created; absent if there is none. */
  oldestPending?: number;
  failing: number;
}

/** Reads what the gauges of payments show. */
export async function readBusiness(storage: FigureStore, clock: Clock): Promise<Business> {
  const [[oldest], receivers] = await Promise.all([
    storage.listLate({ before: clock.now(), limit: 1 }),
    storage.listFailingReceivers({ limit: MOST_RECEIVERS }),
  ]);
  return { ...(oldest && { oldestPending: oldest.since }), failing: receivers.length };
}

/** Returns a function that sets the gauges of payments, or removes their values. */
export function businessGauges(registry: Registry, clock: Clock): (business: Business | undefined) => void {
  const registers = [registry];
  const oldest = new Gauge({
    name: "payouts_oldest_pending_seconds",
    help: "The age of the oldest payout that is pending and waits for no approval; 0 if there is none.",
    registers,
  });
  const failing = new Gauge({
    name: "webhook_receivers_failing",
    help: `Receivers whose webhooks wait for a retry, of all merchants; at most ${MOST_RECEIVERS}.`,
    registers,
  });
  return (business) => {
    if (!business) {
      oldest.remove();
      failing.remove();
      return;
    }
    const { oldestPending = clock.now(), failing: receivers } = business;
    oldest.set(Math.max(0, clock.now() - oldestPending) / 1_000);
    failing.set(receivers);
  };
}
