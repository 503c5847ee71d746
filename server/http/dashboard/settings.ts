import { USUAL_STEP } from "../../actions/sandbox.ts";
import { MOST_KEYS, type ApiKey } from "../../domain/keys.ts";
import { limitTexts, termTexts } from "../../domain/limits.ts";
import { chaosDetails } from "../../domain/outcomes.ts";
import { sandboxTime } from "../../domain/time.ts";
import { form, formCard } from "./forms.ts";
import { bdi, code, column, markup, section, soft, under, type Column } from "./html.ts";
import { list, type Page } from "./page.ts";
import { mayDo, merchantOf, type View } from "./view.ts";

/** A merchant's settings: API keys, webhooks and, for operators, what they have agreed with the merchant. */
export const settingsPage = list<ApiKey, { items: readonly ApiKey[]; current: string }>({
  at: "/m/:merchant/settings",
  title: "settings",
  isWhole: true,
  async read(view) {
    const { storage } = view.context;
    const { id } = merchantOf(view);
    const [items, { current }] = await Promise.all([storage.listKeysOf(id), storage.readSecrets(id)]);
    return { items, current };
  },
  before: ({ t }) => markup`<h2>${t("apiKeys")}</h2>`,
  columns,
  after: ({ t }) => soft(t("mostKeys", { most: MOST_KEYS })),
  below(view, { current }) {
    const { webhookUrl: url, name, limits, terms, state } = merchantOf(view);
    const isOpen = state !== "closed";
    return [
      isOpen && form(view, "key.create", { class: "card inline" }),
      section("secret", view.t("webhookSecret"), [
        soft(view.t("checksSignatures")),
        markup`<div class="inline">${form(view, "secret.reveal")}${form(view, "secret.rotate", { values: { current } })}</div>`,
      ]),
      formCard(view, "default-webhook.set", { values: { url }, class: "stack" }) ??
        section("address", view.t("addressOfWebhooks"), url === undefined ? view.t("none") : code(url), true),
      formCard(view, "merchant.rename", { values: { name }, class: "inline" }),
      isOpen && [
        formCard(view, "merchant.limit", { values: limitTexts(limits), class: "stack" }),
        formCard(view, "merchant.terms", { values: termTexts(terms), class: "stack" }),
        formCard(view, state ? "merchant.reopen" : "merchant.suspend", { about: bdi(name) }),
        formCard(view, "merchant.close", { about: bdi(name) }),
      ],
    ];
  },
});

/** The sandbox of a merchant: test payments, the clock, and the reset. */
export const sandboxPage: Page = {
  at: "/m/:merchant/sandbox",
  title: "sandbox",
  where: "sandbox",
  show(view) {
    const { t, context } = view;
    const merchant = merchantOf(view);
    const docs = `${context.config.publicUrl}/docs`;
    const time = view.stamp(sandboxTime(merchant, context.clock.now()));
    const tests = [
      formCard(view, "sandbox.disbursement", { class: "inline", below: soft(t("lastDigits", { docs })) }),
      formCard(view, "sandbox.checkout", { class: "inline" }),
    ];
    const clock = form(view, "sandbox.advance", { values: { by: USUAL_STEP }, class: "inline" });
    return markup`<h1>${t("sandbox")}</h1>
<div class="columns">${!merchant.state && tests}</div>
${!merchant.state && formCard(view, "sandbox.load")}
${section("clock", t("clock"), [markup`<p>${t("timeOfMerchant", { time })}</p>`, clock], true)}
${formCard(view, "sandbox.chaos", { values: chaosDetails(merchant.chaos) })}
${formCard(view, "sandbox.reset", { about: bdi(merchant.name) })}`;
  },
};

function columns(view: View): (Column<ApiKey> | false)[] {
  const { t, stamp } = view;
  const used = ({ usedAt, revokedAt }: ApiKey) =>
    revokedAt !== undefined
      ? t("revokedAt", { time: stamp(revokedAt) })
      : usedAt === undefined
        ? t("neverUsed")
        : t("lastUsedAt", { time: stamp(usedAt) });
  return [
    column("key", "who", (key) => [
      key.name !== undefined && markup`<bdi class="name">${key.name}</bdi>`,
      code(`…${key.hint}`),
      under(key.id),
      under(key.scopes ? t("mayDo", { scopes: key.scopes.join(", ") }) : t("mayDoEverything")),
      Object.entries(limitTexts(key.limits)).map(([limit, text]) => under(`${view.word("limit", limit)} ${text}`)),
      under(used(key)),
    ]),
    column("created", "wide", ({ createdAt }) => stamp(createdAt)),
    column("state", "wide", ({ revokedAt }) => view.badge(revokedAt === undefined ? "active" : "revoked")),
    mayDo(view, "key.revoke") &&
      column(
        "action",
        "wide",
        ({ id, hint, limits, revokedAt }) =>
          revokedAt === undefined && [
            form(view, "key.limit", { values: { key: id, ...limitTexts(limits) }, about: `…${hint}` }),
            form(view, "key.revoke", { values: { key: id }, about: `…${hint}` }),
          ],
      ),
  ];
}
