import { fullFormats } from "ajv-formats/dist/formats.js";
import document from "../../generated/openapi.json" with { type: "json" };
import { ServiceError, type FieldError } from "../domain/errors.ts";

interface Schema {
  properties?: Record<string, { $ref?: string }>;
  oneOf?: { required?: string[] }[];
  "x-expects"?: string;
}

interface Fault {
  path: string;
  message: string;
  errorCode?: string;
}

/** The code of a field whose value breaks this JSON Schema keyword (D46). */
const FIELD_CODES: Readonly<Record<string, FieldError["code"] | undefined>> = {
  required: "required",
  type: "type",
  pattern: "pattern",
  format: "format",
  minLength: "min_length",
  maxLength: "max_length",
  minimum: "minimum",
  maximum: "maximum",
  enum: "enum",
};

/** Faults for which the spec's own wording (`x-expects`) is clearer than the failed rule. */
const WORDED = /^(pattern|format|minLength|maxLength)\.openapi\.validation$/;
const TYPE = "type.openapi.validation";
const ONE_OF = "oneOf.openapi.validation";
/** Malformed requests, refused with 400. Any other failed keyword means a value out of range: 422 (D1). */
const FORM = /^(required|type|oneOf|additionalProperties|unevaluatedProperties)\.openapi\.validation$/;
/** An unescaped reserved character in a query parameter. The validator sets no error code for it. */
const RESERVED = /reserved characters/;

/**
 * Converts a validation error into a 400 or 422 that names every invalid field (D1, D2).
 * Any other error, such as a fault in the server, is returned unchanged.
 */
export function toRefusal(error: unknown): unknown {
  const { errors, status } = error as { errors?: Fault[]; status?: number };
  if (status !== 400 || !errors) return error;
  const wrongForm = errors.some(({ errorCode = "", message }) => FORM.test(errorCode) || RESERVED.test(message));
  const faults = withoutConsequences(errors);
  const message = [...new Set(faults.map(describe))].join("; ");
  const fields = faults.flatMap(toFields).filter(isNew);
  return new ServiceError(wrongForm ? "invalid_request" : "invalid_value", `${message}.`, {
    ...(fields.length > 0 && { fields }),
  });
}

/**
 * Drops faults that only follow from another: those of a value whose type is wrong, and the missing fields of each
 * alternative when none of the alternatives matches.
 */
function withoutConsequences(faults: readonly Fault[]): Fault[] {
  const wrongType = new Set(faults.filter(({ errorCode }) => errorCode === TYPE).map(({ path }) => path));
  const noAlternative = faults.some(({ errorCode }) => errorCode === ONE_OF);
  return faults.filter(({ path, errorCode }) => {
    if (errorCode === TYPE) return true;
    return !wrongType.has(path) && !(noAlternative && ALTERNATIVES.includes(fieldOf(path)) && isMissing(errorCode));
  });
}

/** The name of a field, with the names of nested ones joined by dots. Empty for the body itself. */
const fieldOf = (path: string): string => path.replace(/^\/(body|query|params|headers)\/?/, "").replaceAll("/", ".");

const isMissing = (errorCode: string | undefined): boolean => errorCode === "required.openapi.validation";

/** A value that breaks both a pattern and its format gets the same message twice; one is enough. */
const isNew = ({ path, message }: FieldError, index: number, all: FieldError[]): boolean =>
  all.findIndex((other) => other.path === path && other.message === message) === index;

function toFields(fault: Fault): FieldError[] {
  const { path, message, errorCode = "" } = fault;
  if (errorCode === ONE_OF) {
    return ALTERNATIVES.map((name) => ({ path: name, code: "one_of", message: `${describe(fault)}.` }));
  }
  const code = RESERVED.test(message) ? "encoding" : FIELD_CODES[errorCode.split(".", 1)[0]!];
  const name = fieldOf(path);
  return name === "" || !code ? [] : [{ path: name, code, message: `${describe(fault)}.` }];
}

function describe({ path, message, errorCode }: Fault): string {
  const field = fieldOf(path);
  if (errorCode === ONE_OF) return `Send exactly one of ${ALTERNATIVES.join(" and ")}`;
  if (field === "") return "The body must be a JSON object";
  if (isMissing(errorCode)) return `${field} is required`;
  if (RESERVED.test(message)) return `${field} must be percent-encoded`;
  const expected = WORDED.test(errorCode ?? "") && EXPECTED.get(field);
  return expected ? `${field} must be ${expected}` : `${field} ${message}`;
}

const schemas = document.components.schemas as Record<string, Schema>;

/** The fields of which a request must have exactly one. */
const ALTERNATIVES = Object.values(schemas).flatMap(({ oneOf = [] }) => oneOf.flatMap(({ required = [] }) => required));

/** The spec's description of what each request field and query parameter accepts (`x-expects`). */
const EXPECTED = new Map<string, string>();
const fields: [name: string, schema: { $ref?: string }][] = [
  ...Object.values(schemas).flatMap(({ properties = {} }) => Object.entries(properties)),
  ...Object.values(document.components.parameters).map(({ name, schema }) => [name, schema] as [string, object]),
];
for (const [name, { $ref = "" }] of fields) {
  const words = schemas[$ref.split("/").at(-1)!]?.["x-expects"];
  if (words) EXPECTED.set(name, words);
}

const isUri = fullFormats.uri as (text: string) => boolean;

/** An existing moment. `Date` has no leap seconds, and reads 30 February as 2 March. */
function isTimestamp(text: string): boolean {
  const time = Date.parse(text);
  return !Number.isNaN(time) && new Date(time).toISOString() === text;
}

/** The contract's formats. `uri` must also be a URL that `URL` can parse, since the server will call it. */
export const formats = {
  "date-time": { type: "string" as const, validate: isTimestamp },
  uri: { type: "string" as const, validate: (text: string) => isUri(text) && URL.canParse(text) },
};
