import type { Response } from "express";
import type { Refused } from "../../actions/refused.ts";
import { timestamp } from "../../domain/representation.ts";
import { DAY_MS } from "../../domain/time.ts";
import { isTextId, numberIn, textIn, TEXTS, type Language, type TextId, type Values } from "../../texts/index.ts";
import { formatAmount } from "../pages/money.ts";
import { stateOf } from "../request-state.ts";
import { spaced } from "../spaced.ts";
import { Html, htmlOf, markup, type Part } from "./html.ts";

/** The texts with elements of HTML. */
type RichId = {
  [Id in TextId]: (typeof TEXTS)[Id][0] extends `${string}</${string}` ? Id : never;
}[TextId];

/** Shows texts in one language. */
export interface Words {
  language: Language;
  /** A text. Numbers are written as in the language, and `count` decides between one and many. */
  t<Id extends Exclude<TextId, RichId>>(id: Id, ...values: Values<Id, string | number | bigint>): string;
  /** A text with elements. */
  rich<Id extends TextId>(id: Id, ...values: Values<Id, Part>): Html;
  /** A text whose id is data, such as a column's title; with elements. */
  text(id: TextId, values?: Readonly<Record<string, string | number>>): Html;
  /** A text by an id that is composed of a word of the service; the word itself if there is no such text. */
  word(area: string, word: string): string;
  /** Why somebody does not get what they asked for. */
  refusal(refused: Pick<Refused, "text" | "values">): string;
  number(count: number | bigint): string;
  amount(amount: number | bigint, currency: string): string;
  /** A time in UTC, to the second. */
  time(at: number): string;
  /** To the minute. */
  minute(at: number): string;
  /** A time in UTC as an element. */
  stamp(at: number, precision?: "time" | "minute", classes?: string): Html;
  /** A day, from its form in an address. */
  day(iso: string): string;
  /** The short name of a day of the week. */
  weekday(iso: string): string;
  /** A duration of at least a second in whole units of the largest that fits: `6 days`. */
  duration(milliseconds: number): string;
}

const UNITS = [
  [DAY_MS, "duration.days"],
  [3_600_000, "duration.hours"],
  [60_000, "duration.minutes"],
  [1_000, "duration.seconds"],
] as const;

function wordsOf(language: Language): Words {
  const isFrench = language === "fr";
  const weekdays = new Intl.DateTimeFormat(language, { weekday: "short", timeZone: "UTC" });
  const fill = (id: TextId, values?: Readonly<Record<string, unknown>>, show?: (value: unknown) => string) => {
    const text = textIn(language, id, values, show);
    return isFrench ? spaced(text) : text;
  };
  const day = (iso: string) => (isFrench ? iso.split("-").toReversed().join("/") : iso);
  const until = (at: number, length: number) => {
    const [date = "", time = ""] = timestamp(at).slice(0, length).split("T");
    return `${day(date)} ${time}`;
  };
  const words: Words = {
    language,
    t: (id, ...[values]) => fill(id, values),
    rich: (id, ...[values]) => new Html(fill(id, values, (value) => htmlOf(value as Part))),
    text: (id, values) => new Html(fill(id, values, (value) => htmlOf(value as Part))),
    word: (area, word) => (isTextId(`${area}.${word}`) ? fill(`${area}.${word}` as TextId) : word),
    refusal: ({ text, values }) => fill(text, values),
    number: (count) => numberIn(language, count),
    amount: (amount, currency) => formatAmount(amount, currency, language),
    time: (at) => until(at, 19),
    minute: (at) => until(at, 16),
    stamp: (at, precision = "time", classes = "") =>
      markup`<time${classes && markup` class="${classes}"`} datetime="${timestamp(at)}">${words[precision](at)}</time>`,
    day,
    weekday: (iso) => weekdays.format(Date.parse(iso)),
    duration(milliseconds) {
      const [size, unit] = UNITS.find(([each]) => milliseconds >= each)!;
      return words.t(unit, { count: Math.floor(milliseconds / size) });
    },
  };
  return words;
}

const LANGUAGES = { en: wordsOf("en"), fr: wordsOf("fr") };

/** The words in the language of a request. */
export const wordsIn = (res: Response): Words => LANGUAGES[stateOf(res).language ?? "en"];
