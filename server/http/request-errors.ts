import { fullFormats } from "ajv-formats/dist/formats.js";
import document from "../../generated/openapi.json" with { type: "json" };
import { ServiceError } from "../domain/errors.ts";

interface Schema {
  properties?: Record<string, { $ref?: string }>;
  "x-expects"?: string;
}

interface Fault {
  path: string;
  message: string;
  errorCode?: string;
}

/** Faults for which the spec's own wording (`x-expects`) is clearer than the failed rule. */
const WORDED = /^(pattern|format|minLength|maxLength)\.openapi\.validation$/;
const TYPE = "type.openapi.validation";
/** Malformed requests, refused with 400. Any other failed keyword means a value out of range: 422 (D1). */
const FORM = /^(required|type|additionalProperties|unevaluatedProperties)\.openapi\.validation$/;
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
  const message = [...new Set(withoutConsequences(errors).map(describe))].join("; ");
  return new ServiceError(wrongForm ? "invalid-request" : "unprocessable", `${message}.`);
}

/** Drops a value's other errors if its type is wrong, because the type causes them. */
function withoutConsequences(faults: readonly Fault[]): Fault[] {
  const wrongType = new Set(faults.filter(({ errorCode }) => errorCode === TYPE).map(({ path }) => path));
  return faults.filter(({ path, errorCode }) => errorCode === TYPE || !wrongType.has(path));
}

function describe({ path, message, errorCode }: Fault): string {
  const field = path.replace(/^\/(body|query|params|headers)\/?/, "").replaceAll("/", ".");
  if (field === "") return "The body must be a JSON object";
  if (errorCode === "required.openapi.validation") return `${field} is required`;
  if (RESERVED.test(message)) return `${field} must be percent-encoded`;
  const expected = WORDED.test(errorCode ?? "") && EXPECTED.get(field);
  return expected ? `${field} must be ${expected}` : `${field} ${message}`;
}

/** The spec's description of what each request field accepts (`x-expects`). */
const EXPECTED = new Map<string, string>();
const schemas = document.components.schemas as Record<string, Schema>;
for (const { properties = {} } of Object.values(schemas)) {
  for (const [field, { $ref = "" }] of Object.entries(properties)) {
    const words = schemas[$ref.split("/").at(-1)!]?.["x-expects"];
    if (words) EXPECTED.set(field, words);
  }
}

const isUri = fullFormats.uri as (text: string) => boolean;

/** The contract's formats. `uri` must also be a URL that `URL` can parse, since the server will call it. */
export const formats = {
  uri: { type: "string" as const, validate: (text: string) => isUri(text) && URL.canParse(text) },
};
