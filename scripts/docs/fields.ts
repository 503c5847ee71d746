import type { Json } from "./contract.ts";
import { escapeHtml, inlineHtml, toHtml } from "./html.ts";

/** The properties of a schema as a list, with the properties of objects inside it. */
export function fieldList(schema: Json): string {
  const { properties = {}, required = [] } = schema;
  const items = Object.entries<Json>(properties).map(([name, part]) => fieldItem(name, part, required.includes(name)));
  return `<ul class="fields">\n${items.join("")}</ul>\n`;
}

/** The parameters of an operation. */
export const parameterList = (parameters: readonly Json[]): string =>
  `<ul class="fields">\n${parameters
    .map(({ name, schema, description, required }) => fieldItem(name, { ...schema, description }, required === true))
    .join("")}</ul>\n`;

function fieldItem(name: string, given: Json, isRequired: boolean): string {
  // An open list of values is anyOf a closed list and any string.
  const schema = given["anyOf"] ? { ...given["anyOf"][0], ...given } : given;
  const element = schema["type"] === "array" ? schema["items"] : schema;
  const facts = [typeOf(schema), isRequired ? "required" : "", ...limitsOf(schema)].filter(Boolean);
  const nested = element["properties"] ? fieldList(element) : "";
  const text = schema["description"] ? toHtml(schema["description"], "") : "";
  return `<li><code>${escapeHtml(name)}</code> <small>${facts.join(" · ")}</small>\n${text}${nested}</li>\n`;
}

function typeOf(schema: Json): string {
  const { type, oneOf, items, format } = schema;
  if (type === "array") return `array of ${typeOf(items)}s`;
  if (oneOf) return typeOf(oneOf[0]);
  return format === "date-time" ? "timestamp" : Array.isArray(type) ? type.join(" or ") : (type ?? "any value");
}

const code = (value: unknown) => `<code>${escapeHtml(String(value))}</code>`;

/** What a value must be, in words. */
function limitsOf(schema: Json): string[] {
  const { enum: values, anyOf, minimum, maximum, maxLength, default: preset, "x-expects": expects } = schema;
  const limits: string[] = [];
  if (values) limits.push(values.map(code).join(", "));
  if (schema["const"] !== undefined) limits.push(code(schema["const"]));
  if (expects) limits.push(inlineHtml(expects));
  else if (maxLength) limits.push(`at most ${maxLength} characters`);
  if (minimum !== undefined && maximum !== undefined) limits.push(`${minimum} to ${maximum}`);
  else if (minimum !== undefined) limits.push(`at least ${minimum}`);
  if (preset !== undefined) limits.push(`default ${code(preset)}`);
  if (anyOf) limits.push("values may be added");
  return limits;
}
