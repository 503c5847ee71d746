import type { Storage } from "../../domain/storage.ts";
import type { Upcoming, UpcomingItem } from "../../domain/clock-store.ts";
import { MOST_AHEAD_MS } from "../../domain/time.ts";
import type { Delivery } from "../../domain/deliveries.ts";
import type { Event } from "../../domain/events.ts";
import { attemptMoment, OUTCOMES, resultOf, type Moment } from "./timeline.ts";
import { field, PageError } from "./visit.ts";
import type { English, Words } from "./words.ts";

const UNITS_MS = { minutes: 60_000, hours: 3_600_000, days: 86_400_000 };
const MOST_UNITS = 1_000;
/** The stops of the slider. */
const STOPS = [
  { label: "1 min", unit: "minutes", count: 1 },
  { label: "5 min", unit: "minutes", count: 5 },
  { label: "30 min", unit: "minutes", count: 30 },
  { label: "2 h", unit: "hours", count: 2 },
  { label: "10 h", unit: "hours", count: 10 },
  { label: "1 day", unit: "days", count: 1 },
  { label: "3 days", unit: "days", count: 3 },
  { label: "7 days", unit: "days", count: 7 },
] as const satisfies { label: English; unit: keyof typeof UNITS_MS; count: number }[];
const FIRST_STOP = 2;
/** The largest number of moments in a list. */
export const SHOWN = 50;

/** How far to move a clock. It keeps the typed texts, so that the form shows them again. */
export interface ClockChoice {
  byMs: number;
  stops: readonly string[];
  stop: number;
  units: readonly string[];
  unit: string;
  /** The typed count; empty if the slider decides. */
  count: string;
}

/**
 * Reads the form for the clock: a count and its unit or, if there is no count, a stop of the slider. @throws PageError
 */
export function clockChoice(form: unknown): ClockChoice {
  const [stop, count, unit] = [field(form, "stop"), field(form, "count"), field(form, "unit")];
  const shown = { stops: STOPS.map(({ label }) => label), units: Object.keys(UNITS_MS) };
  if (count === "") {
    const index = stop === "" ? FIRST_STOP : Number(stop);
    const chosen = STOPS[index];
    if (!chosen) throw new PageError(422, `The slider has the stops 0 to ${STOPS.length - 1}.`);
    return { ...shown, byMs: chosen.count * UNITS_MS[chosen.unit], stop: index, unit: "minutes", count };
  }
  const isCount = /^\d+$/.test(count) && Number(count) >= 1 && Number(count) <= MOST_UNITS;
  if (!isCount || !Object.hasOwn(UNITS_MS, unit)) {
    throw new PageError(422, "Move the clock by 1 to 1,000 minutes, hours or days.");
  }
  const byMs = Number(count) * UNITS_MS[unit as keyof typeof UNITS_MS];
  if (byMs > MOST_AHEAD_MS) {
    throw new PageError(422, `Move the clock to at most ${MOST_AHEAD_MS / UNITS_MS.days} days ahead of real time.`);
  }
  return { ...shown, byMs, stop: FIRST_STOP, unit, count };
}

/** The sandbox time in a form. @throws PageError if it is invalid */
export function timeIn(text: string): number {
  const time = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(time)) throw new PageError(422, "Choose a time on the sandbox page, then move the clock to it.");
  return time;
}

/** A list of moments that may be cut off. */
export interface Story {
  moments: Moment[];
  /** The number of moments that are left out. */
  more: number;
}

/** What will happen to a merchant's payments and webhooks. */
export const storyOf = ({ items, total }: Upcoming, words: Words): Story => ({
  moments: items.map((item) => upcomingMoment(item, words)),
  more: total - items.length,
});

function upcomingMoment(item: UpcomingItem, { t }: Words): Moment {
  const { at, reference, kind } = item;
  const common = { at, tone: "next" } as const;
  if (kind === "delivery") {
    const text = item.step > 0 ? t("Webhook {type} is sent again", item) : t("Webhook {type} is sent", item);
    return { ...common, text, note: reference, link: `webhooks/${item.id}` };
  }
  const name = kind === "checkout" ? t("Checkout") : t("Disbursement");
  const text = `${name} ${item.merchantsReference} ${t(OUTCOMES[item.status].within)}`;
  return { ...common, text, link: `${kind}s/${reference}` };
}

/**
 * What has happened since a sandbox time: the newest events, and the attempts of two kinds of webhooks: of these
 * events, and of webhooks that were due.
 * @param due the webhooks that were due before the clock moved
 */
export async function storySince(
  storage: Storage,
  words: Words,
  merchantId: string,
  since: number,
  due: readonly UpcomingItem[],
): Promise<Story> {
  const page = { merchantId, limit: SHOWN };
  const [events, newest] = await Promise.all([storage.listEvents(page), storage.listDeliveries(page)]);
  const known = new Set(newest.items.map(({ id }) => id));
  const others = due.flatMap((item) => (item.kind === "delivery" && !known.has(item.id) ? [item.id] : []));
  const older = await Promise.all(others.map((id) => storage.findDelivery(merchantId, id)));
  const deliveries = [...newest.items, ...older.filter((delivery) => delivery !== undefined)];
  const moments = [
    ...events.items.map((event) => eventMoment(event, words)),
    ...deliveries.flatMap((delivery) => momentsOf(delivery, words)),
  ]
    .filter(({ at }) => at > since)
    .toSorted((a, b) => a.at - b.at);
  return { moments: moments.slice(0, SHOWN), more: Math.max(0, moments.length - SHOWN) };
}

function eventMoment({ type, reference, createdAt }: Event, { t }: Words): Moment {
  const [kind] = type.split(".");
  const tone = type.endsWith("completed") ? "good" : "bad";
  return { at: createdAt, tone, text: t("Event {type}", { type }), note: reference, link: `${kind}s/${reference}` };
}

function momentsOf(delivery: Delivery, words: Words): Moment[] {
  const { id, type, reference, attempts } = delivery;
  return attempts.map((attempt) => {
    const { at, tone, note } = attemptMoment(attempt, delivery, words);
    const notes = note === undefined ? reference : `${reference}: ${note}`;
    const text = words.t("Webhook {type}, attempt {number}: {result} after {latencyMs} ms", {
      ...attempt,
      type,
      result: resultOf(attempt, words),
    });
    return { at, tone, text, note: notes, link: `webhooks/${id}` };
  });
}
