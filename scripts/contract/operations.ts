import { isDeepStrictEqual } from "node:util";
import {
  pairs,
  resolve,
  type Comparison,
  type Contract,
  type Handlers,
  type Members,
  type Node,
} from "./comparison.ts";
import { compareSchemas } from "./schemas.ts";
import { inside, other, type Place, type Writer } from "./verdicts.ts";

interface Operation {
  /** Its method and path: `POST /v1/disbursements`. */
  name: string;
  operation: Node;
  /** The parameters by their location and name; the parameters of the path by their position in the path. */
  parameters: Members;
  security: Node[];
}

const METHODS = ["get", "put", "post", "delete", "options", "head", "patch", "trace"];

/**
 * Compares the operations of `paths` or `webhooks`.
 * @param sender who sends the requests: merchants to `paths`, the service to `webhooks`
 */
export function compareOperations(comparison: Comparison, before: Node = {}, after: Node = {}, sender: Writer): void {
  const operations = [operationsOf(comparison.before, before), operationsOf(comparison.after, after)] as const;
  for (const [, old, young] of pairs(...operations)) {
    const place = { where: (old ?? young)!.name, writer: sender };
    if (old && young) compareOperation(comparison, old, young, place);
    else comparison.report(old ? "operationRemoved" : "operationAdded", place);
  }
  comparePathItems(comparison, before, after, sender);
}

/** Compares the parts of a path other than its operations. */
function comparePathItems(comparison: Comparison, before: Node, after: Node, sender: Writer): void {
  const comparedAbove = Object.fromEntries([...METHODS, "parameters"].map((name) => [name, "elsewhere" as const]));
  for (const [path, old = {}, young = {}] of pairs<Node>(before, after)) {
    const handlers: Handlers = { ...comparedAbove, summary: "text", description: "text" };
    comparison.keywords(old, young, { where: path, writer: sender }, handlers);
  }
}

/** A path without the names of its parameters, which no request contains. */
const templateOf = (path: string) => path.replace(/\{[^}]*\}/g, "{}");

function operationsOf(contract: Contract, paths: Node): Record<string, Operation> {
  const operations: Record<string, Operation> = {};
  for (const [path, item] of Object.entries<Node>(paths)) {
    for (const method of METHODS.filter((name) => item[name])) {
      const operation = item[method];
      const parameters: Node[] = [...(item.parameters ?? []), ...(operation.parameters ?? [])];
      operations[`${method} ${templateOf(path)}`] = {
        name: `${method.toUpperCase()} ${path}`,
        operation,
        parameters: Object.fromEntries(parameters.map((parameter) => parameterOf(contract, parameter, path))),
        security: operation.security ?? contract.security ?? [],
      };
    }
  }
  return operations;
}

function parameterOf(contract: Contract, parameter: Node, path: string): [string, Members[string]] {
  const { name, in: location, required = false } = resolve(contract, parameter);
  const position = [...path.matchAll(/\{([^}]*)\}/g)].findIndex(([, inPath]) => inPath === name) + 1;
  // Names of headers are the same in capital letters.
  const label = location === "path" ? position : location === "header" ? String(name).toLowerCase() : name;
  return [`${location} ${label}`, { required, value: parameter }];
}

function compareOperation(comparison: Comparison, before: Operation, after: Operation, place: Place): void {
  const parameters = inside(place, "parameters");
  for (const { name, both } of comparison.members(before.parameters, after.parameters, parameters)) {
    comparison.resolved(...both, inside(parameters, name), (old, young, at) =>
      compareParameter(comparison, old, young, at),
    );
  }
  compareSecurity(comparison, before.security, after.security, inside(place, "security"));
  comparison.keywords(before.operation, after.operation, place, {
    parameters: "elsewhere",
    security: "elsewhere",
    requestBody: (both, at) => compareBodies(comparison, both.before, both.after, at),
    responses: (both, at) => compareResponses(comparison, both.before, both.after, at),
    operationId: "renamed",
    tags: "grouped",
    summary: "text",
    description: "text",
    deprecated: "text",
    externalDocs: "text",
  });
}

const TEXTS: Handlers = { description: "text", example: "text", examples: "text", deprecated: "text" };

function compareParameter(comparison: Comparison, before: Node, after: Node, place: Place): void {
  comparison.keywords(before, after, place, {
    ...TEXTS,
    in: "elsewhere",
    required: "elsewhere",
    // Parameters with different names are compared only at the same position of a path.
    name: place.where.includes(" > header ") ? "text" : "renamed",
    style: "encoding",
    explode: "encoding",
    allowReserved: "encoding",
    schema: (both, at) => compareSchemas(comparison, both.before ?? true, both.after ?? true, at),
    content: (both, at) => compareContents(comparison, both.before, both.after, at),
  });
}

function compareBodies(comparison: Comparison, before: Node | undefined, after: Node | undefined, place: Place): void {
  const bodies = [bodyOf(comparison.before, before), bodyOf(comparison.after, after)] as const;
  for (const { both } of comparison.members(...bodies, place)) {
    comparison.resolved(...both, place, (old, young, at) =>
      comparison.keywords(old, young, at, {
        description: "text",
        required: "elsewhere",
        content: (contents, to) => compareContents(comparison, contents.before, contents.after, to),
      }),
    );
  }
}

const bodyOf = (contract: Contract, body: Node | undefined): Members =>
  body ? { body: { required: resolve(contract, body).required === true, value: body } } : {};

function compareContents(
  comparison: Comparison,
  before: Node | undefined,
  after: Node | undefined,
  place: Place,
): void {
  for (const [type, old, young] of pairs<Node>(before, after)) {
    const at = inside(place, type);
    if (!old || !young) comparison.report(old ? "contentTypeRemoved" : "contentTypeAdded", at);
    else {
      comparison.keywords(old, young, at, {
        ...TEXTS,
        schema: (both, inType) => compareSchemas(comparison, both.before ?? true, both.after ?? true, inType),
      });
    }
  }
}

/** Compares responses. The receiver of the request writes them. */
function compareResponses(comparison: Comparison, before: Node, after: Node, { where, writer: sender }: Place): void {
  const place = { where, writer: other(sender) };
  for (const [status, old, young] of pairs<Node>(before, after)) {
    const at = inside(place, status);
    const kind = /^[123]/.test(status) ? "successStatus" : "errorStatus";
    if (!old || !young) comparison.report(`${kind}${old ? "Removed" : "Added"}`, at);
    else comparison.resolved(old, young, at, (was, is, to) => compareResponse(comparison, was, is, to));
  }
}

function compareResponse(comparison: Comparison, before: Node, after: Node, place: Place): void {
  comparison.keywords(before, after, place, {
    description: "text",
    headers: (both, at) => compareHeaders(comparison, both.before, both.after, at),
    content: (both, at) => compareContents(comparison, both.before, both.after, at),
    links: (both, at) => compareLinks(comparison, both.before, both.after, at),
  });
}

function compareHeaders(comparison: Comparison, before: Node = {}, after: Node = {}, place: Place): void {
  const headers = [headersOf(comparison.before, before), headersOf(comparison.after, after)] as const;
  for (const { name, both } of comparison.members(...headers, place)) {
    comparison.resolved(...both, inside(place, name), (old, young, at) => compareParameter(comparison, old, young, at));
  }
}

const headersOf = (contract: Contract, headers: Node): Members =>
  Object.fromEntries(
    Object.entries<Node>(headers).map(([name, header]) => [
      name.toLowerCase(),
      { required: resolve(contract, header).required === true, value: header },
    ]),
  );

function compareLinks(comparison: Comparison, before: Node | undefined, after: Node | undefined, place: Place): void {
  for (const [name, old, young] of pairs<Node>(before, after)) {
    const at = inside(place, name);
    if (isDeepStrictEqual(old, young)) continue;
    if (!old) comparison.report("linkAdded", at);
    else comparison.report(isDeepStrictEqual(withoutText(old), withoutText(young)) ? "text" : "linkRemoved", at);
  }
}

const withoutText = (link: Node = {}) => ({ ...link, description: "" });

/** Each entry of `security` is one way to be authorised, and names all schemes that this way needs. */
function compareSecurity(comparison: Comparison, before: Node[], after: Node[], place: Place): void {
  const [old, young] = [before, after].map((ways) => (ways.length > 0 ? ways : [{}])) as [Node[], Node[]];
  const isStricter = !old.every((given) => young.some((way) => suffices(given, way)));
  const isLooser = !young.every((given) => old.some((way) => suffices(given, way)));
  if (isStricter) comparison.report("securityStricter", place, { before, after });
  else if (isLooser) comparison.report("securityLooser", place, { before, after });
}

/** True if a request with these credentials is authorised in this way. */
const suffices = (given: Node, way: Node): boolean =>
  Object.entries<string[]>(way).every(
    ([name, scopes]) => given[name] && scopes.every((scope) => given[name].includes(scope)),
  );
