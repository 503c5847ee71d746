import { sandboxTime } from "../../domain/time.ts";
import { form } from "./forms.ts";
import { markup, section, soft } from "./html.ts";
import type { Page } from "./page.ts";
import { merchantOf } from "./view.ts";

/** The sandbox of a merchant: test payments, the clock, and the reset. */
export const sandboxPage: Page = {
  at: "/m/:merchant/sandbox",
  title: "sandbox",
  where: "sandbox",
  show(view) {
    const { t, rich, context } = view;
    const merchant = merchantOf(view);
    const payout = form(view, "sandbox.disbursement", { class: "inline" });
    const time = view.stamp(sandboxTime(merchant, context.clock.now()));
    const clock = form(view, "sandbox.advance", { values: { by: "30 minutes" }, class: "inline" });
    const reset = form(view, "sandbox.reset", { texts: { name: merchant.name } });
    return markup`<h1>${t("sandbox")}</h1>
<div class="columns">${section("payout", t("testDisbursement"), payout && [payout, soft(rich("testDisbursement.hint", { docs: `${context.config.publicUrl}/docs` }))])}
${section("checkout", t("testCheckout"), form(view, "sandbox.checkout", { class: "inline", prefix: "checkout" }))}</div>
${section("clock", t("clock"), [markup`<p>${rich("timeOfMerchant", { time })}</p>`, clock], true)}
${section("reset", t("reset"), reset && [soft(t("reset.hint")), reset])}`;
  },
};
