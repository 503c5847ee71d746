import { actorName, personOf, type Actor, type ActorName, type AuditEntry } from "../../domain/audit.ts";
import type { ApiKey } from "../../domain/keys.ts";
import { isTextId } from "../../texts/index.ts";
import { attributes, column, Html, joined, link, markup, under, type Part } from "./html.ts";
import { list } from "./page.ts";
import type { Words } from "./view.ts";

const ON_A_PAGE = 50;
/** Ids for programs. The command `keys audit` prints them. */
const IDS = new Set(["key", "delivery", "session", "bySession"]);
/** Details whose values are words of the service, and not texts that a person has typed. */
const CODED: Readonly<Record<string, string>> = { role: "role", status: "status", right: "right" };
/** Details that are times, as the server writes them. */
const isTime = (text: string) => text.length === 24 && text.endsWith("Z") && !Number.isNaN(Date.parse(text));

/** What people call a key of the merchant's. Undefined for a key that is not among these. */
export function keyName(keys: readonly ApiKey[], id: string | undefined, { t }: Words): Html | string | undefined {
  const key = keys.find((each) => each.id === id);
  return key && (key.name === undefined ? `…${key.hint}` : t("quoted", { name: key.name }));
}

/** Who acted, in words. @param keys of the merchant, which the words name */
export function whoIs(actor: Actor, words: Words, keys: readonly ApiKey[] = []): Html {
  const full = actorName(actor);
  const kind = full.split(" ", 1)[0] as "command" | "server" | "key" | "dashboard" | "merchant";
  const name = personOf(full);
  return words.t(`actor.${kind}`, { name: (kind === "key" && keyName(keys, name, words)) || name });
}

/** What a detail of an entry is called: most are called like the inputs of forms. */
function labelOf(detail: string, { t }: Words): Part {
  const id = [`detail.${detail}`, detail, `limit.${detail}`, `term.${detail}`, `chaos.${detail}`].find(isTextId);
  if (id === undefined) return detail;
  const { html } = t({ say: id });
  return new Html(html.charAt(0).toLowerCase() + html.slice(1));
}

/** Describes what was done, in words. @param keys of the merchant, which the words name */
export function inWords(
  { action, details }: Pick<AuditEntry, "action" | "details">,
  keys: readonly ApiKey[],
  words: Words,
) {
  const { t, word } = words;
  const name = action.startsWith("key.") ? keyName(keys, details.key, words) : undefined;
  const shown = (label: string, value: string): Part => {
    if (label === "invitedBy" || label === "proposedBy") return whoIs(value as ActorName, words, keys);
    if (label === "amount") return words.amount(BigInt(value), details.currency!);
    if (label === "list") return labelOf(value, words);
    if (label === "pace") return t("perSecond", { pace: Number.parseInt(value, 10) });
    if (isTime(value)) return `${words.time(Date.parse(value))} UTC`;
    return CODED[label] === undefined ? value : word(CODED[label], value);
  };
  const hidden = new Set([...IDS, details.amount !== undefined && "currency", name !== undefined && "name"]);
  const more = Object.entries(details)
    .filter(([label]) => !hidden.has(label))
    .map(([label, value]) => t("labelled", { label: labelOf(label, words), value: shown(label, value) }));
  // A later version may have recorded an action that has no text here.
  const what = [isTextId(action) ? t({ say: action }) : action, name !== undefined && [" ", name]];
  return { what, more };
}

/** Who did what, newest first: with a merchant or, for operators, with all. */
export const auditPage = list<AuditEntry & ReturnType<typeof inWords> & { who: Html }>({
  at: "{scope}/audit",
  title: "auditTrail",
  async read(view, cursor) {
    const { storage } = view.context;
    const of = view.merchant && { merchantId: view.merchant.id };
    const found = await storage.listAudit({ ...of, limit: ON_A_PAGE, ...cursor });
    const ids = [...new Set(found.items.map(({ merchantId }) => merchantId))].filter((id) => id !== "");
    const keys = await Promise.all(ids.map((id) => storage.listKeysOf(id)));
    const items = found.items.map((entry) => {
      return { ...entry, ...inWords(entry, keys.flat(), view), who: whoIs(entry.actor, view, keys.flat()) };
    });
    return { ...found, items };
  },
  columns: ({ root, t, stamp, whose }) => [
    column("action", "", ({ merchantId, what, more, details: { delivery } }) => {
      const area = `${root}/m/${merchantId}`;
      const of = whose(merchantId);
      return [
        markup`<bdi>${delivery ? link(`${area}/webhooks/${delivery}`, what) : what}</bdi>`,
        of && link(`${area}/audit`, of, "under"),
        more.length > 0 && under(joined(more, " · ")),
      ];
    }),
    column("who", "wide", ({ who, details: { bySession: session } }) => {
      const title = session === undefined ? undefined : t("session", { session });
      return markup`<bdi${attributes({ title })}>${who}</bdi>`;
    }),
    column("when", "wide", ({ at }) => stamp(at)),
  ],
});
