// Writes generated/payout-rules.ts: judges a request for a payout as the contract does, before it is sent.
import type { Schema } from "./models.ts";

interface Rules extends Schema {
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  pattern?: string;
  "x-expects"?: string;
}

/** What the generated code checks, and two keywords that need no check: `pattern` refuses all that `format` would. */
const known = new Set(["type", "minimum", "maximum", "minLength", "maxLength", "pattern", "format", "description"]);

/** Returns the module for the schema with this name, an object of texts and whole numbers. */
export function rulesModule(schemas: Record<string, Schema>, name: string): string {
  const { properties = {}, required = [] } = schemas[name]!;
  const rules = Object.entries(properties).map(([field, property]) => {
    const rule = (property.$ref ? schemas[property.$ref.split("/").at(-1)!]! : property) as Rules;
    return `  ["${field}", ${required.includes(field)}, ${JSON.stringify(expectation(rule))}, (value) => ${test(rule)}],\n`;
  });
  return `const rules: [field: string, isRequired: boolean, expects: string, isValid: (value: unknown) => boolean][] = [
${rules.join("")}];

/** The fields of a request for a payout that the contract refuses, with what it expects instead. */
export function refusedFields(request: object): { field: string; expects: string }[] {
  const values = request as Record<string, unknown>;
  return rules
    .filter(([field, isRequired, , isValid]) => (isRequired || values[field] !== undefined) && !isValid(values[field]))
    .map(([field, , expects]) => ({ field, expects }));
}
`;
}

function test(rule: Rules): string {
  const unknown = Object.keys(rule).filter((keyword) => !known.has(keyword) && !/^x-|^examples?$/.test(keyword));
  if (unknown.length > 0) throw new Error(`No check for ${unknown.join(", ")}.`);
  const { type, minimum, maximum, minLength, maxLength, pattern } = rule;
  const checks = [type === "integer" ? "Number.isInteger(value)" : `typeof value === "${type}"`];
  if (minimum !== undefined) checks.push(`(value as number) >= ${minimum}`);
  if (maximum !== undefined) checks.push(`(value as number) <= ${maximum}`);
  const length = "[...value].length";
  if (minLength !== undefined) checks.push(`${length} >= ${minLength}`);
  if (maxLength !== undefined) checks.push(`${length} <= ${maxLength}`);
  if (pattern) checks.push(`${String(new RegExp(pattern))}.test(value)`);
  return checks.join(" && ");
}

const expectation = ({ "x-expects": words, minimum, maximum }: Rules) =>
  words ?? `a whole number from ${minimum} to ${maximum}`;
