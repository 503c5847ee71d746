type Json = Record<string, any>;

const METHODS = new Set(["get", "post", "put", "patch", "delete"]);

/** The contract's operations and webhooks as Markdown, for programs and for people without scripts. */
export function referenceMarkdown(document: Json): string {
  const resolve = (part: Json): Json =>
    part?.$ref === undefined
      ? part
      : part.$ref
          .slice(2)
          .split("/")
          .reduce((node: Json, key: string) => node[key], document);
  const operations = (items: Json): [string, Json][] =>
    Object.entries<Json>(items).flatMap(([name, item]) =>
      Object.entries<Json>(item)
        .filter(([method]) => METHODS.has(method))
        .map(([method, operation]): [string, Json] => [`${method.toUpperCase()} ${name}`, operation]),
    );

  const example = (what: string, { content }: Json) => {
    const [first] = Object.values<Json>(content?.["application/json"]?.examples ?? {});
    return first === undefined ? [] : [what, code(resolve(first).value)];
  };
  const describe = ([title, operation]: [string, Json]) => [
    `### ${title}`,
    `${operation.summary}.`,
    operation.description?.trim() ?? "",
    (operation.parameters ?? []).map(resolve).map(parameterLine).join("\n"),
    ...(operation.requestBody ? example("Body:", resolve(operation.requestBody)) : []),
    ...(operation.responses["200"] ? example("Response:", resolve(operation.responses["200"])) : []),
    `Statuses: ${Object.keys(operation.responses).join(", ")}.`,
  ];

  const blocks = [
    "# API reference",
    "Every operation of the contract, with an example. The [OpenAPI document](../openapi.json) has every field, type and " +
      "limit, also as [YAML](../openapi.yaml). [The contract](contract.md) has the rules in words.",
    "Send your API key in the `x-api-key` header. Bodies are JSON.",
    "## Operations",
    ...operations(document.paths).flatMap(describe),
    "## Webhooks",
    "The service sends these to your `webhookURL`. [Webhooks](webhooks.md) shows how to verify them.",
    ...operations(document.webhooks).flatMap(describe),
  ];
  return `${blocks.filter((block) => block !== "").join("\n\n")}\n`;
}

const parameterLine = ({ name, in: place, required, description }: Json) =>
  `- \`${name}\` (${place}${required ? ", required" : ""}): ${description.trim().replaceAll("\n", " ")}`;

const code = (value: unknown) => `\`\`\`json\n${JSON.stringify(value, null, 2)}\n\`\`\``;
