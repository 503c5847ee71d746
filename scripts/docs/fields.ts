import type { Json } from "./contract.ts";
import { escapeHtml } from "./highlight.ts";
import { inlineHtml, toHtml } from "./html.ts";

type Resolve = (part: Json) => Json;

/** The properties of a schema as a list, with the properties of objects inside it. */
export function fieldList(resolve: Resolve, schema: Json): string {
  const { properties = {}, required = [] } = schema;
  const items = Object.entries<Json>(properties).map(([name, part]) =>
    fieldItem(resolve, name, resolve(part), required.includes(name)),
  );
  return `<ul class="fields">\n${items.join("")}</ul>\n`;
}

/** The parameters of an operation. */
export const parameterList = (resolve: Resolve, parameters: readonly Json[]): string =>
  `<ul class="fields">\n${parameters
    .map(({ name, schema, description, required }) =>
      fieldItem(resolve, name, { ...resolve(schema), description }, required === true),
    )
    .join("")}</ul>\n`;

function fieldItem(resolve: Resolve, name: string, given: Json, isRequired: boolean): string {
  // An open list of values is anyOf a closed list and any string.
  const schema = given["anyOf"] ? { ...resolve(given["anyOf"][0]), ...given } : given;
  const element = schema["type"] === "array" ? resolve(schema["items"]) : schema;
  const facts = [typeOf(resolve, schema), isRequired ? "required" : "", ...limitsOf(schema)].filter(Boolean);
  const nested = element["properties"] ? fieldList(resolve, element) : "";
  const text = schema["description"] ? toHtml(schema["description"], "") : "";
  return `<li><code>${escapeHtml(name)}</code> <small>${facts.join(" · ")}</small>\n${text}${nested}</li>\n`;
}

function typeOf(resolve: Resolve, schema: Json): string {
  const { type, oneOf, items, format } = schema;
  if (type === "array") return `array of ${typeOf(resolve, resolve(items))}s`;
  if (oneOf) return typeOf(resolve, resolve(oneOf[0]));
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
