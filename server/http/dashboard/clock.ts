import type { Storage } from "../../domain/storage.ts";
import type { Upcoming, UpcomingItem } from "../../domain/clock-store.ts";
import { MOST_AHEAD_MS } from "../../domain/time.ts";
import type { Delivery } from "../../domain/deliveries.ts";
import type { Event } from "../../domain/events.ts";
import { markup } from "./html.ts";
import { refused } from "../../actions/refused.ts";
import { SHOWN } from "../../actions/sandbox.ts";
import { attemptMoment, resultOf, type Moment } from "./timeline.ts";
import type { Words } from "./words.ts";

const UNITS_MS = { minutes: 60_000, hours: 3_600_000, days: 86_400_000 };
type Unit = keyof typeof UNITS_MS;
export const UNITS = Object.keys(UNITS_MS) as Unit[];
const MOST_UNITS = 1_000;
/** The stops of the slider. */
export const STOPS = [
  { unit: "minutes", count: 1 },
  { unit: "minutes", count: 5 },
  { unit: "minutes", count: 30 },
  { unit: "hours", count: 2 },
  { unit: "hours", count: 10 },
  { unit: "days", count: 1 },
  { unit: "days", count: 3 },
  { unit: "days", count: 7 },
] as const satisfies { unit: Unit; count: number }[];
const FIRST_STOP = 2;

/** How far to move a clock. It keeps the typed texts, so that the form shows them again. */
export interface ClockChoice {
  byMs: number;
  stop: number;
  unit: string;
  /** The typed count; empty if the slider decides. */
  count: string;
}

/** Reads the form for the clock: a count and its unit or, if there is no count, a stop of the slider. @throws Refused */
export function clockChoice(query: Readonly<Record<string, string>>): ClockChoice {
  const { stop = "", count = "", unit = "" } = query;
  if (count === "") {
    const index = stop === "" ? FIRST_STOP : Number(stop);
    const chosen = STOPS[index];
    if (!chosen) throw refused(422, "error.stop", { most: STOPS.length - 1 });
    return { byMs: chosen.count * UNITS_MS[chosen.unit], stop: index, unit: "minutes", count };
  }
  const isCount = /^\d+$/.test(count) && Number(count) >= 1 && Number(count) <= MOST_UNITS;
  if (!isCount || !Object.hasOwn(UNITS_MS, unit)) throw refused(422, "error.clockCount", { most: MOST_UNITS });
  const byMs = Number(count) * UNITS_MS[unit as Unit];
  if (byMs > MOST_AHEAD_MS) throw refused(422, "error.clockAhead", { days: MOST_AHEAD_MS / UNITS_MS.days });
  return { byMs, stop: FIRST_STOP, unit, count };
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
    const text = item.step > 0 ? t("webhookSentAgain", item) : t("webhookSent", item);
    return { ...common, text, note: reference, link: `webhooks/${item.id}` };
  }
  const name = kind === "checkout" ? t("checkout") : t("disbursement");
  const text = `${name} ${item.merchantsReference} ${t(`within.${item.status}`)}`;
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
  return { at: createdAt, tone, text: t("eventOf", { type }), note: reference, link: `${kind}s/${reference}` };
}

function momentsOf(delivery: Delivery, words: Words): Moment[] {
  const { id, type, reference, attempts } = delivery;
  return attempts.map((attempt) => {
    const { at, tone, note } = attemptMoment(attempt, delivery, words);
    const notes = note === undefined ? reference : markup`${reference}: ${note}`;
    const text = words.t("webhookAttempt", {
      ...attempt,
      type,
      result: resultOf(attempt, words),
    });
    return { at, tone, text, note: notes, link: `webhooks/${id}` };
  });
}
