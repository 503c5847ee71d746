import { parse } from "node:url";
import { fullFormats } from "ajv-formats/dist/formats.js";
import type { Request, RequestHandler, Response } from "express";
import express from "express";
import { middleware as openApiValidator } from "express-openapi-validator";
import document from "../../generated/openapi.json" with { type: "json" };
import { ServiceError, type FieldError } from "../domain/errors.ts";
import { through } from "./json-body.ts";

interface Schema {
  $ref?: string;
  type?: string;
  properties?: Record<string, Schema>;
  oneOf?: { required?: string[] }[];
  "x-expects"?: string;
}

interface Parameter {
  $ref?: string;
  name?: string;
  in?: string;
  schema?: Schema;
}

/** The parts of an operation of the spec that declare its input. */
export interface InputDeclaration {
  requestBody?: { content: { "application/json": { schema: Schema } } };
  parameters?: Parameter[];
}

/** Follows a reference within the spec. */
function resolved<T extends { $ref?: string }>(part: T): T {
  if (part.$ref === undefined) return part;
  const [, ...steps] = part.$ref.split("/");
  return resolved(steps.reduce<any>((at, step) => at[step], document) as T);
}

const pick = (names: readonly string[]) => (given: object) =>
  Object.fromEntries(Object.entries(given).filter(([name]) => names.includes(name)));

/**
 * Returns functions that copy what the operation declares from a query and from a body. Undeclared parameters and
 * fields are ignored, so they never reach the domain or the storage.
 */
export function declaredInput({ parameters = [], requestBody }: InputDeclaration) {
  const inQuery = parameters.map(resolved).flatMap((parameter) => (parameter.in === "query" ? parameter.name! : []));
  const body = requestBody && resolved(requestBody.content["application/json"].schema).properties!;
  if (Object.values(body ?? {}).some((schema) => /object|array/.test(resolved(schema).type ?? "")))
    throw new Error("The parts of a field would not be picked.");
  return {
    /** True if there is anything to validate. A parameter of a path may be any text. */
    isConstrained: body !== undefined || inQuery.length > 0,
    query: pick(inQuery),
    body: body ? pick(Object.keys(body)) : () => undefined,
  };
}

// The library parses URLs with the deprecated `url.parse`. Until Node has warned once, it captures a stack trace for each
// call to decide whether to warn, which is 4 % of a create, and it never warns about a library. This call is the warning,
// silenced.
if (!process.noDeprecation) {
  process.noDeprecation = true;
  parse("");
  process.noDeprecation = false;
}

/** @throws ServiceError if the request to this path of the spec violates the contract */
export async function checkInput(path: string, req: Request & { openapi?: object }, res: Response): Promise<void> {
  // The library caches one compiled validator per Content-Type value and never evicts it. Normalise the header so
  // that the cache holds one entry; `readJson` has already checked the original value.
  req.headers["content-type"] = "application/json";
  // Express has found the operation. The library's other steps would find it again, for a fifth of the CPU of a create.
  // HEAD is as GET (D26).
  const schema = paths[path]![req.method === "HEAD" ? "get" : req.method.toLowerCase()];
  req.openapi = { expressRoute: path, openApiRoute: path, pathParams: req.params, schema };
  try {
    await through(steps.at(-1)!, req, res);
  } catch (error) {
    throw toRefusal(error);
  }
}

/** Rejects if the contract cannot be loaded. The server then runs, but is not ready. */
export const proveInput = (): Promise<void> =>
  // The first middleware waits until the document is loaded, and passes any loading error on.
  through(steps[0]!, { app: express() } as unknown as Request, {} as Response);

/** Builds the middleware from a copy of the spec, because the library changes its input. */
function build(): { steps: RequestHandler[]; paths: Record<string, Record<string, object>> } {
  const { paths, components: known, ...spec } = structuredClone(document) as Record<string, any>;
  for (const item of Object.values<any>(paths))
    for (const operation of Object.values<any>(item)) operation.responses = {};
  // Parsing all components would take half a second, so the library gets only those that are used.
  const components: Record<string, object> = { securitySchemes: known.securitySchemes };
  function addWhatIsUsed(part: unknown) {
    for (const [, group = "", name = ""] of JSON.stringify(part).matchAll(/"#\/components\/(\w+)\/(\w+)"/g)) {
      if (Object.hasOwn(components[group] ?? {}, name)) continue;
      components[group] = { ...components[group], [name]: known[group][name] };
      addWhatIsUsed(known[group][name]);
    }
  }
  addWhatIsUsed(paths);
  const steps = openApiValidator({
    apiSpec: { ...spec, paths, webhooks: {}, components } as never,
    // The spec is linted before each commit. Validating it here would double the start-up time.
    validateApiSpec: false,
    validateRequests: { allErrors: true, allowUnknownQueryParameters: true },
    validateResponses: false,
    // The library does not check the API key, because `authenticate` has checked it before the body is read.
    validateSecurity: false,
    fileUploader: false,
    formats,
  });
  return { steps, paths };
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

/** The library's middleware, and the operations as it needs them. They hold no state of a server. */
const { steps, paths } = build();

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
 * Converts a validation error into a 400 or 422 that names every invalid field (D1, D2).
 * Any other error, such as a fault in the server, is returned unchanged.
 */
function toRefusal(error: unknown): unknown {
  const { errors, status } = error as { errors?: Reported[]; status?: number };
  if (status !== 400 || !errors) return error;
  const reported = errors.map(toFault);
  const faults = reported.filter((fault) => !followsFrom(reported, fault)).filter(isNew);
  const code = faults.some(({ keyword }) => FORM.has(keyword)) ? "invalid_request" : "invalid_value";
  const fields = faults.flatMap(toFields);
  const message = `${faults.map(({ text }) => text).join("; ")}.`;
  return new ServiceError(code, message, { ...(fields.length > 0 && { fields }) });
}

function toFault({ path, message, errorCode = "" }: Reported): Fault {
  const field = path.replace(/^\/(body|query|params|headers)\/?/, "").replaceAll("/", ".");
  // The library sets no error code for an unescaped reserved character in a query parameter. In place of `type`, it
  // checks timestamps with a keyword named x-eov-type.
  const isReserved = /reserved characters/.test(message);
  const keyword = isReserved ? "encoding" : errorCode.split(".", 1)[0]!.replace("x-eov-", "");
  return { field, keyword, text: describe(field, keyword, message) };
}

/** True for further faults of a value whose type is wrong, and for missing alternatives if no alternative matches. */
function followsFrom(all: readonly Fault[], { field, keyword }: Fault): boolean {
  if (keyword === "type") return false;
  if (all.some((other) => other.keyword === "type" && other.field === field)) return true;
  return keyword === "required" && ALTERNATIVES.includes(field) && all.some((other) => other.keyword === "oneOf");
}

/** A value that violates both a pattern and a format gets the same text twice. */
const isNew = ({ text }: Fault, index: number, all: Fault[]): boolean =>
  all.findIndex((other) => other.text === text) === index;

function toFields({ field, keyword, text }: Fault): FieldError[] {
  // `minLength` has the code `min_length` (D2).
  const snake = keyword.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  const code = document.components.schemas.FieldErrorCode.enum.find((each) => each === snake) as FieldError["code"];
  const named = keyword === "oneOf" ? ALTERNATIVES : [field];
  return code && named[0] ? named.map((path) => ({ path, code, message: `${text}.` })) : [];
}

function describe(field: string, keyword: string, message: string): string {
  if (keyword === "oneOf") return `Send exactly one of ${ALTERNATIVES.join(" and ")}`;
  if (field === "") return "The body must be a JSON object";
  if (keyword === "required") return `${field} is required`;
  if (keyword === "encoding") return `${field} must be percent-encoded`;
  const expected = WORDED.has(keyword) && EXPECTED.get(field);
  return expected ? `${field} must be ${expected}` : `${field} ${message}`;
}

const schemas = Object.values(document.components.schemas as Record<string, Schema>);

/** The fields of the only `oneOf` of the contract: a request must have exactly one of them. */
const ALTERNATIVES = schemas.flatMap(({ oneOf = [] }) => oneOf.flatMap(({ required = [] }) => required));

const parameters = Object.values(document.paths as Record<string, Record<string, InputDeclaration>>)
  .flatMap((item) => Object.values(item))
  .flatMap((operation) => operation.parameters?.map(resolved) ?? []);
/** The spec's description of what each request field and query parameter accepts (`x-expects`). */
const EXPECTED = new Map(
  [
    ...schemas.flatMap(({ properties = {} }) => Object.entries(properties)),
    ...parameters.map(({ name, schema = {} }) => [name!, schema] as const),
  ]
    .map(([name, schema]) => [name, resolved(schema)["x-expects"]] as const)
    .filter(([, words]) => words),
);
