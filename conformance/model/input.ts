// Reads request bodies and queries, and checks them against the schemas of the OpenAPI document.
import { Ajv2020, type ErrorObject, type ValidateFunction } from "ajv/dist/2020.js";
import { parse } from "lossless-json";
import document from "../../generated/openapi.json" with { type: "json" };
import type { components } from "../../generated/openapi.ts";
import type { Call } from "./messages.ts";
import { Problem, type Field } from "./problem.ts";

type Schemas = components["schemas"];
const defaultMaxBytes = 16_384;

const isTimestamp = (text: string) => !Number.isNaN(Date.parse(text)) && new Date(text).toISOString() === text;
const ajv = new Ajv2020({
  allErrors: true,
  strict: false,
  formats: { uri: (text: string) => URL.canParse(text), "date-time": isTimestamp, int64: true },
});
ajv.addSchema({ $id: "spec", ...document });

/** Parses a number. Returns NaN, which no schema allows, for a fraction that rounds to a whole number. */
export function parseNumber(text: string): number {
  const [, digits = "", decimals = "", exponent = "0"] = /^-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? [];
  const significant = (digits + decimals).replace(/0+$/, "");
  const places = decimals.length - (digits.length + decimals.length - significant.length) - Number(exponent);
  const isWhole = significant === "" || places <= 0;
  const value = Number(text);
  if (!isWhole) return Number.isInteger(value) ? Number.NaN : value;
  return Math.max(-Number.MAX_VALUE, Math.min(Number.MAX_VALUE, value));
}

/** Returns the code of a rule of JSON Schema: min_length for minLength. */
const codeOf = (keyword: string) =>
  keyword.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`) as Field["code"];
const malformed = new Set<Field["code"]>(["required", "one_of", "type", "encoding"]);

/** Returns one error per field, for the first rule that it breaks. Of requests, only ClockAdvance has a oneOf. */
function fieldsOf(errors: readonly ErrorObject[]): Field[] {
  const choice = errors.find(({ keyword }) => keyword === "oneOf");
  const fields = new Map<string, Field>();
  for (const error of errors) {
    const isPartOfChoice = choice && error !== choice && error.schemaPath.includes("/oneOf/");
    const names = error === choice ? ["seconds", "to"] : [String(error.params["missingProperty"] ?? "")];
    for (const name of isPartOfChoice ? [] : names) {
      const path = [...error.instancePath.split("/"), name].filter(Boolean).join(".");
      const field = { path, code: codeOf(error.keyword), message: `${path} is not valid: ${error.message}.` };
      if (path && !fields.has(path)) fields.set(path, field);
    }
  }
  return [...fields.values()];
}

/** Refuses the request because of these fields: with 400 if one of them is malformed, with 422 otherwise. */
export function refuse(fields: Field[]): never {
  const isMalformed = fields.some(({ code }) => malformed.has(code));
  const message = fields.map((field) => field.message).join(" ");
  throw new Problem(isMalformed ? "invalid_request" : "invalid_value", message, { fields });
}

function check(validate: ValidateFunction, value: unknown): void {
  if (validate(value)) return;
  const fields = fieldsOf(validate.errors ?? []);
  if (fields.length === 0) throw new Problem("invalid_request", "The body must be a JSON object.");
  refuse(fields);
}

/** Reads a body that must match the schema of this name. */
export function readBody<Name extends keyof Schemas>(
  { headers, body }: Call,
  name: Name,
  maxBytes = defaultMaxBytes,
): Schemas[Name] {
  if (body.byteLength > maxBytes) {
    throw new Problem("content_too_large", `The body must not exceed ${maxBytes} bytes.`);
  }
  const type = headers["content-type"]?.toString();
  if (!/^application\/json\s*(;|$)/i.test(type ?? "") && (type !== undefined || body.byteLength > 0)) {
    throw new Problem("unsupported_media_type", "Send the body with Content-Type: application/json.");
  }
  let value: unknown;
  try {
    value = parse(new TextDecoder("utf-8", { fatal: true }).decode(body), null, parseNumber);
  } catch {
    throw new Problem("invalid_request", "The body must be JSON, without a key that has two values.");
  }
  const validate = ajv.getSchema(`spec#/components/schemas/${name}`);
  if (!validate) throw new Error(`The OpenAPI document has no schema ${name}`);
  check(validate, value);
  return value as Schemas[Name];
}

type Parameter = { name: string; schema: { $ref?: string; type?: string }; allowReserved?: boolean };
type ListPath = "/v1/disbursements" | "/v1/checkouts" | "/v1/statements" | "/sandbox/events" | "/sandbox/deliveries";

/** Returns the parameters of a list, and a function that validates their values. */
export function parametersOf(path: ListPath) {
  const parameters = document.paths[path].get.parameters.map((parameter) => {
    const shared = "$ref" in parameter ? parameter.$ref?.split("/").at(-1) : undefined;
    const all = document.components.parameters as unknown as Record<string, Parameter>;
    return shared === undefined ? (parameter as Parameter) : (all[shared] as Parameter);
  });
  const properties = Object.fromEntries(
    parameters.map(({ name, schema }) => [name, schema.$ref ? { $ref: `spec${schema.$ref}` } : schema]),
  );
  return { parameters, validate: ajv.compile({ type: "object", properties }) };
}

const lists = new Map<ListPath, ReturnType<typeof parametersOf>>();

/** The query of a list. Which filters a list has depends on its path. */
export type Query = { limit?: number } & Partial<Record<Text | Time, string>>;
type Text = "cursor" | "status" | "reference" | "merchantsReference";
type Time = "createdAfter" | "createdBefore" | "from" | "to";

/** Reads the query of a list. Unknown parameters are ignored. */
export function readQuery(call: Call, path: ListPath): Query {
  const list = lists.get(path) ?? parametersOf(path);
  lists.set(path, list);
  const { search, searchParams } = new URL(call.path, "http://model");
  const values: Record<string, unknown> = {};
  const encoding: Field[] = [];
  for (const { name, schema, allowReserved } of list.parameters) {
    const [text, ...more] = searchParams.getAll(name);
    if (text === undefined) continue;
    const isNumber = schema.type === "integer" && /^-?\d+$/.test(text);
    const raw = new RegExp(`[?&]${name}=([^&]*)`).exec(search)?.[1] ?? "";
    if (!allowReserved && /[:/?#[\]@!$'()*+,;=]/.test(raw))
      encoding.push({ path: name, code: "encoding", message: `Percent-encode the value of ${name}.` });
    values[name] = more.length > 0 ? [text, ...more] : isNumber ? Number(text) : text;
  }
  if (encoding.length > 0) refuse(encoding);
  check(list.validate, values);
  return values;
}
