export type Json = Record<string, any>;

const METHODS = new Set(["get", "post", "put", "patch", "delete"]);

/** An operation of the contract, or a webhook with its event in place of the path. */
export interface Operation {
  method: string;
  path: string;
  operation: Json;
}

/** The document with what its references lead to in their place. Keywords beside a reference take precedence. */
export function resolved(document: Json): Json {
  const follow = (part: unknown): unknown => {
    if (typeof part !== "object" || part === null) return part;
    if (Array.isArray(part)) return part.map(follow);
    const { $ref, ...beside } = part as Json;
    if ($ref === undefined)
      return Object.fromEntries(Object.entries(beside).map(([name, each]) => [name, follow(each)]));
    const path: string[] = $ref.slice(2).split("/");
    return follow({ ...path.reduce((node, key) => node[key], document), ...beside });
  };
  return follow(document) as Json;
}

/** @param items the `paths` or the `webhooks` of a document */
export const operationsOf = (items: Json): Operation[] =>
  Object.entries<Json>(items).flatMap(([path, item]) =>
    Object.entries<Json>(item)
      .filter(([method]) => METHODS.has(method))
      .map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );

/** The first example of a body; undefined if there is none. */
export const exampleOf = (body: Json | undefined): Json | undefined =>
  Object.values<Json>(body?.["content"]?.["application/json"]?.examples ?? {})[0]?.["value"];
