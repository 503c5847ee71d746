import { chaosTexts } from "../../actions/sandbox.ts";
import { MOST_KEYS, type ApiKey } from "../../domain/keys.ts";
import { limitTexts } from "../../domain/limits.ts";
import { sandboxTime } from "../../domain/time.ts";
import { form } from "./forms.ts";
import { code, column, link, markup, section, soft, under, type Column } from "./html.ts";
import { list, type Page } from "./page.ts";
import { mayDo, merchantOf, type View } from "./view.ts";

/** A merchant's settings: API keys, the webhook secret and the default address. */
export const settingsPage = list<ApiKey, { items: readonly ApiKey[]; secret: string }>({
  at: "/m/:merchant/settings",
  title: "settings",
  isWhole: true,
  async read(view) {
    const merchant = merchantOf(view);
    const [items, { current: secret }] = await Promise.all([
      view.context.storage.listKeysOf(merchant.id),
      view.context.storage.readSecrets(merchant.id),
    ]);
    return { items, secret };
  },
  before: ({ t }) => markup`<h2>${t("apiKeys")}</h2>`,
  columns,
  none: "noKeyYet",
  after: ({ t }) => soft(t("mostKeys", { most: MOST_KEYS })),
  below(view, { secret }) {
    const { t } = view;
    const url = merchantOf(view).webhookUrl;
    const ofSecret = [
      soft(t("checksSignatures")),
      markup`<div class="inline">${form(view, "secret.reveal")}${form(view, "secret.rotate", { values: { current: secret } })}</div>`,
    ];
    const ofAddress = [
      soft(view.rich("defaultAddress.means")),
      form(view, "default-webhook.set", { values: { url }, class: "inline" }) ??
        markup`<p>${url === undefined ? t("none") : code(url)}</p>`,
    ];
    return [
      form(view, "key.create", { prefix: "new", class: "card inline" }),
      section("secret", t("webhookSecret"), ofSecret),
      section("address", t("defaultAddress"), ofAddress, true),
    ];
  },
});

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
    const chaos = form(view, "sandbox.chaos", { values: chaosTexts(merchant), class: "inline" });
    const reset = form(view, "sandbox.reset", { texts: { name: merchant.name } });
    return markup`<h1>${t("sandbox")}</h1>
<div class="columns">${section("payout", t("testDisbursement"), payout && [payout, soft(rich("testDisbursement.hint", { docs: `${context.config.publicUrl}/docs` }))])}
${section("checkout", t("testCheckout"), form(view, "sandbox.checkout", { class: "inline", prefix: "checkout" }))}</div>
${section("clock", t("clock"), [markup`<p>${rich("timeOfMerchant", { time })}</p>`, clock], true)}
${section("chaos", t("chaos"), chaos)}
${section("reset", t("reset"), reset && [soft(t("reset.hint")), reset])}`;
  },
};

function columns(view: View): (Column<ApiKey> | false)[] {
  const { t, rich, area, stamp } = view;
  const used = ({ usedAt, revokedAt }: ApiKey) =>
    revokedAt !== undefined
      ? rich("revokedAt", { time: stamp(revokedAt) })
      : usedAt === undefined
        ? t("neverUsed")
        : rich("lastUsedAt", { time: stamp(usedAt) });
  return [
    column("key", "who", (key) => [
      key.name !== undefined && markup`<bdi class="name">${key.name}</bdi>`,
      code(`…${key.hint}`),
      under(key.id),
      link(`${area}/audit?key=${key.id}`, t("auditTrail"), "under"),
      under(key.scopes ? t("mayDo", { scopes: key.scopes.join(", ") }) : t("mayDoEverything")),
      Object.entries(limitTexts(key.limits)).map(([limit, text]) => under(`${view.word("limit", limit)} ${text}`)),
      under(used(key)),
    ]),
    column("created", "wide", ({ createdAt }) => stamp(createdAt)),
    column("state", "wide", ({ revokedAt }) => view.badge(revokedAt === undefined ? "active" : "revoked")),
    mayDo(view, "key.revoke") &&
      column(
        "action",
        "",
        ({ id, hint, limits, revokedAt }) =>
          revokedAt === undefined && [
            form(view, "key.limit", { values: { key: id, ...limitTexts(limits) }, prefix: id, texts: { hint } }),
            form(view, "key.revoke", { values: { key: id }, texts: { hint } }),
          ],
      ),
  ];
}
