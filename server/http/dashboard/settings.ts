import { MOST_KEYS, type ApiKey } from "../../domain/keys.ts";
import { limitTexts } from "../../domain/limits.ts";
import { form } from "./forms.ts";
import { code, column, link, markup, section, soft, under, type Column } from "./html.ts";
import { list } from "./page.ts";
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

function columns(view: View): (Column<ApiKey> | false)[] {
  const { t, rich, area, stampMinute } = view;
  const used = ({ usedAt, revokedAt }: ApiKey) =>
    revokedAt !== undefined
      ? rich("revokedAt", { time: stampMinute(revokedAt) })
      : usedAt === undefined
        ? t("neverUsed")
        : rich("lastUsedAt", { time: stampMinute(usedAt) });
  return [
    column("key", "who", (key) => [
      key.name !== undefined && markup`<bdi class="name">${key.name}</bdi>`,
      code(`…${key.hint}`),
      under(key.id),
      link(`${area}/audit?key=${key.id}`, t("whatWasDoneToIt"), "under"),
      under(key.scopes ? t("mayDo", { scopes: key.scopes.join(", ") }) : t("mayDoEverything")),
      Object.entries(limitTexts(key.limits)).map(([limit, text]) => under(`${view.word("limit", limit)} ${text}`)),
      under(used(key)),
    ]),
    column("created", "wide", ({ createdAt }) => stampMinute(createdAt)),
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
