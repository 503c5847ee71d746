import { v5 } from "uuid";
import { MOST_KEYS, type ApiKey } from "../../domain/keys.ts";
import { limitTexts } from "../../domain/limits.ts";
import { curlLine } from "../curl-line.ts";
import { form } from "./forms.ts";
import { code, column, link, markup, pre, section, soft, table, under, type Column, type Part } from "./html.ts";
import type { Page } from "./page.ts";
import { mayDo, merchantOf, type View } from "./view.ts";

/** A merchant's settings: API keys, the webhook secret and the default address. */
export const settingsPage: Page = {
  at: "/m/:merchant/settings",
  title: "settings",
  async show(view) {
    const { t, rich, context } = view;
    const merchant = merchantOf(view);
    const keys = await context.storage.listKeysOf(merchant.id);
    const { current } = await context.webhooks.readSecrets(merchant);
    const nextKey = v5([merchant.id, ...keys.map((key) => key.id)].join(), view.visit.session.id);
    const address = merchant.webhookUrl;
    const rows = keys.length > 0 ? table(view, keys, columns(view), ({ id }) => id) : markup`<p>${t("noKeyYet")}</p>`;
    const ofKeys = [
      markup`<div data-live>${rows}</div>`,
      form(view, "key.create", { values: { key: nextKey }, prefix: "new", class: "inline pages" }),
      soft(t("mostKeys", { most: MOST_KEYS })),
    ];
    const rotate = form(view, "secret.rotate", { values: { current } });
    const ofSecret = markup`${secret(view)}<div class="inline">${form(view, "secret.reveal")}${rotate}</div>`;
    const ofAddress = [
      soft(rich("defaultAddress.means")),
      form(view, "default-webhook.set", { values: { url: address }, class: "inline" }) ??
        markup`<p>${address === undefined ? t("none") : code(address)}</p>`,
    ];
    return markup`<h1>${t("settings")}</h1>${newKey(view)}
${section("keys", t("apiKeys"), ofKeys)}
${section("secret", t("webhookSecret"), ofSecret)}
${section("address", t("defaultAddress"), ofAddress, true)}`;
  },
};

/** A new key, which only the response to its form shows. */
function newKey(view: View): Part {
  const made = view.resultOf("key.create");
  if (!made) return undefined;
  if ("hash" in made)
    return markup`<p class="notice" role="status">${view.rich("keyIsKnown", { name: made.name ?? "", hint: made.hint })}</p>`;
  return markup`<div class="notice" role="status"><h2>${view.t("yourNewKey")}</h2>${pre(made.key, { id: "new-key" })}
<p>${view.rich("keyShownOnce")}</p>${pre(curlLine(view.context.config.publicUrl, made.key))}</div>`;
}

/** The secret, which only the response to a form shows. */
function secret(view: View): Part {
  const secrets = view.resultOf("secret.rotate") ?? view.resultOf("secret.reveal");
  if (!secrets) return markup`<p>${view.t("checksSignatures")}</p>`;
  const earlier = secrets.previous.map((each) =>
    soft(view.rich("signsToo", { time: view.time(each.expiresAt), secret: each.secret })),
  );
  return [pre(secrets.current, { id: "current-secret" }), earlier];
}

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
