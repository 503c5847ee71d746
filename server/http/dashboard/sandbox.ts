import { refused } from "../../actions/action.ts";
import type { ActionResult } from "../../actions/index.ts";
import { CHAOS, SHOWN } from "../../actions/sandbox.ts";
import { NO_CHAOS, FORCED_OUTCOMES, type ForcedOutcome } from "../../domain/outcomes.ts";
import type { UpcomingItem } from "../../domain/storage.ts";
import { timestamp } from "../../domain/representation.ts";
import { sandboxTime } from "../../domain/time.ts";
import { form } from "./forms.ts";
import { attributes, card, code, column, markup, section, soft, table, type Html, type Part } from "./html.ts";
import type { Page } from "./page.ts";
import { attemptMoment, resultOf, timeline, type Moment } from "./timeline.ts";
import { mayDo, merchantOf, type View, type Words } from "./view.ts";

const UNITS_MS = { minutes: 60_000, hours: 3_600_000, days: 86_400_000 };
/** How far the slider moves the clock. */
const STOPS = [
  [1, "minutes"],
  [5, "minutes"],
  [30, "minutes"],
  [2, "hours"],
  [10, "hours"],
  [1, "days"],
  [3, "days"],
  [7, "days"],
] as const;
const FIRST_STOP = 2;

/** The sandbox of a merchant: test payments, the table of outcomes, the clock, chaos, and the reset. */
export const sandboxPage: Page = {
  at: "/m/:merchant/sandbox",
  title: "sandbox",
  where: "sandbox",
  query: ["stop"],
  async show(view) {
    const { t, rich } = view;
    const outcomes = outcomesIn(view);
    const advanced = view.resultOf("sandbox.advance");
    const merchant = advanced?.moved ?? merchantOf(view);
    const story = advanced && storyPart(view, await storyOf(view, advanced), t("nothingWasDue"));
    const payout = [form(view, "sandbox.disbursement", { class: "inline" }), soft(rich("testDisbursement.hint"))];
    const checkout = form(view, "sandbox.checkout", { class: "inline", prefix: "checkout" });
    const payments = markup`<div class="columns">
${section("payout", t("testDisbursement"), payout)}
${section("checkout", t("testCheckout"), checkout)}</div>`;
    const decided = table(view, outcomes, [
      column("numberEndsIn", "", ({ digits }) => code(digits)),
      column("theDisbursement", "", ({ text }) => text),
    ]);
    return markup`<h1>${t("sandbox")}</h1>
${story && card(story, { id: "moved", title: t("clockHasMoved"), class: "moved" })}
${mayDo(view, "sandbox.disbursement") && payments}${await clockPart(view, merchant)}
<div class="columns"><div>${chaosPart(view)}${resetPart(view)}</div>
${card(decided, { id: "outcomes", title: t("lastDigits") })}</div>`;
  },
};

/** What a payout to a number with each ending does, in words. */
function outcomesIn({ t, context }: View): { digits: string; text: string }[] {
  const seconds = context.config.settleDelayMs / 1_000;
  const describe = ({ refuse, status, failure, at, response }: ForcedOutcome) => {
    if (refuse) return refuse === "always" ? t("outcome.refused") : t("outcome.refusedFirst");
    const outcome = status && t(`within.${status}`);
    const settled =
      outcome && (at === "once" ? t("outcome.once", { outcome }) : t("outcome.after", { outcome, seconds }));
    const result = settled ?? t("outcome.pending");
    if (failure) return t("labelled", { label: result, value: failure });
    if (response === "sent") return result;
    return response === "held" ? t("outcome.late", { result }) : t("outcome.lost", { result });
  };
  const sorted = Object.entries(FORCED_OUTCOMES).toSorted(([a], [b]) => a.localeCompare(b));
  const forced = sorted.map(([digits, outcome]) => ({ digits, text: describe(outcome) }));
  const other = { digits: t("anyOther"), text: t("outcome.after", { outcome: t("within.success"), seconds }) };
  return [...forced, other];
}

/** Moments of which some may be left out. */
interface Story {
  moments: Moment[];
  /** How many there are. */
  total: number;
}

const storyPart = (view: View, { moments, total }: Story, nothing: string): Part =>
  moments.length === 0
    ? soft(nothing)
    : [
        markup`<div class="story">${timeline(view, moments)}</div>`,
        total > moments.length && soft(view.t("more", { number: total - moments.length })),
      ];

async function clockPart(view: View, merchant: { id: string; clockOffset: number }): Promise<Html> {
  const { t, rich, stamp, time, area, context } = view;
  const index = Number(view.query.stop || FIRST_STOP);
  const stop = STOPS[index];
  if (!stop) throw refused(422, "error.stop", { most: STOPS.length - 1 });
  const now = sandboxTime(merchant, context.clock.now());
  const to = now + stop[0] * UNITS_MS[stop[1]];
  const { items, total } = await context.storage.listUpcoming(merchant.id, to, SHOWN);
  const next = { moments: items.map((item) => upcomingMoment(item, view)), total };
  const slider = attributes({ type: "range", min: 0, max: STOPS.length - 1, value: index });
  const content = markup`<div class="columns"><div class="stack">
<p>${rich("timeOfMerchant", { time: stamp(now) })}</p>
<form class="stack" method="get" action="${area}/sandbox#clock">
<p class="field"><label for="stop">${t("moveForward")}</label><input id="stop" name="stop"${slider} aria-describedby="stops"></p>
<p class="stops" id="stops">${STOPS.map(([count, unit]) => markup`<span>${t(`stop.${unit}`, { count })} </span>`)}</p>
<button>${t("showWhatWillHappen")}</button>
</form>
${form(view, "sandbox.advance", { values: { to: timestamp(to) }, texts: { time: time(to) } })}${soft(t("clock.hint"))}
</div><div><h3>${t("onTheWay", { time: time(to) })}</h3>${storyPart(view, next, t("nothingIsDue"))}</div></div>`;
  return card(content, { id: "clock", title: t("clock"), isLive: true });
}

function upcomingMoment(item: UpcomingItem, { t }: Words): Moment {
  const { at, reference, kind } = item;
  const common = { at, tone: "next" } as const;
  if (kind === "delivery") {
    const text = item.step > 0 ? t("webhookSentAgain", item) : t("webhookSent", item);
    return { ...common, text, notes: [reference], link: `webhooks/${item.id}` };
  }
  const text = `${t(kind)} ${item.merchantsReference} ${t(`within.${item.status}`)}`;
  return { ...common, text, link: `${kind}s/${reference}` };
}

/**
 * What has happened since the clock was moved: the newest events, and the attempts of two kinds of webhooks: of these
 * events, and of webhooks that were due before.
 */
async function storyOf(view: View, { moved, from, due }: ActionResult<"sandbox.advance">): Promise<Story> {
  const { storage } = view.context;
  const page = { merchantId: moved.id, limit: SHOWN };
  const [events, newest] = await Promise.all([storage.listEvents(page), storage.listDeliveries(page)]);
  const known = new Set(newest.items.map(({ id }) => id));
  const others = due.flatMap((item) => (item.kind === "delivery" && !known.has(item.id) ? [item.id] : []));
  const older = await Promise.all(others.map((id) => storage.findDelivery(moved.id, id)));
  const happened = events.items.map(({ type, reference, createdAt }): Moment => {
    const tone = type.endsWith("completed") ? "good" : "bad";
    const link = `${type.split(".", 1)[0]}s/${reference}`;
    return { at: createdAt, tone, text: view.t("eventOf", { type }), notes: [reference], link };
  });
  const attempts = [...newest.items, ...older.filter((each) => each !== undefined)].flatMap((delivery) =>
    delivery.attempts.map((attempt): Moment => {
      const { id, type, reference } = delivery;
      const { at, tone, notes = [] } = attemptMoment(attempt, delivery, view);
      const text = view.t("webhookAttempt", { ...attempt, type, result: resultOf(attempt, view) });
      return { at, tone, text, notes: [reference, ...notes], link: `webhooks/${id}` };
    }),
  );
  const moments = [...happened, ...attempts].filter(({ at }) => at > from).toSorted((a, b) => a.at - b.at);
  return { moments: moments.slice(0, SHOWN), total: moments.length };
}

function chaosPart(view: View): Part {
  const { t, rich } = view;
  const { chaos } = merchantOf(view);
  const names = Object.keys(CHAOS) as (keyof typeof CHAOS)[];
  const valuesOf = (settings: typeof NO_CHAOS) =>
    Object.fromEntries(names.map((name) => [name, String(settings[name])]));
  const content = [
    soft(rich("chaos.hint")),
    form(view, "sandbox.chaos", { values: valuesOf(chaos ?? NO_CHAOS), class: "stack" }),
    chaos &&
      form(view, "sandbox.chaos", { values: valuesOf(NO_CHAOS), button: "switchChaosOff", isConfirmation: true }),
  ];
  return section("chaos", t("chaos"), content);
}

function resetPart(view: View): Part {
  const reset = form(view, "sandbox.reset", { texts: { name: merchantOf(view).name } });
  return section("reset", view.t("reset"), reset && [soft(view.t("reset.hint")), reset]);
}
