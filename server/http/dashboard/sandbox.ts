import { CHAOS } from "../../actions/sandbox.ts";
import { NO_CHAOS } from "../../domain/outcomes.ts";
import { sandboxTime } from "../../domain/time.ts";
import { form } from "./forms.ts";
import { markup, section, soft, type Part } from "./html.ts";
import type { Page } from "./page.ts";
import { mayDo, merchantOf, type View } from "./view.ts";

/** The sandbox of a merchant: test payments, the clock, chaos, and the reset. */
export const sandboxPage: Page = {
  at: "/m/:merchant/sandbox",
  title: "sandbox",
  where: "sandbox",
  show(view) {
    const { t, rich, context } = view;
    const hint = soft(rich("testDisbursement.hint", { docs: `${context.config.publicUrl}/docs` }));
    const payout = [form(view, "sandbox.disbursement", { class: "inline" }), hint];
    const checkout = form(view, "sandbox.checkout", { class: "inline", prefix: "checkout" });
    const payments = markup`<div class="columns">
${section("payout", t("testDisbursement"), payout)}
${section("checkout", t("testCheckout"), checkout)}</div>`;
    return markup`<h1>${t("sandbox")}</h1>
${mayDo(view, "sandbox.disbursement") && payments}${clockPart(view)}
<div class="columns">${chaosPart(view)}${resetPart(view)}</div>`;
  },
};

function clockPart(view: View): Part {
  const { t, rich, stamp, context } = view;
  const content = [
    markup`<p>${rich("timeOfMerchant", { time: stamp(sandboxTime(merchantOf(view), context.clock.now())) })}</p>`,
    form(view, "sandbox.advance", { values: { by: "30 minutes" }, class: "inline" }),
  ];
  return section("clock", t("clock"), content, true);
}

function chaosPart(view: View): Part {
  const { t } = view;
  const { chaos } = merchantOf(view);
  const names = Object.keys(CHAOS) as (keyof typeof CHAOS)[];
  const valuesOf = (settings: typeof NO_CHAOS) =>
    Object.fromEntries(names.map((name) => [name, String(settings[name])]));
  const content = [
    form(view, "sandbox.chaos", { values: valuesOf(chaos ?? NO_CHAOS), class: "stack" }),
    chaos && form(view, "sandbox.chaos", { values: valuesOf(NO_CHAOS), button: "switchChaosOff", hidesInputs: true }),
  ];
  return section("chaos", t("chaos"), content);
}

function resetPart(view: View): Part {
  const reset = form(view, "sandbox.reset", { texts: { name: merchantOf(view).name } });
  return section("reset", view.t("reset"), reset && [soft(view.t("reset.hint")), reset]);
}
