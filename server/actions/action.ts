import { hash } from "node:crypto";
import type { Config } from "../config.ts";
import type { Actor } from "../domain/audit.ts";
import type { Checkouts } from "../domain/checkouts.ts";
import type { Disbursements } from "../domain/disbursements.ts";
import type { Merchant } from "../domain/merchants.ts";
import type { Rails } from "../domain/rails.ts";
import type { Right } from "../domain/roles.ts";
import type { SignInContext } from "../domain/sign-in.ts";
import type { Storage } from "../domain/storage.ts";
import type { Webhooks } from "../domain/webhooks.ts";
import type { TextId } from "../texts/index.ts";
import type { MerchantClock } from "../workers/merchant-clock.ts";

/** The dependencies of actions. */
export interface ActionContext extends SignInContext {
  config: Config;
  storage: Storage;
  disbursements: Disbursements;
  checkouts: Checkouts;
  webhooks: Webhooks;
  merchantClock: MerchantClock;
  rails?: Rails | undefined;
}

/** What a person has typed or chosen, by the names of the inputs. */
export interface Form {
  /** Without spaces around it; empty if there is none. */
  text(name: string): string;
  /** All values of an input that may be sent several times. */
  all(name: string): string[];
}

/** An input of a form. */
export interface Input {
  label?: TextId;
  /** The default is `text`. */
  type?: "text" | "number" | "tel" | "url" | "hidden" | "checkbox" | "select";
  /** Explains the input. */
  means?: TextId;
  placeholder?: TextId | { text: string };
  /** The choices, with their texts. */
  options?: Readonly<Record<string, TextId | { text: string }>>;
  required?: true;
  /** Other attributes, as in HTML. */
  attributes?: Readonly<Record<string, string | number>>;
  /** Where it stands beside others. */
  class?: string;
}

/** A part of what an action needs to know, with the inputs for it. */
export interface Field<Value> {
  inputs: Readonly<Record<string, Input>>;
  /** What is above the inputs, if they belong together. */
  legend?: TextId;
  /** True if it is asked for only by the page that says what will happen. */
  isLate?: true;
  /** @throws Refused or ServiceError */
  read(form: Form): Value;
}

/** A field with one input. @param check throws Refused or ServiceError */
export function field(name: string, input: Input): Field<string>;
export function field<Value>(name: string, input: Input, check: (text: string) => Value): Field<Value>;
export function field(name: string, input: Input, check: (text: string) => unknown = String): Field<unknown> {
  return { inputs: { [name]: input }, read: (form) => check(form.text(name)) };
}

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

/** An action of a person: who may do it, what it needs to know, what it does, and what people read about it. */
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
  button: TextId;
  style?: "primary" | "danger";
  /** What people should know before. */
  hint?: TextId;
  /** Opens the form, which is folded until then. */
  opens?: TextId;
  /** What a page asks before, and what it says will happen. */
  asks?: { question: TextId; effects: readonly TextId[] };
  /**
   * What its form shows and replaces. The action is refused if somebody has changed it since, because people see what
   * they undo.
   */
  replaces?(doer: Doer<MerchantIn<At>>, input: InputOf<All>): Promise<object>;
  run(doer: Doer<MerchantIn<At>>, input: InputOf<All>): Promise<Result>;
  /** The path of the page that shows what has become. */
  leadsTo(doer: Doer<MerchantIn<At>>, result: Result): string;
  /** True if the response to the form itself is that page, with the result. */
  isShown?: true;
  /** What the result has that can never be shown again. */
  secretIn?(result: Result): string | undefined;
  /** How often a minute a person may do it, and all people of a merchant. */
  perMinute?: { person: number; team: number };
}

export const action = <At extends string, All extends Fields, Result>(
  entry: Action<At, All, Result>,
): Action<At, All, Result> => entry;

/** Names what a form replaces, so that nobody can find a secret from its name. */
export const nameOf = (replaced: object): string => hash("sha256", JSON.stringify(replaced));

export type ResultOf<Entry> = Entry extends { run: (...all: never[]) => Promise<infer Result> } ? Result : never;

/** The paths that a path with `{scope}` stands for. */
export const scopesOf = (at: string): string[] =>
  at.startsWith("{scope}") ? ["", "/m/:merchant"].map((scope) => at.replace("{scope}", scope)) : [at];

/** The path of the pages of a merchant, or of those of all merchants. */
export const areaOf = (merchant: Merchant | undefined): string => (merchant ? `/m/${merchant.id}` : "");
