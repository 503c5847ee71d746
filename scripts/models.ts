// Writes the interfaces of generated/models.ts. openapi-typescript refers to a schema as
// components["schemas"]["Amount"], and an editor then shows neither a name nor the meaning of a field. Here every
// object of the spec is a named interface, and every field carries its own description and its schema's.

export interface Schema {
  $ref?: string;
  type?: string;
  description?: string;
  default?: unknown;
  const?: string;
  enum?: string[];
  items?: Schema;
  oneOf?: Schema[];
  anyOf?: Schema[];
  required?: string[];
  properties?: Record<string, Schema>;
}

type Schemas = Record<string, Schema>;

/** Declares the schemas with these names, and the schemas to which they refer. */
export function modelsOf(schemas: Schemas, names: string[]): string {
  // A set visits the names that are added while it is iterated.
  const found = new Set(names);
  const declarations: string[] = [];
  for (const name of found) {
    const refer = (target: string) => void found.add(target);
    declarations.push(declare(name, schemas, refer));
  }
  return declarations.join("\n");
}

function declare(name: string, schemas: Schemas, refer: (name: string) => void): string {
  const schema = schemas[name]!;
  const { properties, required = [] } = schema;
  if (!schema.description) throw new Error(`${name} has no description.`);
  const doc = comment(describe(schema), "");
  if (!properties) return `${doc}export type ${name} = ${typeOf(schema, schemas, refer)};\n`;
  const fields = Object.entries(properties).map(([field, property]) => {
    const mark = required.includes(field) ? "" : "?";
    const text = describe(property, schemas);
    if (!text) throw new Error(`${name}.${field} has no description.`);
    return `${comment(text, "    ")}    ${field}${mark}: ${typeOf(property, schemas, refer)};\n`;
  });
  return `${doc}export interface ${name} {\n${fields.join("")}}\n`;
}

function typeOf(schema: Schema, schemas: Schemas, refer: (name: string) => void): string {
  const { $ref, type, items, enum: values, const: value, oneOf, anyOf } = schema;
  if ($ref) {
    const name = nameOf($ref);
    const target = schemas[name]!;
    if (!isNamed(target)) return typeOf(target, schemas, refer);
    refer(name);
    return name;
  }
  // A list that later versions may extend. An editor still offers its values, which `| string` would hide.
  if (anyOf) return `${typeOf(anyOf[0]!, schemas, refer)} | (string & {})`;
  if (oneOf) return oneOf.map((one) => typeOf(one, schemas, refer)).join(" | ");
  if (value || values) return (values ?? [value]).map((one) => JSON.stringify(one)).join(" | ");
  if (type === "array") return `${typeOf(items!, schemas, refer)}[]`;
  if (type === "integer") return "number";
  if (type === "string" || type === "boolean") return type;
  throw new Error(`No type for ${JSON.stringify(schema)}.`);
}

const isNamed = ({ properties, enum: values, oneOf }: Schema) => !!(properties || values || oneOf);

const nameOf = ($ref: string) => $ref.split("/").at(-1)!;

/** A field's description, and what its schema says of the value. */
function describe(schema: Schema, schemas: Schemas = {}): string {
  const { description, default: value, $ref = schema.anyOf?.[0]?.$ref } = schema;
  const target = $ref ? schemas[nameOf($ref)]! : undefined;
  const texts = [description, value === undefined ? "" : `Default: \`${String(value)}\`.`];
  // An editor shows the description of a named type by itself.
  if (target && !(description && isNamed(target))) texts.push(describe(target));
  // The marks of extensions are for implementers of a service, and do not help its users.
  return texts.flatMap((text) => text?.replaceAll(/\*\*Extension[.:]\*\* /g, "").trim() || []).join("\n\n");
}

function comment(text: string, indent: string): string {
  if (!text.includes("\n")) return `${indent}/** ${text} */\n`;
  const lines = text.split("\n").map((line) => `${indent} * ${line}`.trimEnd());
  return `${indent}/**\n${lines.join("\n")}\n${indent} */\n`;
}
