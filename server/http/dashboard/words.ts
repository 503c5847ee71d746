import type { Response } from "express";
import { timestamp } from "../../domain/representation.ts";
import { formatAmount } from "../pages/money.ts";
import type { Locale } from "../pages/texts.ts";
import { stateOf } from "../request-state.ts";
import { spaced } from "../spaced.ts";
import { french, frenchOfOthers } from "./french/index.ts";

/** A text of the dashboard. Code and templates contain the English text, and `french/` its translation. */
export type English = keyof typeof french;
type Values = Readonly<Record<string, unknown>>;

/** Shows texts in one language. */
export interface Words {
  language: Locale;
  /** A text, in which `{name}` stands for a value. */
  t(english: English, values?: Values): string;
  /** The text for a count. The text contains the count as `{count}`. */
  plural(count: number, one: English, other: English, values?: Values): string;
  /** A text with elements, as HTML. Values are escaped, unless `stamp` made them. */
  rich(english: English, values?: Values): string;
  richPlural(count: number, one: English, other: English, values?: Values): string;
  /** A text that other parts of the server have composed, such as an error. A text that is not known stays English. */
  said(english: string): string;
  number(count: number | bigint): string;
  amount(amount: number | bigint, currency: string): string;
  /** A time in UTC, to the second. */
  time(at: number): string;
  /** To the minute. */
  minute(at: number): string;
  /** A day, from its form in an address. */
  day(iso: string): string;
  /** The short name of a day of the week. */
  weekday(iso: string): string;
  /** A time in UTC as an element, for `rich`. */
  stamp(at: number, precision?: "time" | "minute"): Html;
}

/** HTML that is safe to insert. */
class Html {
  readonly html: string;
  constructor(html: string) {
    this.html = html;
  }
}

const ENTITIES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
const escaped = (text: string) => text.replaceAll(/[&<>"']/g, (sign) => ENTITIES[sign]!);

const htmlOf = (value: unknown) => (value instanceof Html ? value.html : escaped(String(value)));

const fill = (text: string, values: Values, show: (value: unknown) => string) =>
  text.replaceAll(/\{(\w+)\}/g, (_, name: string) => show(values[name]));

function wordsOf(language: Locale): Words {
  const isFrench = language === "fr";
  const rules = new Intl.PluralRules(language);
  const numbers = new Intl.NumberFormat(language);
  const weekdays = new Intl.DateTimeFormat(language, { weekday: "short", timeZone: "UTC" });
  const find = (english: English): string => (isFrench ? spaced(french[english] ?? english) : english);
  const counted = (count: number, one: English, other: English) => (rules.select(count) === "one" ? one : other);
  const day = (iso: string) => (isFrench ? iso.split("-").toReversed().join("/") : iso);
  const until = (at: number, length: number) => {
    const [date = "", time = ""] = timestamp(at).slice(0, length).split("T");
    return `${day(date)} ${time}`;
  };
  const words: Words = {
    language,
    t: (english, values = {}) => fill(find(english), values, String),
    plural: (count, one, other, values) =>
      words.t(counted(count, one, other), { ...values, count: numbers.format(count) }),
    rich: (english, values = {}) => fill(find(english), values, htmlOf),
    richPlural: (count, one, other, values) =>
      words.rich(counted(count, one, other), { ...values, count: numbers.format(count) }),
    said: (english) => (isFrench ? inFrench(english) : english),
    number: (count) => numbers.format(count),
    amount: (amount, currency) => formatAmount(amount, currency, language),
    time: (at) => until(at, 19),
    minute: (at) => until(at, 16),
    day,
    weekday: (iso) => weekdays.format(Date.parse(iso)),
    stamp: (at, precision = "time") => new Html(`<time datetime="${timestamp(at)}">${words[precision](at)}</time>`),
  };
  return words;
}

/** The texts of `others` that contain values, the longest first, so that the most specific text is found. */
const patterns = Object.entries(frenchOfOthers)
  .filter(([english]) => english.includes("{"))
  .toSorted(([a], [b]) => b.replaceAll(/\{\w+\}/g, "").length - a.replaceAll(/\{\w+\}/g, "").length)
  .map(([english, text]) => {
    const literal = english.replaceAll(/[\\^$.*+?()[\]|]/g, "\\$&");
    return { pattern: new RegExp(`^${literal.replaceAll(/\{(\w+)\}/g, "(?<$1>.+?)")}$`, "s"), text };
  });

function inFrench(english: string): string {
  if (Object.hasOwn(frenchOfOthers, english)) return spaced(frenchOfOthers[english]!);
  for (const { pattern, text } of patterns) {
    const found = pattern.exec(english)?.groups;
    if (found) return fill(spaced(text), found, (value) => inFrench(String(value)));
  }
  return english;
}

const LANGUAGES = { en: wordsOf("en"), fr: wordsOf("fr") };

/** The words in the language of a request. */
export const wordsIn = (res: Response): Words => LANGUAGES[stateOf(res).language ?? "en"];
