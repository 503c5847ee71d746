import { fullFormats } from "ajv-formats/dist/formats.js";
import document from "../../generated/openapi.json" with { type: "json" };
import { ServiceError, type FieldError } from "../domain/errors.ts";

interface Schema {
  properties?: Record<string, { $ref?: string }>;
  oneOf?: { required?: string[] }[];
  "x-expects"?: string;
}

/** A fault as the validator reports it. */
interface Reported {
  path: string;
  message: string;
  errorCode?: string;
}

interface Fault {
  /** The name of a field; the names of nested fields are joined by dots. Empty for the body itself. */
  field: string;
  /** The JSON Schema keyword that failed, or `encoding`. */
  keyword: string;
  message: string;
}

/** Keywords for which the spec's own wording (`x-expects`) is clearer than the failed rule. */
const WORDED = new Set(["pattern", "format", "minLength", "maxLength"]);
/** Keywords of a malformed request, which is refused with 400. A value out of range is refused with 422 (D1). */
const FORM = new Set(["required", "type", "oneOf", "encoding", "additionalProperties", "unevaluatedProperties"]);

/**
 * Converts a validation error into a 400 or 422 that names every invalid field (D1, D2).
 * Any other error, such as a fault in the server, is returned unchanged.
 */
export function toRefusal(error: unknown): unknown {
  const { errors, status } = error as { errors?: Reported[]; status?: number };
  if (status !== 400 || !errors) return error;
  const faults = withoutConsequences(errors.map(toFault));
  const code = faults.some(({ keyword }) => FORM.has(keyword)) ? "invalid_request" : "invalid_value";
  const message = [...new Set(faults.map(describe))].join("; ");
  const fields = faults.flatMap(toFields).filter(isNew);
  return new ServiceError(code, `${message}.`, { ...(fields.length > 0 && { fields }) });
}

function toFault({ path, message, errorCode = "" }: Reported): Fault {
  const field = path.replace(/^\/(body|query|params|headers)\/?/, "").replaceAll("/", ".");
  // The validator sets no error code for an unescaped reserved character in a query parameter.
  if (/reserved characters/.test(message)) return { field, keyword: "encoding", message };
  // In place of `type`, the validator checks timestamps with a keyword named x-eov-type.
  return { field, keyword: errorCode.split(".", 1)[0]!.replace("x-eov-", ""), message };
}

/**
 * Drops faults that only follow from another fault: further faults of a value whose type is wrong, and the missing
 * fields of each alternative if no alternative matches.
 */
function withoutConsequences(faults: readonly Fault[]): Fault[] {
  const wrongType = new Set(faults.filter(({ keyword }) => keyword === "type").map(({ field }) => field));
  const noAlternative = faults.some(({ keyword }) => keyword === "oneOf");
  return faults.filter(({ field, keyword }) => {
    if (keyword === "type") return true;
    if (keyword === "required" && noAlternative && ALTERNATIVES.includes(field)) return false;
    return !wrongType.has(field);
  });
}

function toFields(fault: Fault): FieldError[] {
  const { field, keyword } = fault;
  const message = `${describe(fault)}.`;
  if (keyword === "oneOf") return ALTERNATIVES.map((path) => ({ path, code: "one_of", message }));
  // `minLength` has the code `min_length` (D2).
  const snake = keyword.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  const code = document.components.schemas.FieldErrorCode.enum.find((each) => each === snake) as FieldError["code"];
  return field === "" || !code ? [] : [{ path: field, code, message }];
}

/** A value that violates both a pattern and a format gets the same message twice. */
const isNew = ({ path, message }: FieldError, index: number, all: FieldError[]): boolean =>
  all.findIndex((other) => other.path === path && other.message === message) === index;

function describe({ field, keyword, message }: Fault): string {
  if (keyword === "oneOf") return `Send exactly one of ${ALTERNATIVES.join(" and ")}`;
  if (field === "") return "The body must be a JSON object";
  if (keyword === "required") return `${field} is required`;
  if (keyword === "encoding") return `${field} must be percent-encoded`;
  const expected = WORDED.has(keyword) && EXPECTED.get(field);
  return expected ? `${field} must be ${expected}` : `${field} ${message}`;
}

const schemas = document.components.schemas as Record<string, Schema>;

/** Groups of fields. A request must have exactly one field of a group. */
const ALTERNATIVES = Object.values(schemas).flatMap(({ oneOf = [] }) => oneOf.flatMap(({ required = [] }) => required));

interface Parameter {
  name?: string;
  schema?: { $ref?: string };
}
const operations = Object.values(
  document.paths as Record<string, Record<string, { parameters?: Parameter[] }>>,
).flatMap((item) => Object.values(item));
const parameters = [
  ...Object.values(document.components.parameters as Record<string, Parameter>),
  ...operations.flatMap((operation) => operation.parameters ?? []),
];
/** The spec's description of what each request field and query parameter accepts (`x-expects`). */
const EXPECTED = new Map(
  [
    ...Object.values(schemas).flatMap(({ properties = {} }) => Object.entries(properties)),
    ...parameters.map(({ name = "", schema = {} }) => [name, schema] as const),
  ].flatMap(([name, { $ref = "" }]) => {
    const words = schemas[$ref.split("/").at(-1)!]?.["x-expects"];
    return words ? [[name, words]] : [];
  }),
);

const isUri = fullFormats.uri as (text: string) => boolean;

/**
 * True if the timestamp exists. `Date` rejects leap seconds but reads 30 February as 2 March, so compare the text too.
 */
function isTimestamp(text: string): boolean {
  const time = Date.parse(text);
  return !Number.isNaN(time) && new Date(time).toISOString() === text;
}

/** The contract's formats. `uri` must also be a URL that `URL` can parse, since the server will call it. */
export const formats = {
  "date-time": { type: "string" as const, validate: isTimestamp },
  uri: { type: "string" as const, validate: (text: string) => isUri(text) && URL.canParse(text) },
};
