import type { Request, RequestHandler, Response } from "express";
import express from "express";
import { middleware as openApiValidator } from "express-openapi-validator";
import document from "../../generated/openapi.json" with { type: "json" };
import { through } from "./json-body.ts";
import { formats, toRefusal } from "./request-errors.ts";

/**
 * Input of a handler, with exactly the declared fields. Because of the intersection with a primitive type, spreading
 * the input or its rest does not compile, so a handler names each field that it passes on.
 */
export type Declared<T> = [T] extends [undefined] ? T : T & bigint;

interface Schema {
  $ref?: string;
  type?: string;
  properties?: Record<string, Schema>;
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

/**
 * Returns functions that copy what the operation declares from a query and from a body. Undeclared parameters and
 * fields are ignored, so they never reach the domain or the storage.
 */
export function declaredInput({ parameters = [], requestBody }: InputDeclaration) {
  const inQuery = parameters.map(resolved).filter((parameter) => parameter.in === "query");
  const body = requestBody && resolved(requestBody.content["application/json"].schema).properties!;
  for (const [name, schema] of Object.entries(body ?? {})) {
    const { type } = resolved(schema);
    if (type === "object" || type === "array") throw new Error(`The parts of ${name} would not be picked`);
  }
  return { query: pick(inQuery.map(({ name }) => name!)), body: body ? pick(Object.keys(body)) : () => undefined };
}

const pick = (names: readonly string[]) => (given: object) =>
  Object.fromEntries(Object.entries(given).filter(([name]) => names.includes(name)));

/** Follows a reference within the spec. */
function resolved<T extends { $ref?: string }>(part: T): T {
  if (part.$ref === undefined) return part;
  const [, ...steps] = part.$ref.split("/");
  return resolved(steps.reduce<any>((at, step) => at[step], document) as T);
}

/** True if a path parameter may be any string. Descriptions, examples and `x-…` extensions constrain nothing. */
function isFree({ in: place, schema = {} }: Parameter): boolean {
  const keywords = Object.keys(resolved(schema)).filter((key) => !/^(description|examples|x-.+)$/.test(key));
  return place === "path" && keywords.join() === "type" && resolved(schema).type === "string";
}

/** True if the operation has constraints to validate. */
export function isConstrained({ requestBody, parameters = [] }: InputDeclaration): boolean {
  return requestBody !== undefined || !parameters.every(isFree);
}

export interface Validator {
  /** @throws ServiceError if the request violates the contract */
  check(req: Request, res: Response): Promise<void>;
  /** Rejects if the contract is invalid. With an invalid contract the server starts, but every request fails. */
  prove(): Promise<void>;
}

/** What the library knows of a group of paths. It holds no state of a server, and building it takes about 30 ms. */
interface Built {
  steps: RequestHandler[];
  /** What all steps but the last have found about a route without parameters. It is the same each time. */
  found: Map<string, object>;
}
const built = new Map<string, Built>();

/** A request to which the library has added what it found about the route. */
type Routed = Request & { openapi?: object };

/**
 * Creates a validator for some paths of the spec. Its cost per request grows with the number of paths, so pass few
 * paths (D22). It is built on first use.
 */
export function createValidator(paths: readonly string[]): Validator {
  const key = paths.join(" ");
  function validator(): Built {
    const known = built.get(key) ?? { steps: build(paths), found: new Map() };
    built.set(key, known);
    return known;
  }
  return {
    async check(req: Routed, res) {
      // The library caches one compiled validator per Content-Type value and never evicts it. Normalise the header so
      // that the cache holds one entry; `readJson` has already checked the original value.
      req.headers["content-type"] = "application/json";
      const { steps, found } = validator();
      const route = `${req.method} ${(req.route as { path: string }).path}`;
      const known = found.get(route);
      // To find the route again takes a fifth of the CPU of a create.
      if (known) req.openapi = { ...known };
      try {
        for (const step of known ? steps.slice(-1) : steps) await through(step, req, res);
      } catch (error) {
        throw toRefusal(error);
      }
      if (req.openapi && !route.includes(":")) found.set(route, req.openapi);
    },
    // The first middleware waits until the document is loaded, and passes any loading error on.
    prove: () => through(validator().steps[0]!, { app: express() } as unknown as Request, {} as Response),
  };
}

/** Builds the middleware from a copy of the spec, because the library changes its input. HEAD is as GET (D26). */
function build(names: readonly string[]): RequestHandler[] {
  const { paths: all, components: known, ...spec } = structuredClone(document) as Record<string, any>;
  const paths = Object.fromEntries(names.map((name) => [name, all[name]]));
  for (const item of Object.values(paths)) if (item.get) item.head = structuredClone(item.get);
  // The library parses all components, which would take half a second.
  const components: Record<string, object> = { securitySchemes: known.securitySchemes };
  function addWhatIsUsed(part: unknown) {
    for (const [, group = "", name = ""] of JSON.stringify(part).matchAll(/"#\/components\/(\w+)\/(\w+)"/g)) {
      if (Object.hasOwn(components[group] ?? {}, name)) continue;
      components[group] = { ...components[group], [name]: known[group][name] };
      addWhatIsUsed(known[group][name]);
    }
  }
  addWhatIsUsed(paths);
  return openApiValidator({
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
}
