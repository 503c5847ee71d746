export type Json = Record<string, any>;

const METHODS = new Set(["get", "post", "put", "patch", "delete"]);

/** An operation of the contract, or a webhook with its event in place of the path. */
export interface Operation {
  method: string;
  path: string;
  operation: Json;
}

/**
 * Returns the part of the document that a reference leads to. Keywords beside the reference take precedence over the
 * keywords that it leads to.
 */
export function resolverOf(document: Json): (part: Json) => Json {
  const resolve = (part: Json): Json => {
    if (part?.$ref === undefined) return part;
    const { $ref, ...beside } = part;
    const target = $ref
      .slice(2)
      .split("/")
      .reduce((node: Json, key: string) => node[key], document);
    return { ...resolve(target), ...beside };
  };
  return resolve;
}

/** @param items the `paths` or the `webhooks` of a document */
export const operationsOf = (items: Json): Operation[] =>
  Object.entries<Json>(items).flatMap(([path, item]) =>
    Object.entries<Json>(item)
      .filter(([method]) => METHODS.has(method))
      .map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );

/** The first example of a body; undefined if there is none. */
export function exampleOf(resolve: (part: Json) => Json, part: Json): Json | undefined {
  const [first] = Object.values<Json>(resolve(part).content?.["application/json"]?.examples ?? {});
  return first === undefined ? undefined : resolve(first)["value"];
}
