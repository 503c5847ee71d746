import { isDeepStrictEqual } from "node:util";
import {
  createComparison,
  elsewhere,
  namesOf,
  resolve,
  type Compare,
  type Contract,
  type Handlers,
  type Members,
  type Node,
} from "./comparison.ts";
import { schemaComparison } from "./schemas.ts";
import { other, type Change, type Place, type Writer } from "./verdicts.ts";

const METHODS = ["get", "put", "post", "delete", "options", "head", "patch", "trace"];
const TEXTS: Handlers = Object.fromEntries(
  "summary description example examples deprecated externalDocs".split(" ").map((name) => [name, "text"]),
);

/**
 * Finds and judges every change between two versions of the contract, both OpenAPI 3.1 documents.
 * @throws Error if a reference leads nowhere
 */
export function compareContracts(before: Contract, after: Contract): Change[] {
  const comparison = createComparison(before, after);
  const { changes, report, keywords, each, members, resolved, hasCompared } = comparison;
  const schema = schemaComparison(comparison);
  const content = each("contentType", keywords({ ...TEXTS, schema }));

  const parameter = resolved(
    keywords({
      ...TEXTS,
      name: "text",
      in: elsewhere,
      required: elsewhere,
      allowReserved: "encoding",
      schema,
      content,
    }),
  );
  const parameters: Compare = (old, young, place) =>
    members(parametersOf(before, old), parametersOf(after, young), place, parameter);
  const headers: Compare = (old, young, place) =>
    members(headersOf(before, old), headersOf(after, young), place, parameter);
  const body = resolved(keywords({ ...TEXTS, required: elsewhere, content }));
  const links = each("link", keywords({ description: "text" }, "linkRemoved"));
  const response = resolved(keywords({ ...TEXTS, headers, content, links }));
  const statuses = each((status) => (/^[123]/.test(status) ? "successStatus" : "errorStatus"), response);

  const keywordsOfOperation = keywords({
    ...TEXTS,
    parameters,
    requestBody: elsewhere,
    // The receiver of the request writes the response.
    responses: (old, young, { where, writer }) => statuses(old, young, { where, writer: other(writer) }),
    operationId: "renamed",
    tags: "grouped",
    security: "authorised",
  });
  const operation: Compare = (old, young, place) => {
    members(bodyOf(before, old), bodyOf(after, young), place, body);
    keywordsOfOperation(old, young, place);
  };
  const ofOperations = Object.fromEntries([...METHODS, "parameters"].map((name) => [name, elsewhere]));

  /** Compares `paths`, to which merchants send requests, or `webhooks`, which the service sends. */
  function operations(name: "paths" | "webhooks", writer: Writer) {
    const [old, young]: [Node, Node] = [before[name] ?? {}, after[name] ?? {}];
    each("operation", operation)(operationsOf(old), operationsOf(young), { where: "", writer });
    for (const path of namesOf(old, young))
      keywords({ ...TEXTS, ...ofOperations })(old[path] ?? {}, young[path] ?? {}, { where: path, writer });
  }

  /** Reports what the comparison of the operations does not cover: names of types, API keys, and unused components. */
  function components(old: Node = {}, young: Node = {}) {
    for (const group of namesOf(old, young)) {
      for (const name of namesOf(old[group], young[group])) {
        const place: Place = { where: `${group}/${name}`, writer: "merchant" };
        const [was, is] = [old[group]?.[name], young[group]?.[name]];
        if (isDeepStrictEqual(was, is) || hasCompared(place.where)) continue;
        if (group === "securitySchemes") keywords({ description: "text" }, "different")(was ?? {}, is ?? {}, place);
        else if (group === "schemas" && !(was && is)) report(was ? "typeRemoved" : "typeAdded", place);
        else report("text", place);
      }
    }
  }

  operations("paths", "merchant");
  operations("webhooks", "service");
  keywords({
    openapi: "text",
    info: "text",
    tags: "text",
    externalDocs: "text",
    paths: elsewhere,
    webhooks: elsewhere,
    security: "authorised",
    servers: (old, young, place) => each("server", keywords({}, "text"))(byUrl(old), byUrl(young), place),
    components,
  })(before, after, { where: "document", writer: "service" });
  return changes;
}

const byUrl = (servers: Node[] = []) => Object.fromEntries(servers.map((server) => [server.url, server]));

/** The operations by method and path, with the parameters of their path. */
function operationsOf(paths: Node): Node {
  const found = Object.entries<Node>(paths).flatMap(([path, item]) =>
    METHODS.filter((method) => item[method]).map((method) => {
      const parameters = [...(item.parameters ?? []), ...(item[method].parameters ?? [])];
      return [`${method.toUpperCase()} ${path}`, { ...item[method], parameters }];
    }),
  );
  return Object.fromEntries(found);
}

/** Something that is required if its keyword `required` says so, or if the component to which it refers does. */
const memberOf = (contract: Contract, value: Node) => ({ required: resolve(contract, value).required === true, value });

function parametersOf(contract: Contract, parameters: Node[] = []): Members {
  const named = parameters.map((parameter) => {
    const { name, in: location } = resolve(contract, parameter);
    // Header names are case-insensitive.
    return [`${location} ${location === "header" ? name.toLowerCase() : name}`, memberOf(contract, parameter)];
  });
  return Object.fromEntries(named);
}

const bodyOf = (contract: Contract, { requestBody }: Node): Members =>
  requestBody ? { requestBody: memberOf(contract, requestBody) } : {};

const headersOf = (contract: Contract, headers: Node = {}): Members =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), memberOf(contract, value)]));
