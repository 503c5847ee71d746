import { actions } from "./actions.ts";
import { checkoutPage } from "./checkout-page.ts";
import { pages } from "./pages.ts";
import { payments } from "./payments.ts";
import { settings } from "./settings.ts";
import { webhooks } from "./webhooks.ts";

export type Language = "en" | "fr";
/** A text in English and in French. `{name}` stands for a value, and `|` is between the forms for one and for many. */
export type Text = readonly [english: string, french: string];

export const AREAS = { pages, payments, webhooks, settings, actions, checkoutPage };
/**
 * Every text for people, by its id.
 *
 * Words in French: payout: versement; disbursement (the record of the contract): décaissement; checkout: encaissement;
 * merchant: marchand; rail: rail; replay: renvoi; retry: nouvelle tentative; receiver: récepteur; settlement: issue;
 * fee: frais; balance: solde; statement: relevé; lowest denomination: plus petite unité; sandbox: bac à sable; audit
 * trail: journal d’audit; chaos: perturbations; operator: opérateur; API key: clé d’API.
 */
export const TEXTS = {
  ...pages,
  ...payments,
  ...webhooks,
  ...settings,
  ...actions,
  ...checkoutPage,
} as const satisfies Record<string, Text>;

type Texts = typeof TEXTS;
export type TextId = keyof Texts;

type NamesIn<English extends string> = English extends `${string}{${infer Name}}${infer Rest}`
  ? Name | NamesIn<Rest>
  : never;
/** What the values of a text are called. */
export type Names<Id extends TextId> = NamesIn<Texts[Id][0]>;
/** The values of a text: none, or one for each name in it. */
export type Values<Id extends TextId, Value> = [Names<Id>] extends [never]
  ? []
  : [values: Readonly<Record<Names<Id>, Value>>];

/** The id of a text without values. */
export type Label = { [Id in TextId]: [Names<Id>] extends [never] ? Id : never }[TextId];

/** What people will read, before its language is known: a text with its values. */
export interface Said {
  say: TextId;
  values?: Readonly<Record<string, SaidValue>> | undefined;
}
export type SaidValue =
  | string
  | number
  | Said
  | { amount: number | bigint; currency: string }
  | { time: number }
  | { phoneNumber: string };
export const say = <Id extends TextId>(id: Id, ...[values]: Values<Id, SaidValue>): Said => ({ say: id, values });
/** A text without values, one with its values, or what is the same in all languages. */
export type Wording = Label | Said | { text: string };

const UNITS = [
  [86_400_000, "duration.days"],
  [3_600_000, "duration.hours"],
  [60_000, "duration.minutes"],
  [1_000, "duration.seconds"],
] as const;

/** A duration of at least a second in whole units of the largest that fits: `6 days`. */
export function sayDuration(milliseconds: number): Said {
  const [size, id] = UNITS.find(([each]) => milliseconds >= each)!;
  return say(id, { count: Math.floor(milliseconds / size) });
}

export const numberIn = (language: Language, number: number | bigint): string => number.toLocaleString(language);
/** French puts a space before some signs and between thousands, at which no line may break. */
const spaced = (text: string): string => text.replaceAll(/ (?=[:;?!%»])|(?<=«) |(?<=\d) (?=\d{3}\b)/g, "\u00a0");

/** A text with its values. `count` decides between its forms. @param show writes a value that is not a number */
export function textIn(
  language: Language,
  id: TextId,
  values: Readonly<Record<string, unknown>> = {},
  show: (value: unknown) => string = String,
): string {
  const isFrench = language === "fr";
  const [one = "", many = one]: string[] = TEXTS[id][isFrench ? 1 : 0].split("|");
  const isOne = isFrench ? Number(values.count) < 2 : values.count === 1;
  // The names between braces are at the odd places.
  const text = (isOne ? one : many)
    .split(/[{}]/)
    .map((part, place) => {
      if (place % 2 === 0) return part;
      const value = values[part];
      return typeof value === "number" || typeof value === "bigint" ? numberIn(language, value) : show(value);
    })
    .join("");
  return isFrench ? spaced(text) : text;
}

/** A text with its values, which may be texts, for programs and for the command line. */
export const english = (id: TextId, values?: Readonly<Record<string, SaidValue>>): string =>
  textIn("en", id, values, (value) =>
    typeof value === "object" && "say" in value! ? english(value.say as TextId, (value as Said).values) : String(value),
  );

export const isTextId = (id: string): id is TextId => Object.hasOwn(TEXTS, id);
