// Reads the contract. Only this file knows where the contract's files are. The published package's dist/ mirrors the
// repository, so the same relative paths work in both.
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { paths } from "../../generated/openapi.ts";
import type { Side } from "../results.ts";

const root = new URL("../../", import.meta.url);
const read = (path: string) => readFileSync(new URL(path, root), "utf8");

/** The path of the bundled OpenAPI document. */
export const openapiFile = fileURLToPath(new URL("generated/openapi.json", root));

/** The text of the bundled OpenAPI document. */
export const contractText = readFileSync(openapiFile, "utf8");

type Operation = { operationId: string; responses: Record<string, { $ref?: string; content?: Content }> } & Marks;
type Content = Record<string, { schema?: Schema }>;
/** Where a rule comes from: the interface document, or a decision of this project. */
type Marks = { "x-interface"?: string; "x-decision"?: string };
export type Schema = Marks & {
  $ref?: string;
  type?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  oneOf?: Schema[];
  [keyword: string]: unknown;
};

/**
 * The bundled OpenAPI document. Values in responses have the schema `anyOf: [known values, any string]`, because clients
 * must read values of later versions. A service is judged by this version, so only the known values are valid here.
 */
export const openapi = JSON.parse(contractText, (_, value: { anyOf?: object[] } | null) => {
  const { anyOf, ...rest } = value ?? {};
  return anyOf ? { ...anyOf[0], ...rest } : value;
}) as {
  paths: Record<keyof paths, Record<string, Operation>>;
  components: {
    schemas: Record<string, Schema>;
    responses: Record<string, { content?: Content }>;
    examples: Record<string, { value: unknown }>;
  };
};

/** The SHA-256 hash of the bundled document, in hexadecimal. */
export const specSha256 = createHash("sha256").update(contractText).digest("hex");

/** The path of a catalogue of requirements in the repository: for services, or for one kind of merchant's program. */
export const catalogueFile = (side?: Side) => `spec/requirements${side === undefined ? "" : `.${side}`}.yaml`;

/** Reads the requirements for services, or for one kind of merchant's program. */
export const catalogueText = (side?: Side) => read(catalogueFile(side));

/** Reads the version of the conformance package. */
export const suiteVersion = (): string => {
  const source = new URL("conformance/package.json", root);
  const text = readFileSync(existsSync(source) ? source : new URL("../package.json", root), "utf8");
  return (JSON.parse(text) as { version: string }).version;
};

const routes = Object.entries(openapi.paths).flatMap(([template, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({
    method: method.toUpperCase(),
    template,
    pattern: new RegExp(`^${template.replaceAll(/\{[^}]+\}/g, "[^/?]+")}(\\?.*)?$`),
    operation,
  })),
);

export type Route = (typeof routes)[number];

/** The last request that was looked up. The rules for a response look up its request many times. */
let last: { method: string; path: string; route: Route | undefined } | undefined;

/** Returns the documented operation of a request, if any. `path` is the path after the base URL. */
export function routeOf(method: string, path: string): Route | undefined {
  if (last?.method !== method || last.path !== path)
    last = { method, path, route: routes.find((route) => route.method === method && route.pattern.test(path)) };
  return last.route;
}

/** Returns the documented schema of a response body, if there is one. */
export function responseSchema(route: Route, status: number): Schema | undefined {
  const response = route.operation.responses[String(status)];
  const name = response?.$ref?.split("/").at(-1);
  const content = name ? openapi.components.responses[name]?.content : response?.content;
  return content?.["application/json"]?.schema;
}
