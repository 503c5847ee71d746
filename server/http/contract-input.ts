import { parse } from "node:url";
import { fullFormats } from "ajv-formats/dist/formats.js";
import type { Request, Response } from "express";
// Only the validator of requests: the package's entry also loads what reads documents, uploads and responses.
import { RequestValidator } from "express-openapi-validator/dist/middlewares/openapi.request.validator.js";
import document from "../../generated/openapi.json" with { type: "json" };
import { MOST_NAMED, ServiceError, type FieldError } from "../domain/errors.ts";
import { parseBody } from "./json-body.ts";

interface Schema {
  type?: string;
  properties?: Record<string, Schema>;
  items?: Schema;
  oneOf?: { required?: string[] }[];
  "x-expects"?: string;
}

interface Parameter {
  name: string;
  in: string;
  schema: Schema;
}

/** The parts of an operation of the spec that declare its input. */
export interface InputDeclaration {
  requestBody?: { content: { "application/json": { schema: Schema } }; "x-max-bytes"?: number };
  parameters?: Parameter[];
}

/** Follows a reference within the spec. */
function resolved(part: any): unknown {
  if (part?.$ref === undefined) return part;
  const [, ...steps] = part.$ref.split("/");
  return resolved(steps.reduce((at: any, step: string) => at[step], document));
}

/** Returns a copy of a part of the spec in which each reference is replaced by what it names. */
const inlined = <T extends object>(part: T): T =>
  JSON.parse(JSON.stringify(part, (_name, value) => resolved(value))) as T;

/** Returns a function that copies what a schema declares of a value. */
function pickerOf({ properties, items }: Schema): (given: any) => any {
  if (items) {
    const pick = pickerOf(items);
    return (given: unknown[]) => given.map(pick);
  }
  if (!properties) return (given) => given;
  const pickers = new Map(Object.entries(properties).map(([name, schema]) => [name, pickerOf(schema)]));
  return (given: object) => {
    const declared = Object.entries(given).filter(([name]) => pickers.has(name));
    return Object.fromEntries(declared.map(([name, value]) => [name, pickers.get(name)!(value)]));
  };
}

/** The fields of a schema, also of the objects in its lists, by their names. */
const declaredIn = ({ properties = {} }: Schema): [name: string, schema: Schema][] =>
  Object.entries(properties).flatMap(([name, schema]) => [
    [name, schema] as [string, Schema],
    ...declaredIn(schema.items ?? {}).map(([of, each]): [string, Schema] => [`${name}.${of}`, each]),
  ]);

/** What errors of an operation say. */
interface Texts {
  /** What each field and query parameter accepts, in the words of the spec (`x-expects`). */
  expected: ReadonlyMap<string, string | undefined>;
  /** The fields of the body's `oneOf`: a request must have exactly one of them. */
  alternatives: readonly string[];
}

/**
 * Returns what checks the input of an operation, and functions that copy what the operation declares from a query and from
 * a body. Undeclared parameters and fields are ignored, so they never reach the domain or the storage.
 * @param path as an Express route
 */
export function inputOf(path: string, { parameters = [], requestBody }: InputDeclaration) {
  const schema = inlined({ parameters, requestBody });
  const inQuery = schema.parameters.filter((parameter) => parameter.in === "query");
  const body = schema.requestBody?.content["application/json"].schema;
  const { oneOf = [] } = body ?? {};
  // A parameter of a path may be any text.
  const isConstrained = body !== undefined || inQuery.length > 0;
  const declared = [...schema.parameters.map((each) => [each.name, each.schema] as const), ...declaredIn(body ?? {})];
  const texts: Texts = {
    expected: new Map(declared.map(([name, of]) => [name, of["x-expects"]])),
    alternatives: oneOf.flatMap(({ required = [] }) => required),
  };
  return {
    query: pickerOf({ properties: Object.fromEntries(inQuery.map((each) => [each.name, {}])) }),
    body: body ? pickerOf(body) : () => undefined,
    /** @throws ServiceError if the request violates the contract */
    check(req: Request, res: Response): void {
      if (!isConstrained) return;
      // The library caches one compiled validator per Content-Type value and never evicts it. Normalise the header so
      // that the cache holds one entry; `readJson` has already checked the original value.
      req.headers["content-type"] = "application/json";
      Object.assign(req, { openapi: { expressRoute: path, openApiRoute: path, pathParams: req.params, schema } });
      try {
        void validator.validate(req as never, res, () => undefined);
      } catch (error) {
        throw toRefusal(error, texts);
      }
    },
  };
}

/** Reads a JSON text as the body of a POST to this path. @throws ServiceError as for a request */
export function readText(path: keyof typeof document.paths, text: string): unknown {
  const input = inputOf(path, (document.paths[path] as { post: InputDeclaration }).post);
  const body = parseBody(Buffer.from(text));
  const req = { method: "POST", originalUrl: path, headers: {}, params: {}, query: {}, body } as unknown as Request;
  input.check(req, {} as Response);
  return input.body(req.body);
}

// The library parses URLs with the deprecated `url.parse`. Until Node has warned once, it captures a stack trace for each
// call to decide whether to warn, which is 4 % of a create, and it never warns about a library. This call is the warning,
// silenced.
if (!process.noDeprecation) {
  process.noDeprecation = true;
  parse("");
  process.noDeprecation = false;
}

const isUri = fullFormats.uri as (text: string) => boolean;

/**
 * The contract's formats. `Date` reads 30 February as 2 March, so compare the text too. `uri` must also be a URL that `URL`
 * can parse, since the server will call it.
 */
const formats = {
  "date-time": { type: "string" as const, validate: (text: string) => new Date(text).toJSON() === text },
  uri: { type: "string" as const, validate: (text: string) => isUri(text) && URL.canParse(text) },
};

/** It gets no document, because Express finds the operation of a request, whose schema contains no references. */
const validator = new RequestValidator({ openapi: "3.1.0", info: { title: "", version: "" }, paths: {} } as never, {
  allErrors: true,
  allowUnknownQueryParameters: true,
  strict: false,
  useDefaults: true,
  validateSchema: false,
  formats,
});

/** A fault as the library reports it. */
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
  text: string;
}

/** Keywords for which the spec's own wording (`x-expects`) is clearer than the failed rule. */
const WORDED = new Set(["pattern", "format", "minLength", "maxLength"]);
/** Keywords of a malformed request, which is refused with 400. A value out of range is refused with 422 (D1). */
const FORM = new Set(["required", "type", "oneOf", "encoding", "additionalProperties", "unevaluatedProperties"]);

/**
 * Converts a validation error into a 400 or 422 that names the invalid fields (D1, D2), the first ones of many.
 * Any other error, such as a fault in the server, is returned unchanged.
 */
function toRefusal(error: unknown, texts: Texts): unknown {
  const { errors, status } = error as { errors?: Reported[]; status?: number };
  if (status !== 400 || !errors) return error;
  const reported = errors.map((each) => toFault(each, texts));
  const wrongTypes = new Set(reported.filter(({ keyword }) => keyword === "type").map(({ field }) => field));
  const hasChoice = reported.some(({ keyword }) => keyword === "oneOf");
  const isConsequence = ({ field, keyword }: Fault) =>
    keyword !== "type" &&
    // Further faults of a value whose type is wrong, and missing alternatives if no alternative matches.
    (wrongTypes.has(field) || (hasChoice && keyword === "required" && texts.alternatives.includes(field)));
  const causes = reported.filter((fault) => !isConsequence(fault));
  // A value that violates both a pattern and a format gets the same text twice.
  const faults = [...Map.groupBy(causes, ({ text }) => text).values()].map(([first]) => first!);
  const code = faults.some(({ keyword }) => FORM.has(keyword)) ? "invalid_request" : "invalid_value";
  const named = faults.slice(0, MOST_NAMED);
  const fields = named.flatMap((fault) => toFields(fault, texts));
  const more = faults.length > named.length ? `; and ${faults.length - named.length} more faults` : "";
  const message = `${named.map(({ text }) => text).join("; ")}${more}.`;
  return new ServiceError(code, message, { ...(fields.length > 0 && { fields }) });
}

function toFault({ path, message, errorCode = "" }: Reported, { expected, alternatives }: Texts): Fault {
  const field = path.replace(/^\/(body|query|params|headers)\/?/, "").replaceAll("/", ".");
  // The library sets no error code for an unescaped reserved character in a query parameter.
  const keyword = /reserved characters/.test(message) ? "encoding" : errorCode.split(".", 1)[0]!;
  const fault = (text: string) => ({ field, keyword, text });
  if (keyword === "oneOf") return fault(`Send exactly one of ${alternatives.join(" and ")}`);
  if (field === "") return fault("The body must be a JSON object");
  if (keyword === "required") return fault(`${field} is required`);
  if (keyword === "encoding") return fault(`${field} must be percent-encoded`);
  const words = WORDED.has(keyword) && expected.get(field.replaceAll(/\.\d+(?=\.|$)/g, ""));
  return fault(words ? `${field} must be ${words}` : `${field} ${message}`);
}

function toFields({ field, keyword, text }: Fault, { alternatives }: Texts): FieldError[] {
  // `minLength` has the code `min_length` (D2).
  const snake = keyword.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  const code = document.components.schemas.FieldErrorCode.enum.find((each) => each === snake) as FieldError["code"];
  const paths = keyword === "oneOf" ? alternatives : [field];
  return code && paths[0] ? paths.map((path) => ({ path, code, message: `${text}.` })) : [];
}
