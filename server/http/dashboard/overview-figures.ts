import { DAY_MS } from "../../domain/time.ts";
import type { Day, Figure, PaymentKind } from "../../domain/figures.ts";
import type { Words } from "./words.ts";

/** The statuses in the order of the bars, from below. */
export const STATUSES = {
  disbursement: ["success", "failed", "pending"],
  checkout: ["success", "failed", "cancelled", "pending"],
} as const satisfies Record<PaymentKind, string[]>;
type Status = (typeof STATUSES)[PaymentKind][number];

export const isoDay = (day: Day): string => new Date(day * DAY_MS).toISOString().slice(0, 10);

const sum = (counted: readonly Pick<Figure, "payments">[]) =>
  counted.reduce((total, { payments }) => total + payments, 0);

/** Sums figures for people. Amounts are texts. @param figures may begin before the period, to compare with */
export function summaryOf(
  kind: PaymentKind,
  { from, to }: { from: Day; to: Day },
  figures: readonly Figure[],
  times: readonly number[],
  words: Words,
) {
  const counted = figures.filter(({ day }) => day >= from);
  const final = counted.filter(isFinal);
  const before = figures.filter((each) => each.day < from && isFinal(each));
  const byDay = Map.groupBy(counted, ({ day }) => day);
  const days = Array.from({ length: to - from + 1 }, (_, index) => {
    const ofDay = byDay.get(from + index) ?? [];
    return {
      day: isoDay(from + index),
      text: `${words.weekday(isoDay(from + index))} ${words.day(isoDay(from + index))}`,
      counts: countsOf(kind, ofDay),
      total: sum(ofDay),
      sums: paidOf(ofDay, words),
    };
  });
  return {
    statuses: STATUSES[kind],
    total: sum(counted),
    days,
    bars: barsOf(days, words),
    most: Math.max(...days.map(({ total }) => total)),
    currencies: currenciesOf(kind, counted, words).map((each) => ({
      ...each,
      success: rateOf(inCurrency(final, each.currency), words),
      before: rateOf(inCurrency(before, each.currency), words),
    })),
    success: rateOf(final, words),
    before: rateOf(before, words),
    times: timesOf(times, words),
  };
}

const isFinal = ({ status }: Figure) => status !== "pending";

const countsOf = (kind: PaymentKind, counted: readonly Figure[]) =>
  STATUSES[kind].map((status) => ({ status, payments: sum(counted.filter((each) => each.status === status)) }));

const currenciesOf = (kind: PaymentKind, counted: readonly Figure[], words: Words) =>
  [...Map.groupBy(counted, ({ currency }) => currency)].toSorted().map(([currency, of]) => ({
    currency,
    amounts: STATUSES[kind].map((status) => {
      const ofStatus = of.filter((each) => each.status === status);
      return { status, payments: sum(ofStatus), amount: amountOf(ofStatus, currency, words) };
    }),
  }));

const inCurrency = (figures: readonly Figure[], wanted: string) =>
  figures.filter(({ currency }) => currency === wanted);

/**
 * The sum of success in each currency. A page spends most of its time on formatting numbers, so no other sums of a day
 * are formatted.
 */
const paidOf = (counted: readonly Figure[], words: Words) =>
  [...Map.groupBy(succeeded(counted), ({ currency }) => currency)]
    .toSorted()
    .map(([currency, of]) => amountOf(of, currency, words));

const succeeded = <T extends { status: string }>(counted: readonly T[]) =>
  counted.filter(({ status }) => status === "success");

const amountOf = (counted: readonly Figure[], currency: string, words: Words) =>
  words.amount(
    counted.reduce((total, { amount }) => total + amount, 0n),
    currency,
  );

/** The share of final payments that succeeded. It says 100 % only if all did. Undefined if there is none. */
function rateOf(final: readonly Figure[], words: Words): string | undefined {
  const total = sum(final);
  if (total === 0) return undefined;
  return share(sum(succeeded(final)), total, words);
}

export const share = (part: number, whole: number, { number }: Words): string =>
  `${number(Math.floor((1_000 * part) / whole) / 10)} %`;

/** How long it took until half and until 95 % of the payouts were final. */
function timesOf(times: readonly number[], words: Words): { half: string; most: string } | undefined {
  if (times.length === 0) return undefined;
  const sorted = times.toSorted((a, b) => a - b);
  const seconds = (part: number) => Math.max(1, Math.ceil(sorted[Math.ceil(part * sorted.length) - 1]! / 1_000));
  const until = (part: number) => words.duration(seconds(part) * 1_000);
  return { half: until(0.5), most: until(0.95) };
}

/** The size of the chart in its own units. The page stretches it. */
export const CHART = { width: 720, height: 160 };

/** A bar for each day, of one rectangle for each status. */
function barsOf(
  days: readonly { text: string; counts: readonly { status: Status; payments: number }[]; total: number }[],
  { word, number }: Words,
) {
  const most = Math.max(1, ...days.map(({ total }) => total));
  const pitch = CHART.width / days.length;
  return days.map(({ text: day, counts }, index) => {
    let y = CHART.height;
    const parts = counts.flatMap(({ status, payments }) => {
      if (payments === 0) return [];
      const height = Math.max(1, (payments / most) * (CHART.height - counts.length));
      y -= height;
      return [{ status, y: round(y), height: round(height) }];
    });
    const text = counts.map(({ status, payments }) => `${number(payments)} ${word("status", status)}`).join(", ");
    return { x: round(index * pitch + pitch * 0.1), width: round(pitch * 0.8), parts, text: `${day}: ${text}` };
  });
}

const round = (value: number) => Math.round(value * 100) / 100;
