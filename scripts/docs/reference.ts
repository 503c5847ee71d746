import { exampleOf, operationsOf, type Json, type Operation } from "./contract.ts";

/** The operations and webhooks of the resolved contract as Markdown, for programs. */
export function referenceParts(document: Json): string[] {
  const blocks = [
    "# API reference",
    "Every operation of the contract, with an example. The [OpenAPI document](../openapi.json) has every field, type and " +
      "limit, also as [YAML](../openapi.yaml). The [Postman collection](../postman.json) has the payments.",
    "Send your API key in the `x-api-key` header. Bodies are JSON.",
    "## Operations",
    ...operationsOf(document["paths"]).flatMap(describe),
    "## Webhooks",
    "The service sends these to your `webhookURL`. [Webhooks](webhooks.md) shows how to verify them.",
    ...operationsOf(document["webhooks"]).flatMap(describe),
  ];
  return blocks.filter((block) => block !== "");
}

const describe = ({ method, path, operation }: Operation) => [
  `### ${method} ${path}`,
  `${operation["summary"]}.`,
  operation["description"]?.trim() ?? "",
  (operation["parameters"] ?? []).map(parameterLine).join("\n"),
  fieldLines(operation["requestBody"]),
  ...example("Body:", operation["requestBody"]),
  ...example("Response:", operation["responses"]["200"]),
  `Statuses: ${Object.keys(operation["responses"]).join(", ")}.`,
];

const example = (what: string, body: Json | undefined) => {
  const value = exampleOf(body);
  return value === undefined ? [] : [what, `\`\`\`json\n${JSON.stringify(value, null, 2)}\n\`\`\``];
};

function fieldLines(body: Json | undefined): string {
  const { properties = {}, required = [] } = body?.["content"]["application/json"].schema ?? {};
  return Object.entries<Json>(properties)
    .map(([name, { type, description = "" }]) =>
      parameterLine({ name, in: type, required: required.includes(name), description }),
    )
    .join("\n");
}

const parameterLine = ({ name, in: place, required, description }: Json) =>
  `- \`${name}\` (${place}${required ? ", required" : ""}): ${description.trim().replaceAll("\n", " ")}`;
