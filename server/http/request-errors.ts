import { fullFormats } from "ajv-formats/dist/formats.js";
import document from "../../generated/openapi.json" with { type: "json" };
import { ApiError } from "../domain/errors.ts";

interface Schema {
  properties?: Record<string, { $ref?: string }>;
  "x-expects"?: string;
}

interface Fault {
  path: string;
  message: string;
  errorCode?: string;
}

/** Faults that a person understands from words rather than from the rule itself. */
const WORDED = /^(pattern|format|minLength|maxLength)\.openapi\.validation$/;
const TYPE = "type.openapi.validation";
/** Faults of form; every other keyword is a value out of its bounds (D1). */
const FORM = /^(required|type|additionalProperties|unevaluatedProperties)\.openapi\.validation$/;
/** A query parameter with a character that has to be escaped there; the validator gives it no code. */
const RESERVED = /reserved characters/;

/**
 * Turns what the validator found into 400 or 422 (D1), every offending field named (D2).
 * What it did not find itself (a fault of the server's) comes back as it is.
 */
export function toRefusal(error: unknown): unknown {
  const { errors, status } = error as { errors?: Fault[]; status?: number };
  if (status !== 400 || !errors) return error;
  const wrongForm = errors.some(({ errorCode = "", message }) => FORM.test(errorCode) || RESERVED.test(message));
  const message = [...new Set(withoutConsequences(errors).map(describe))].join("; ");
  return new ApiError(wrongForm ? "invalid-request" : "unprocessable", `${message}.`);
}

/** A value of the wrong type breaks its format too; saying so does not help. */
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

/** What the spec says in words (`x-expects`) of the fields of requests. */
const EXPECTED = new Map<string, string>();
const schemas = document.components.schemas as Record<string, Schema>;
for (const { properties = {} } of Object.values(schemas)) {
  for (const [field, { $ref = "" }] of Object.entries(properties)) {
    const words = schemas[$ref.split("/").at(-1)!]?.["x-expects"];
    if (words) EXPECTED.set(field, words);
  }
}

const isUri = fullFormats.uri as (text: string) => boolean;

/** Formats as the contract means them. `uri` also has to be an address that can be called. */
export const formats = {
  uri: { type: "string" as const, validate: (text: string) => isUri(text) && URL.canParse(text) },
};
