import type { ActorName, AuditEntry } from "../../domain/audit.ts";
import type { ApiKey } from "../../domain/keys.ts";
import type { Words } from "./words.ts";

/** Ids for programs. The command `keys audit` prints them. */
const IDS = new Set(["key", "replay", "delivery", "session", "bySession"]);
/** Details whose values are words of the service, and not texts that a person has typed. */
const CODED: Readonly<Record<string, string>> = { role: "role", status: "status", right: "right", list: "detail" };
/** Details that are times, as the server writes them. */
const isTime = (text: string) => text.length === 24 && text.endsWith("Z") && !Number.isNaN(Date.parse(text));

/** What people call a key of the merchant's. Undefined for a key that is not among these. */
export function keyName(keys: readonly ApiKey[], id: string | undefined, { t }: Words): string | undefined {
  const key = keys.find((each) => each.id === id);
  return key && (key.name === undefined ? `…${key.hint}` : t("quoted", { name: key.name }));
}

/** Describes an entry in words. @param keys the merchant's keys, which the words name */
export function inWords({ action, actor, details }: AuditEntry, keys: readonly ApiKey[], words: Words) {
  const { t, word } = words;
  const nameOf = (id: string | undefined) => keyName(keys, id, words);
  const isAboutKey = action.startsWith("key.");
  const name = isAboutKey ? nameOf(details.key) : undefined;
  const shown = (label: string, value: string) => {
    if (label === "invitedBy") return whoIs(value as ActorName, words, nameOf);
    if (label === "amount") return words.amount(BigInt(value), details.currency!);
    if (label === "pace") return t("perSecond", { pace: Number.parseInt(value, 10) });
    if (isTime(value)) return `${words.time(Date.parse(value))} UTC`;
    return CODED[label] === undefined ? value : word(CODED[label], value);
  };
  const more = Object.entries(details)
    .filter(([label]) => !IDS.has(label) && !(label === "currency" && details.amount !== undefined))
    .filter(([label]) => !(isAboutKey && name !== undefined && label === "name"))
    .map(([label, value]) => t("labelled", { label: word("detail", label), value: shown(label, value) }));
  const what = name === undefined ? t(`audit.${action}`) : `${t(`audit.${action}`)} ${name}`;
  const { delivery, replay, bySession: session } = details;
  return { what, more, who: whoIs(actor, words, nameOf), delivery, replay, session };
}

/** Who acted, in words. @param nameOf finds the name of an API key by its id */
export function whoIs(
  actor: ActorName,
  { t }: Words,
  nameOf: (id: string) => string | undefined = () => undefined,
): string {
  const kind = actor.split(" ", 1)[0] as "command" | "server" | "key" | "dashboard" | "merchant";
  const name = actor.slice(kind.length + 1);
  return t(`actor.${kind}`, { name: kind === "key" ? (nameOf(name) ?? name) : name });
}
