import { hash, hkdfSync } from "node:crypto";
import type { Config } from "../config.ts";
import { checkedReason, checkedName, type Actor } from "../domain/audit.ts";
import type { LoadPayments } from "../domain/loading.ts";
import type { Checkouts, Disbursements } from "../domain/payments.ts";
import type { Random } from "../domain/ids.ts";
import { LIMITS, TERMS, type Limits, type Terms, type Written } from "../domain/limits.ts";
import type { Merchant } from "../domain/merchants.ts";
import { CHAOS, type Chaos } from "../domain/outcomes.ts";
import type { Rails } from "../domain/rails.ts";
import type { Right, SignInContext } from "../domain/sign-in.ts";
import type { Storage } from "../domain/storage.ts";
import {
  english,
  say,
  type Label,
  type Said,
  type SaidValue,
  type TextId,
  type Values,
  type Wording,
} from "../texts/index.ts";
import type { AdvanceClock } from "../workers/merchant-clock.ts";

/** The dependencies of actions. */
export interface ActionContext extends SignInContext {
  config: Config;
  storage: Storage;
  disbursements: Disbursements;
  checkouts: Checkouts;
  advanceClock: AdvanceClock;
  /** Loads payments of the past into a sandbox, from JSON as the contract has it. @throws ServiceError */
  loadText(merchant: Merchant, json: string, actor: Actor): ReturnType<LoadPayments>;
  rails?: Rails | undefined;
}

/** What a person asked for and does not get. The message is English; pages show the text in their language. */
export class Refused extends Error {
  override name = "Refused";
  /** The HTTP status. */
  readonly status: number;
  readonly said: Said;

  constructor(status: number, said: Said) {
    super(english(said.say, said.values));
    this.status = status;
    this.said = said;
  }
}

export const refused = <Id extends TextId>(status: number, text: Id, ...values: Values<Id, SaidValue>) =>
  new Refused(status, say(text, ...values));

/** For what is not there, is not there any more, or is not the visitor's. */
export const missing = () => refused(404, "error.not_found");

/** What a form or a query has sent. An input that is sent several times is a list. */
type Sent = Readonly<Record<string, unknown>> | undefined;

/** What a person has typed or chosen, without spaces around it; empty if there is none. */
export function typed(sent: unknown, name: string): string {
  const value = (sent as Sent)?.[name];
  return typeof value === "string" ? value.trim() : "";
}

/** An input of a form. */
export interface Input {
  label?: Label | Said;
  /**
   * The default is `text`. `once` is hidden and has a new value on each page, by which a repeated form is recognized.
   */
  type?:
    | ("text" | "search" | "number" | "tel" | "url" | "date" | "datetime-local")
    | ("textarea" | "hidden" | "once" | "checkbox" | "select");
  placeholder?: Wording;
  /** The choices, with their texts. */
  options?: Readonly<Record<string, Wording>>;
  required?: true;
  /** Other attributes, as in HTML. */
  attributes?: Readonly<Record<string, string | number>>;
  /** The CSS class of its layout. */
  class?: string;
}

/** A part of what an action needs to know, with the inputs for it. */
export interface Field<Value> {
  inputs: Readonly<Record<string, Input>>;
  /** What is above the inputs, if they belong together. */
  legend?: Label;
  /** True if only the confirmation page asks for it. */
  onConfirm?: true;
  /** @throws Refused or ServiceError */
  read(sent: Sent): Value;
}

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,3})?)?$/;
const isTime = (text: string) => TIME.test(text) && !Number.isNaN(Date.parse(`${text}Z`));

const isWithin = (number: number, { min = -Infinity, max = Infinity }: NonNullable<Input["attributes"]>) =>
  Number.isInteger(number) && number >= Number(min) && number <= Number(max);

/** Returns `text` if it keeps the input's rules, as browsers check them: required, options, pattern… @throws Refused */
export function checked({ label, type, required, options, attributes = {} }: Input, text: string): string {
  const { pattern } = attributes;
  const isAllowed =
    text === ""
      ? !required
      : options
        ? Object.hasOwn(options, text)
        : type === "date" || type === "datetime-local"
          ? isTime(type === "date" ? `${text}T00:00` : text)
          : type === "number"
            ? isWithin(Number(text), attributes)
            : pattern === undefined || new RegExp(`^(?:${pattern})$`).test(text);
  if (isAllowed) return text;
  if (label === undefined) throw refused(422, "error.beginAgain");
  throw notAllowed(label, text);
}

const notAllowed = (label: Label | Said, text: string) =>
  refused(422, "error.input", { label: typeof label === "string" ? say(label) : label, text });

/** A field with one input. @param check throws Refused or ServiceError */
export function field(name: string, input: Input): Field<string>;
export function field<Value>(name: string, input: Input, check: (text: string) => Value): Field<Value>;
export function field(name: string, input: Input, check: (text: string) => unknown = String): Field<unknown> {
  return { inputs: { [name]: input }, read: (sent) => check(checked(input, typed(sent, name))) };
}

/** The choices of a search, after the choice `any`. */
export const choices = <Choice extends string>(all: Readonly<Record<Choice, Wording>>) =>
  ({ type: "select", options: { "": "any", ...all } }) as const satisfies Input;

/** A choice that must be made. */
export const choice = <const Options extends NonNullable<Input["options"]>>(
  name: string,
  input: { label: Label; options: Options },
) => field(name, { ...input, type: "select", required: true }, (text) => text as Exclude<keyof Options, "">);

/** The name of a person, a key or a merchant. */
export const aName = (label: Label, input: Input = {}) =>
  field(
    "name",
    { label, required: true, class: "search", ...input, attributes: { maxlength: 100, autocomplete: "off" } },
    checkedName,
  );

/** Why somebody does something, for the audit trail. */
export const aReason = field(
  "reason",
  { label: "reason", required: true, attributes: { maxlength: 500, autocomplete: "off" } },
  checkedReason,
);

/**
 * Random bytes that are the same when the same form is sent again, so that it creates only one thing. They are derived
 * from a secret of the session. Undefined for a form without an id.
 * @param names of inputs; if one of them has another value, the bytes differ
 */
export const repeatableRandom = (...names: string[]): Field<Random | undefined> => ({
  inputs: { id: { type: "once" } },
  read(sent) {
    const [id = "", secret = "", ...values] = ["id", "csrf", ...names].map((name) => typed(sent, name));
    if (id === "") return undefined;
    return (length) => new Uint8Array(hkdfSync("sha256", secret, id, JSON.stringify(values), length));
  },
});

/** A time that the confirmation page has chosen. */
export const aShownTime = (name: string): Field<number> => ({
  ...field(name, { type: "hidden" }, (text) => {
    const time = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(text) ? Date.parse(text) : Number.NaN;
    if (Number.isNaN(time)) throw refused(422, "error.beginAgain");
    return time;
  }),
  onConfirm: true,
});

/** A sum of money. */
export const anAmount = (input: Input = {}) => {
  const attributes = { inputmode: "numeric", pattern: "[1-9][0-9]{0,14}", autocomplete: "off", ...input.attributes };
  return field("amount", { label: "amountInLowest", required: true, ...input, attributes }, Number);
};

/** A field of several inputs, each with its rule. Their labels are the texts `AREA.NAME`. Undefined if all are empty. */
function rulesField<All extends object>(
  area: "limit" | "term" | "chaos",
  rules: { readonly [Name in keyof All]-?: Written<NonNullable<All[Name]>> },
): Field<All | undefined> {
  const attributes = { maxlength: 4_000, autocomplete: "off" };
  const parts = Object.entries<Written<unknown>>(rules).map(([name, { example, read }]) => {
    return { name, read, label: `${area}.${name}` as Label, placeholder: { text: example } };
  });
  return {
    inputs: Object.fromEntries(parts.map(({ name, label, placeholder }) => [name, { label, placeholder, attributes }])),
    read(sent) {
      const values = parts.flatMap(({ name, label, read }) => {
        const text = typed(sent, name);
        if (text === "") return [];
        const value = read(text);
        if (value === undefined) throw notAllowed(label, text);
        return [[name, value]];
      });
      return values.length > 0 ? Object.fromEntries(values) : undefined;
    },
  };
}

/** Limits of payouts; empty fields limit nothing. */
export const someLimits = rulesField<Limits>("limit", LIMITS);
/** What was agreed with a merchant; for empty fields the server's settings apply. */
export const someTerms = rulesField<Terms>("term", TERMS);
/** What the chaos switch does; an empty field is 0. */
export const someChaos = rulesField<Chaos>("chaos", CHAOS);

/** Who acts on what. */
export interface Doer<Of extends Merchant | undefined = Merchant> {
  context: ActionContext;
  actor: Actor;
  /** The parameters in the path of the action. */
  params: Readonly<Record<string, string>>;
  /** The merchant in the path of the action. */
  merchant: Of;
}

/** The merchant that a path names: none, one, or either. */
type MerchantIn<At extends string> = At extends `{scope}${string}`
  ? Merchant | undefined
  : At extends `${string}/:merchant${string}`
    ? Merchant
    : undefined;

type Fields = Readonly<Record<string, Field<unknown>>>;
type InputOf<All extends Fields> = { [Name in keyof All]: ReturnType<All[Name]["read"]> };

/** What the confirmation page of an action says. */
export interface Confirmation {
  /** By default the words of the action. */
  question?: Said;
  /** What the action is about. */
  about?: readonly Said[];
  /** What will happen. */
  effects: readonly Said[];
  /** True if the action would do nothing. */
  isEmpty?: boolean;
  /** What the page sends besides what was chosen. */
  values?: Readonly<Record<string, string>>;
}

/** What a page says after an action. */
export interface Told {
  title?: Said;
  /** What is shown only now. */
  secret?: string;
  lines: readonly Said[];
}

/**
 * An action of a person: who may do it, what it needs to know and what it does. The text of its name is on its button and
 * in the audit trail; `NAME.hint`, if there is such a text, says what people should know before.
 */
export interface Action<At extends string = string, All extends Fields = Fields, Result = unknown> {
  /**
   * Its path in the dashboard. A path with `{scope}` is there twice: for the pages of a merchant, and for those of all
   * merchants, which only operators see. A path without a merchant is for operators, too.
   */
  at: At;
  needs: Right;
  /** True if only operators may do it, although its path is among the pages of a merchant. */
  byOperators?: true;
  /** The only services that have the action. */
  where?: "sandbox" | "live";
  input: All;
  style?: "primary" | "danger";
  /** True if its form is folded until a person opens it. */
  isFolded?: true;
  /** What its confirmation page says, at the same path. People come from the page at `from`. */
  asks?(doer: Doer<MerchantIn<At>>, input: InputOf<All>): Confirmation | Promise<Confirmation>;
  from?: string;
  /**
   * What its form shows and replaces. The action is refused if somebody has changed it since, so that nobody overwrites
   * a change that they have not seen.
   */
  replaces?(doer: Doer<MerchantIn<At>>, input: InputOf<All>): Promise<object>;
  run(doer: Doer<MerchantIn<At>>, input: InputOf<All>): Promise<Result>;
  /** The path of the page that shows the result, with the parameters of the action's path. */
  leadsTo: string | ((result: Result, doer: Doer<MerchantIn<At>>) => string);
  /** What is shown in the response to the form, instead of a redirect, so that it cannot be opened again. */
  says?(result: Result): Told;
}

export const action = <At extends string, All extends Fields, Result>(
  entry: Action<At, All, Result>,
): Action<At, All, Result> => entry;

/** A hash of what a form replaces, which may contain a secret. */
export const digestOf = (replaced: object): string => hash("sha256", JSON.stringify(replaced));

/** The paths that a path with `{scope}` stands for. */
export const scopesOf = (at: string): string[] =>
  at.startsWith("{scope}") ? ["", "/m/:merchant"].map((scope) => at.replace("{scope}", scope)) : [at];

/** The path of the pages of a merchant, or of those of all merchants. */
export const areaOf = (merchant: Merchant | undefined): string => (merchant ? `/m/${merchant.id}` : "");

/** A path with its parameters filled in. */
export const pathFor = (at: string, merchant: Merchant | undefined, params: Readonly<Record<string, string>>): string =>
  at.replace("{scope}", areaOf(merchant)).replaceAll(/:(\w+)/g, (_, name: string) => params[name] ?? "");
