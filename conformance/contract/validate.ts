// Validates bodies against the schemas of a profile. For `core`, the rules that the interface itself does not state are
// first removed from the schemas of the OpenAPI document.
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import { openapi, type Schema } from "./contract.ts";
import type { Profile } from "../results.ts";

/** Returns true if only a decision of this project, not the interface, defines this schema. */
const isOnlyDecided = (schema: Schema) => schema["x-decision"] !== undefined && schema["x-interface"] === undefined;

/**
 * Returns what the interface states about a value whose schema a decision narrows (§8): its type and, for an amount,
 * its minimum. The rule that a URL must be a URI (§2.1) is omitted, because sound implementations disagree about
 * unusual URLs. A separate check covers the clear cases.
 */
function withoutDecision(schema: Schema, name: string): Schema {
  const keywords = name === "Amount" ? ["type", "minimum"] : ["type"];
  return Object.fromEntries(
    keywords.filter((keyword) => keyword in schema).map((keyword) => [keyword, schema[keyword]]),
  );
}

/**
 * Reduces a schema to what the interface states. A field that only a decision defines may have any value. A schema that
 * a decision narrows is reduced as in `withoutDecision`. Optional fields may also be null.
 */
function statedByInterface(schema: Schema, schemaName = ""): Schema {
  if (isOnlyDecided(schema)) return {};
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
  result.required = required.filter((name) => !isOnlyDecided(schema.properties?.[name] ?? {}));
  return result;
}

function schemasOf(profile: Profile): Record<string, Schema> {
  const { schemas } = openapi.components;
  if (profile === "extended") return schemas;
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, statedByInterface(schema, name)]));
}

/** Returns a profile's version of a schema, with all references resolved. */
export function inlined(profile: Profile, schema: string): Schema {
  const schemas = schemasOf(profile);
  const inline = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(inline);
    if (typeof value !== "object" || value === null) return value;
    const { $ref, ...rest } = value as Schema;
    // Remove this format, because OpenAPI defines it and JSON Schema validators do not know it.
    if (rest["format"] === "int64") delete rest["format"];
    const name = typeof $ref === "string" ? $ref.split("/").at(-1) : undefined;
    if (name !== undefined) return inline(schemas[name]);
    return Object.fromEntries(Object.entries(rest).map(([key, inner]) => [key, inline(inner)]));
  };
  return inline(schemas[schema]) as Schema;
}

/** Returns one line for each fault of a value, with the location of the fault. */
export type Validator = (value: unknown) => string[];

function linesOf(validate: ValidateFunction): string[] {
  return (validate.errors ?? []).map(({ instancePath, message, params }) => {
    const detail = "allowedValues" in params ? `: ${JSON.stringify(params["allowedValues"])}` : "";
    return `${instancePath === "" ? "the body" : instancePath.slice(1).replaceAll("/", ".")} ${message}${detail}`;
  });
}

const compiled = new Map<Profile, (schema: string) => Validator>();

/** Returns this profile's validators, as a function of the name of a schema. */
export function createValidators(profile: Profile): (schema: string) => Validator {
  // Compiling takes longer than most checks, and the self-test has a session for each of its servers.
  const known = compiled.get(profile) ?? compile(schemasOf(profile));
  compiled.set(profile, known);
  return known;
}

/** Returns the validators of these schemas, as a function of the name of a schema. */
export function compile(schemas: Record<string, Schema>): (schema: string) => Validator {
  const ajv = new Ajv2020({ strict: false, allErrors: true, validateSchema: false });
  // The package's types do not match its default export under ESM, so cast it.
  (formats as unknown as (ajv: Ajv2020) => void)(ajv);
  ajv.addFormat("int64", true);
  ajv.addSchema({ $id: "contract", components: { schemas } });
  const validators = new Map<string, Validator>();
  return (schema) => {
    const known = validators.get(schema);
    if (known) return known;
    const validate = ajv.getSchema(`contract#/components/schemas/${schema}`);
    if (!validate) throw new Error(`the contract has no schema ${schema}`);
    // Several rules validate the same body.
    let last: { value: unknown; lines: string[] } | undefined;
    const validator: Validator = (value) => {
      if (!last || last.value !== value || typeof value !== "object")
        last = { value, lines: validate(value) ? [] : linesOf(validate) };
      return last.lines;
    };
    validators.set(schema, validator);
    return validator;
  };
}
