import { CHAOS, SHOWN } from "../../actions/sandbox.ts";
import { NO_CHAOS } from "../../domain/chaos.ts";
import { FORCED_OUTCOMES, type ForcedOutcome } from "../../domain/outcomes.ts";
import { timestamp } from "../../domain/representation.ts";
import { sandboxTime } from "../../domain/time.ts";
import { clockChoice, STOPS, storyOf, storySince, UNITS, type Story } from "./clock.ts";
import { attributes, markup, type Html, type Part } from "./html.ts";
import type { Page } from "./page.ts";
import { card, code, form, inputOf, soft, table } from "./parts.ts";
import { timeline } from "./timeline.ts";
import { mayDo, merchantOf, type View } from "./view.ts";

/** The first digits of the numbers that the form suggests. The last three decide the outcome. */
const TEST_NUMBER = "2250700000";

/** The sandbox of a merchant: test payments, the table of outcomes, the clock, chaos, and the reset. */
export const sandboxPage: Page = {
  at: "/m/:merchant/sandbox",
  title: "sandbox",
  where: "sandbox",
  query: ["stop", "count", "unit"],
  async show(view) {
    const { t, rich } = view;
    const outcomes = outcomesIn(view);
    const advanced = view.resultOf("sandbox.advance");
    const merchant = advanced?.moved ?? merchantOf(view);
    const story = advanced && (await storySince(view.context.storage, view, merchant.id, advanced.from, advanced.due));
    const numbers = outcomes.map(({ number, text }) => number && markup`<option value="${number}">${text}</option>`);
    const payments = markup`<div class="columns">
${card([form(view, "sandbox.disbursement", { class: "inline", more: markup`<datalist id="numbers">${numbers}</datalist>` }), soft(rich("testDisbursement.hint"))], { id: "payout", title: t("testDisbursement"), class: "stack" })}
${card([form(view, "sandbox.checkout", { class: "inline", prefix: "checkout" }), soft(t("testCheckout.hint"))], { id: "checkout", title: t("testCheckout"), class: "stack" })}
</div>`;
    const decided = table(view, outcomes, [
      { title: "numberEndsIn", cell: ({ digits }) => code(digits) },
      { title: "theDisbursement", cell: ({ text }) => text },
    ]);
    return markup`<h1>${t("sandbox")}</h1>
${story && card(storyPart(view, story, t("nothingWasDue")), { id: "moved", title: t("clockHasMoved"), class: "moved" })}
${mayDo(view, "sandbox.disbursement") && payments}${await clockPart(view, merchant)}
<div class="columns"><div>${chaosPart(view)}${resetPart(view)}</div>
${card(decided, { id: "outcomes", title: t("lastDigits") })}</div>`;
  },
};

const storyPart = (view: View, { moments, more }: Story, nothing: string): Part =>
  moments.length === 0
    ? soft(nothing)
    : [markup`<div class="story">${timeline(view, moments)}</div>`, more > 0 && soft(view.t("more", { number: more }))];

async function clockPart(view: View, merchant: { id: string; clockOffset: number }): Promise<Html> {
  const { t, rich, stamp, time, area, context } = view;
  const choice = clockChoice(view.query);
  const now = sandboxTime(merchant, context.clock.now());
  const to = now + choice.byMs;
  const next = storyOf(await context.storage.listUpcoming(merchant.id, to, SHOWN), view);
  const slider = attributes({ type: "range", min: 0, max: STOPS.length - 1, value: choice.stop });
  const units = Object.fromEntries(UNITS.map((unit) => [unit, `unit.${unit}` as const]));
  const content = markup`<div class="columns"><div class="stack">
<p>${rich("timeOfMerchant", { time: stamp(now) })}</p>
<form class="stack" method="get" action="${area}/sandbox#clock">
<p class="field"><label for="stop">${t("moveForward")}</label><input id="stop" name="stop"${slider} aria-describedby="stops"></p>
<p class="stops" id="stops">${STOPS.map(({ unit, count }) => markup`<span>${t(`stop.${unit}`, { count })} </span>`)}</p>
<div class="inline">${inputOf(view, "count", { label: "orExactly", type: "number", attributes: { min: 1, max: 1_000 } }, choice.count)}
${inputOf(view, "unit", { label: "unit", type: "select", options: units }, choice.unit)}<button>${t("showWhatWillHappen")}</button></div>
</form>
${form(view, "sandbox.advance", { values: { to: timestamp(to) }, texts: { time: time(to) } })}${soft(t("clock.hint"))}
</div><div><h3>${t("onTheWay", { time: time(to) })}</h3>${storyPart(view, next, t("nothingIsDue"))}</div></div>`;
  return card(content, { id: "clock", title: t("clock"), isLive: true });
}

function chaosPart(view: View): Html {
  const { t, rich } = view;
  const { chaos } = merchantOf(view);
  const settings = chaos ?? NO_CHAOS;
  const values = Object.fromEntries(
    (Object.keys(CHAOS) as (keyof typeof CHAOS)[]).map((name) => [name, String(settings[name])]),
  );
  const none = Object.fromEntries(Object.keys(CHAOS).map((name) => [name, "0"]));
  const content = [
    soft(rich("chaos.hint")),
    form(view, "sandbox.chaos", { values, class: "stack" }),
    chaos && form(view, "sandbox.chaos", { values: none, button: "switchChaosOff", isConfirmation: true }),
  ];
  return card(content, { id: "chaos", title: t("chaos"), class: "stack" });
}

function resetPart(view: View): Html | false {
  const reset = form(view, "sandbox.reset", { texts: { name: merchantOf(view).name } });
  return (
    reset !== undefined &&
    card([soft(view.t("reset.hint")), reset], { id: "reset", title: view.t("reset"), class: "stack" })
  );
}

/** What a payout to a number with each ending does, in words. */
function outcomesIn({ t, context }: View): { digits: string; text: string; number?: string }[] {
  const seconds = context.config.settleDelayMs / 1_000;
  const describe = ({ refuse, status, failure, at, response }: ForcedOutcome) => {
    if (refuse === "always") return t("outcome.refused");
    if (refuse === "at-first") return t("outcome.refusedFirst");
    const outcome = status && t(`within.${status}`);
    const result =
      outcome === undefined
        ? t("outcome.pending")
        : at === "once"
          ? t("outcome.once", { outcome })
          : t("outcome.after", { outcome, seconds });
    if (failure) return t("labelled", { label: result, value: failure });
    if (response === "sent") return result;
    return response === "held" ? t("outcome.late", { result }) : t("outcome.lost", { result });
  };
  const sorted = Object.entries(FORCED_OUTCOMES).toSorted(([a], [b]) => a.localeCompare(b));
  const forced = sorted.map(([digits, outcome]) => ({ digits, text: describe(outcome), number: TEST_NUMBER + digits }));
  const other = { digits: t("anyOther"), text: t("outcome.after", { outcome: t("within.success"), seconds }) };
  return [...forced, other];
}
