import { hkdfSync } from "node:crypto";
import { checkedReason } from "../domain/audit.ts";
import type { Random } from "../domain/ids.ts";
import { LIMITS, parseLimits, type Limits } from "../domain/limits.ts";
import { checkedName } from "../domain/names.ts";
import { parseTerms, TERMS, type Terms } from "../domain/terms.ts";
import type { TextId } from "../texts/index.ts";
import { field, type Field, type Input } from "./action.ts";

/** The name of a person, a key or a merchant. */
export const aName = (label: TextId, input: Input = {}) =>
  field(
    "name",
    { label, required: true, class: "search", ...input, attributes: { maxlength: 100, autocomplete: "off" } },
    checkedName,
  );

/**
 * Randomness that is the same when the same form is sent again, so that what it makes is made once and shown again. Only
 * the session can know it. Undefined for a form without an id.
 * @param names of the inputs; what is made is another thing if one of them has another value
 */
export const sameAgain = (...names: string[]): Field<Random | undefined> => ({
  inputs: { id: { type: "hidden" } },
  read(form) {
    const [id = "", secret = "", ...typed] = ["id", "csrf", ...names].map((name) => form.text(name));
    if (id === "") return undefined;
    return (length) => new Uint8Array(hkdfSync("sha256", secret, id, JSON.stringify(typed), length));
  },
});

/** Why somebody does something, for the audit trail. */
export const aReason = field(
  "reason",
  { label: "reasonForAuditTrail", required: true, attributes: { maxlength: 500, autocomplete: "off" } },
  checkedReason,
);

/** A field of several inputs, whose names, examples and meaning `rules` has. */
function rulesField<Name extends string, Value>(
  kind: "limit" | "term",
  rules: Readonly<Record<Name, { example: string }>>,
  parse: (texts: Record<Name, string>) => Value,
): Field<Value> {
  const names = Object.keys(rules) as Name[];
  const attributes = { maxlength: 4_000, autocomplete: "off" };
  const inputs = names.map((name): [string, Input] => [
    name,
    {
      label: `${kind}.${name}` as TextId,
      means: `${kind}.${name}.means` as TextId,
      placeholder: { text: rules[name].example },
      attributes,
    },
  ]);
  return {
    inputs: Object.fromEntries(inputs),
    read: (form) => parse(Object.fromEntries(names.map((name) => [name, form.text(name)])) as Record<Name, string>),
  };
}

/** Limits of payouts; empty fields limit nothing. */
export const someLimits: Field<Limits | undefined> = rulesField("limit", LIMITS, parseLimits);
/** What was agreed with a merchant; for empty fields the server's settings apply. */
export const someTerms: Field<Terms | undefined> = rulesField("term", TERMS, parseTerms);
