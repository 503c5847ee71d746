import { Gauge, type Registry } from "prom-client";
import type { Clock } from "../domain/clock.ts";
import type { FailingReceiver, Figure, FigureStore, PendingFigure } from "../domain/figures.ts";
import { DAY_MS } from "../domain/time.ts";

/** Merchants choose the currencies, so only the most frequent currencies have values of their own. */
const MOST_CURRENCIES = 20;
const MOST_RECEIVERS = 100;
/** How far back pending payouts are looked for, in days. */
const PENDING_DAYS = 30;

export interface Business {
  figures: Figure[];
  pending: PendingFigure[];
  receivers: FailingReceiver[];
}

/** Reads what the gauges of payments show. */
export async function readBusiness(storage: FigureStore, clock: Clock): Promise<Business> {
  const today = Math.floor(clock.now() / DAY_MS);
  const [figures, pending, receivers] = await Promise.all([
    storage.readFigures({ from: today, to: today }),
    storage.readPending({ from: today - PENDING_DAYS, to: today }),
    storage.listFailingReceivers({ limit: MOST_RECEIVERS }),
  ]);
  return { figures, pending, receivers };
}

/** Returns a function that sets the gauges of payments, or removes their values. */
export function businessGauges(registry: Registry, clock: Clock): (business: Business | undefined) => void {
  const registers = [registry];
  const labelNames = ["kind", "status", "currency"];
  const payments = new Gauge({
    name: "payments_of_the_day",
    help: "Payments that were created today (UTC) and are final, by kind, status and currency; in a sandbox, as its merchants' clocks say.",
    labelNames,
    registers,
  });
  const oldest = new Gauge({
    name: "payouts_oldest_pending_seconds",
    help: "The age of the oldest pending payout; 0 if no payout is pending.",
    registers,
  });
  const failing = new Gauge({
    name: "webhook_receivers_failing",
    help: `Receivers whose webhooks wait for a retry, of all merchants; at most ${MOST_RECEIVERS}.`,
    registers,
  });
  return (business) => {
    payments.reset();
    if (!business) {
      oldest.remove();
      failing.remove();
      return;
    }
    for (const { payments: count, ...labels } of byCurrency(business.figures)) payments.inc(labels, count);
    const ages = business.pending
      .filter(({ kind }) => kind === "disbursement")
      .map(({ oldestAt }) => Math.max(0, clock.now() - oldestAt) / 1_000);
    oldest.set(Math.max(0, ...ages));
    failing.set(business.receivers.length);
  };
}

function byCurrency(figures: readonly Figure[]) {
  const sums = Map.groupBy(figures, ({ currency }) => currency);
  const frequent = [...sums]
    .map(([currency, of]) => ({ currency, payments: of.reduce((sum, { payments }) => sum + payments, 0) }))
    .toSorted((a, b) => b.payments - a.payments)
    .slice(0, MOST_CURRENCIES);
  const named = new Set(frequent.map(({ currency }) => currency));
  return figures.map(({ kind, status, currency, payments }) => ({
    kind,
    status,
    currency: named.has(currency) ? currency : "other",
    payments,
  }));
}
