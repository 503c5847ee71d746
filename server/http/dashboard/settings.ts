import { v5 } from "uuid";
import { MOST_KEYS, type ApiKey } from "../../domain/keys.ts";
import { limitTexts } from "../../domain/limits.ts";
import { curlLine } from "../curl-line.ts";
import { markup, type Part } from "./html.ts";
import type { Page } from "./page.ts";
import { badge, card, code, form, link, pre, small, soft, table, under, type Column } from "./parts.ts";
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
    const mayChange = mayDo(view, "default-webhook.set");
    const address = merchant.webhookUrl;
    return markup`<h1>${t("settings")}</h1>${newKey(view)}
${card(
  markup`<div data-live>${keys.length > 0 ? table(view, keys, columns(view), ({ id }) => id) : markup`<p>${t("noKeyYet")}</p>`}</div>
${form(view, "key.create", { values: { key: nextKey }, prefix: "new", class: "inline pages" })}${soft(t("mostKeys", { most: MOST_KEYS }))}`,
  { id: "keys", title: t("apiKeys"), class: "stack" },
)}
${card(
  markup`${secret(view)}<div class="inline">${form(view, "secret.reveal")}${form(view, "secret.rotate", { values: { current } })}</div>${soft(t("afterARotation"))}`,
  { id: "secret", title: t("webhookSecret"), class: "stack" },
)}
${card(
  markup`${soft(rich("defaultAddress.means"))}${
    mayChange
      ? [form(view, "default-webhook.set", { values: { url: address }, class: "inline" }), soft(t("saveEmpty"))]
      : markup`<p>${address === undefined ? t("thereIsNone") : code(address)}</p>`
  }`,
  { id: "address", title: t("defaultAddress"), class: "stack", isLive: true },
)}`;
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
  if (secrets)
    return [
      pre(secrets.current, { id: "current-secret" }),
      secrets.previous.map((each) =>
        soft(view.rich("signsToo", { time: view.time(each.expiresAt), secret: each.secret })),
      ),
    ];
  return markup`<p>${view.t("checksSignatures")}</p>`;
}

function columns(view: View): Column<ApiKey>[] {
  const { t, area } = view;
  const used = ({ usedAt, revokedAt }: ApiKey) =>
    revokedAt !== undefined
      ? t("revokedAt", { time: view.minute(revokedAt) })
      : usedAt === undefined
        ? t("neverUsed")
        : t("lastUsedAt", { time: view.minute(usedAt) });
  const forms: Column<ApiKey> = {
    title: "action",
    cell: ({ id, hint, limits, revokedAt }) =>
      revokedAt === undefined && [
        form(view, "key.limit", { values: { key: id, ...limitTexts(limits) }, prefix: id, texts: { hint } }),
        form(view, "key.revoke", { values: { key: id }, texts: { hint } }),
      ],
  };
  return [
    {
      title: "key",
      class: "who",
      cell: (key) => [
        key.name !== undefined && markup`<bdi class="name">${key.name}</bdi>`,
        code(`…${key.hint}`),
        under(key.id),
        link(`${area}/audit?key=${key.id}`, t("whatWasDoneToIt"), "under"),
        under(key.scopes ? t("mayDo", { scopes: key.scopes.join(", ") }) : t("mayDoEverything")),
        Object.entries(limitTexts(key.limits)).map(([limit, text]) => under(`${view.word("detail", limit)} ${text}`)),
        small(used(key)),
      ],
    },
    { title: "created", class: "wide", cell: ({ createdAt }) => view.stamp(createdAt, "minute") },
    {
      title: "lastUsed",
      class: "wide",
      cell: ({ usedAt }) =>
        usedAt === undefined ? markup`<span class="soft">${t("never")}</span>` : view.stamp(usedAt, "minute"),
    },
    {
      title: "state",
      class: "wide",
      cell: ({ revokedAt }) =>
        revokedAt === undefined ? badge(view, "active") : [badge(view, "revoked"), under(view.minute(revokedAt))],
    },
    ...(mayDo(view, "key.revoke") ? [forms] : []),
  ];
}
