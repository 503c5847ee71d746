// Validates bodies against the schemas of a profile. For `core`, everything in the OpenAPI document that the interface
// itself does not state is removed first.
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import { openapi, type Schema } from "./contract.ts";
import type { Profile } from "../results.ts";

const isOurs = (schema: Schema) => schema["x-decision"] !== undefined && schema["x-interface"] === undefined;

/**
 * The part of a schema that the interface states, where a decision narrows it further (§8). That a URL is a URI (§2.1) is
 * left to a check of clear cases, because valid implementations disagree on the others.
 */
function withoutDecision(schema: Schema, name: string): Schema {
  const keywords = name === "Amount" ? ["type", "minimum"] : ["type"];
  return Object.fromEntries(
    keywords.filter((keyword) => keyword in schema).map((keyword) => [keyword, schema[keyword]]),
  );
}

/**
 * Reduces a schema to what the interface states. A part based only on a decision may be anything; a part that a decision
 * narrows keeps its JSON type. Optional fields may be null.
 */
function statedByInterface(schema: Schema, schemaName = ""): Schema {
  if (isOurs(schema)) return {};
  if (schema.$ref) return { $ref: schema.$ref };
  const result: Schema = schema["x-decision"] === undefined ? { ...schema } : withoutDecision(schema, schemaName);
  if (schema.items) result.items = statedByInterface(schema.items);
  if (!schema.properties) return result;
  const required = schema.required ?? [];
  result.properties = Object.fromEntries(
    Object.entries(schema.properties).map(([name, property]) => {
      const stated = statedByInterface(property);
      return [name, required.includes(name) ? stated : { anyOf: [stated, { type: "null" }] }];
    }),
  );
  result.required = required.filter((name) => !isOurs(schema.properties?.[name] ?? {}));
  return result;
}

function schemasOf(profile: Profile): Record<string, Schema> {
  const { schemas } = openapi.components;
  if (profile === "extended") return schemas;
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, statedByInterface(schema, name)]));
}

/** A profile's version of a schema, with all references resolved. */
export function inlined(profile: Profile, schema: string): Schema {
  const schemas = schemasOf(profile);
  const inline = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(inline);
    if (typeof value !== "object" || value === null) return value;
    const { $ref, ...rest } = value as Schema;
    // OpenAPI defines this format; JSON Schema validators do not know it.
    if (rest["format"] === "int64") delete rest["format"];
    const name = typeof $ref === "string" ? $ref.split("/").at(-1) : undefined;
    if (name !== undefined) return inline(schemas[name]);
    return Object.fromEntries(Object.entries(rest).map(([key, inner]) => [key, inline(inner)]));
  };
  return inline(schemas[schema]) as Schema;
}

/** Returns one line for each fault of a value, with its location. */
export type Validator = (value: unknown) => string[];

function linesOf(validate: ValidateFunction): string[] {
  return (validate.errors ?? []).map(({ instancePath, message, params }) => {
    const detail = "allowedValues" in params ? `: ${JSON.stringify(params["allowedValues"])}` : "";
    return `${instancePath === "" ? "the body" : instancePath.slice(1).replaceAll("/", ".")} ${message}${detail}`;
  });
}

/** @returns a function from a schema's name to its validator for this profile */
export function createValidators(profile: Profile): (schema: string) => Validator {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  // The package's types describe its CommonJS export.
  (formats as unknown as (ajv: Ajv2020) => void)(ajv);
  ajv.addFormat("int64", true);
  ajv.addSchema({ $id: "contract", components: { schemas: schemasOf(profile) } });
  return (schema) => {
    const validate = ajv.getSchema(`contract#/components/schemas/${schema}`);
    if (!validate) throw new Error(`the contract has no schema ${schema}`);
    return (value) => (validate(value) ? [] : linesOf(validate));
  };
}
