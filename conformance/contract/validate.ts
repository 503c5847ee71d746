// Judges bodies by what a profile promises. `core` keeps of the OpenAPI document what the interface states.
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import { openapi, type Schema } from "./contract.ts";
import type { Profile } from "../results.ts";

const isOurs = (schema: Schema) => schema["x-decision"] !== undefined && schema["x-interface"] === undefined;

/**
 * What the interface states itself in a schema that a decision narrows further (§8). That an address is a URI (§2.1) is
 * left to a check of clear cases, since sound parsers differ on the others.
 */
function withoutDecision(schema: Schema, name: string): Schema {
  const keywords = name === "Amount" ? ["type", "minimum"] : ["type"];
  return Object.fromEntries(
    keywords.filter((keyword) => keyword in schema).map((keyword) => [keyword, schema[keyword]]),
  );
}

/**
 * What the interface itself says about a schema. A part that only a decision stands behind may be anything; where a
 * decision narrows a part of the interface, the JSON type is what remains. Fields that need not be there may be null.
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

/** What a profile promises of a schema, as one schema without references. */
export function inlined(profile: Profile, schema: string): Schema {
  const schemas = schemasOf(profile);
  const inline = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(inline);
    if (typeof value !== "object" || value === null) return value;
    const { $ref, ...rest } = value as Schema;
    // A format of OpenAPI, unknown to JSON Schema.
    if (rest["format"] === "int64") delete rest["format"];
    const name = typeof $ref === "string" ? $ref.split("/").at(-1) : undefined;
    if (name !== undefined) return inline(schemas[name]);
    return Object.fromEntries(Object.entries(rest).map(([key, inner]) => [key, inline(inner)]));
  };
  return inline(schemas[schema]) as Schema;
}

/** What is wrong with a value: one line for each fault, with its place in the value. */
export type Validator = (value: unknown) => string[];

function linesOf(validate: ValidateFunction): string[] {
  return (validate.errors ?? []).map(({ instancePath, message, params }) => {
    const detail = "allowedValues" in params ? `: ${JSON.stringify(params["allowedValues"])}` : "";
    return `${instancePath === "" ? "the body" : instancePath.slice(1).replaceAll("/", ".")} ${message}${detail}`;
  });
}

/** @returns for the name of a schema in the document, the validator of what the profile promises of it */
export function createValidators(profile: Profile): (schema: string) => Validator {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  // The package's types describe its CommonJS form.
  (formats as unknown as (ajv: Ajv2020) => void)(ajv);
  ajv.addFormat("int64", true);
  ajv.addSchema({ $id: "contract", components: { schemas: schemasOf(profile) } });
  return (schema) => {
    const validate = ajv.getSchema(`contract#/components/schemas/${schema}`);
    if (!validate) throw new Error(`the contract has no schema ${schema}`);
    return (value) => (validate(value) ? [] : linesOf(validate));
  };
}
