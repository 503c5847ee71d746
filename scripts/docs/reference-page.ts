// Renders the API reference as a page: the text of each operation beside its samples, errors folded.
import { EXAMPLE_URL } from "../../server/http/docs/fill.ts";
import { exampleOf, operationsOf, type Json, type Operation } from "./contract.ts";
import { codeBlock, escapeHtml, inlineHtml, toHtml } from "./html.ts";
import type { Sample } from "./samples.ts";

const json = (value: unknown) => JSON.stringify(value, null, 2);
const schemaOf = (part: Json): Json => part["content"]?.["application/json"]?.["schema"] ?? {};

/** Returns the body of the page, from the resolved contract. A live server removes the text between the marks for the sandbox. */
export function referencePage(document: Json, samples: readonly Sample[]): string {
  const all = operationsOf(document["paths"]);
  const groups = (document["tags"] as Json[]).map(({ name, description }) => {
    const operations = all.filter(({ operation }) => operation["tags"].includes(name));
    const html = `<h2 id="${name.toLowerCase()}">${name}</h2>\n${toHtml(description, "")}${operations
      .map((each) => operationHtml(each, samples))
      .join("")}`;
    return { name, links: linksTo(operations), html };
  });
  const webhooks = operationsOf(document["webhooks"]).map(webhookHtml);
  return [
    INTRODUCTION,
    `<nav class="operations" aria-label="Operations">\n${groups.map(({ name, links }) => inSandbox(name, links)).join("")}</nav>\n`,
    setUps(samples),
    ...groups.map(({ name, html }) => inSandbox(name, html)),
    `<h2 id="webhooks">Webhooks</h2>\n${toHtml(WEBHOOKS, "")}`,
    ...webhooks,
  ].join("");
}

/** Marks what a live server leaves out. */
const inSandbox = (name: string, html: string) =>
  name === "Sandbox" ? `<!-- sandbox -->\n${html}<!-- end sandbox -->\n` : html;

const linksTo = (operations: readonly Operation[]) =>
  `<ul>\n${operations
    .map(
      ({ method, path, operation: { operationId } }) =>
        `<li><a href="#${operationId}"><span class="method">${method}</span> <code>${path}</code></a></li>\n`,
    )
    .join("")}</ul>\n`;

const INTRODUCTION = `<h1 id="api-reference">API reference</h1>
<p>Send your API key in the <code>x-api-key</code> header. Bodies are JSON. <a href="contract">The contract</a> has the
rules in words, <a href="errors">Errors</a> says what each error means for your money, and the
<a href="../openapi.json">OpenAPI document</a> has all of this for programs, the
<a href="../postman.json">Postman collection</a> has the payments, and <a href="../llms-full.txt">one text</a> has what a
program needs to write an integration.</p>
<form class="key" hidden>
<label for="key">To send requests from this page, enter your API key</label>
<input id="key" type="password" autocomplete="off" spellcheck="false">
<p>Requests go to this server only. The key stays in this page, and is forgotten when you close it.</p>
</form>
`;

const WEBHOOKS = "The service sends these to your `webhookURL`. [Webhooks](webhooks.md) shows how to verify them.";

const setUps = (samples: readonly Sample[]) =>
  `<h2 id="before-the-samples">Before the samples</h2>\n<p>The samples read the key from <code>API_KEY</code>, and all but
those for curl the server's address from <code>BASE_URL</code>, which is <code>${EXAMPLE_URL}</code> here. They begin with:</p>\n${samples
    .map(({ name, id, setUp }, index) => folded("set-up", name, codeBlock(setUp, id), index === 0))
    .join("")}`;

/** A part that a reader can unfold. Only one part of a group is unfolded at a time. */
const folded = (group: string, title: string, html: string, isOpen = false) =>
  `<details name="${group}"${isOpen ? " open" : ""}>\n<summary>${title}</summary>\n${html}</details>\n`;

function operationHtml({ method, path, operation }: Operation, samples: readonly Sample[]): string {
  const { operationId: id, summary, description, requestBody, parameters = [], responses } = operation;
  const places = [...new Set<string>(parameters.map((parameter: Json) => parameter["in"]))];
  const success = responses["200"];
  const body = exampleOf(requestBody);
  const parts = [
    ...places.map((place) => {
      const named = parameters.filter((parameter: Json) => parameter["in"] === place);
      return `<h4>${place === "path" ? "In the path" : "In the query"}</h4>\n${parameterList(named)}`;
    }),
    requestBody ? `<h4>Request body</h4>\n${fieldList(schemaOf(requestBody))}` : "",
    `<details>\n<summary>Fields of the response</summary>\n${fieldList(schemaOf(success))}</details>\n`,
    errorsOf(responses),
  ];
  const code = [
    folded(id, "curl", codeBlock(curlOf(method, path, body), "sh"), true),
    ...samples.flatMap((sample) => {
      const part = sample.parts.get(id);
      return part === undefined ? [] : [folded(id, sample.name, codeBlock(part, sample.id))];
    }),
    `<h4>Response</h4>\n${codeBlock(json(exampleOf(success)), "json")}`,
    tryOf(method, path, parameters, body, id),
  ];
  return section({
    id,
    summary,
    method,
    path,
    text: toHtml(description ?? "", "") + parts.join(""),
    code: code.join(""),
  });
}

function webhookHtml({ method, path, operation }: Operation): string {
  const { operationId: id, summary, description, requestBody, parameters = [] } = operation;
  const headers = `<details>\n<summary>Headers</summary>\n${parameterList(parameters)}</details>\n`;
  const fields = fieldList(schemaOf(requestBody));
  const text = `${toHtml(description, "")}${headers}<details>\n<summary>Fields of the body</summary>\n${fields}</details>\n`;
  const code = `<h4>Body</h4>\n${codeBlock(json(exampleOf(requestBody)), "json")}`;
  return section({ id, summary, method, path, text, code });
}

const section = (shown: Record<"id" | "summary" | "method" | "path" | "text" | "code", string>) =>
  `<section class="operation" aria-labelledby="${shown.id}">
<div>
<h3 id="${shown.id}">${shown.summary}</h3>
<p class="address"><span class="method">${shown.method}</span> <code>${shown.path}</code></p>
${shown.text}</div>
<div class="samples">
${shown.code}</div>
</section>
`;

function errorsOf(responses: Json): string {
  const failures = Object.entries<Json>(responses).filter(([status]) => status !== "200");
  const rows = failures.map(([status, response]) => {
    const code = exampleOf(response)?.["code"];
    return `<dt>${status}${code ? ` <code>${code}</code>` : ""}</dt>\n<dd>${toHtml(response["description"], "")}</dd>\n`;
  });
  const statuses = failures.map(([status]) => status).join(" ");
  return `<details>\n<summary>Errors <small>${statuses}</small></summary>\n<dl>\n${rows.join("")}</dl>\n</details>\n`;
}

/** The properties of a schema as a list, with the properties of objects inside it. */
function fieldList(schema: Json): string {
  const { properties = {}, required = [] } = schema;
  const items = Object.entries<Json>(properties).map(([name, part]) => fieldItem(name, part, required.includes(name)));
  return `<ul class="fields">\n${items.join("")}</ul>\n`;
}

/** The parameters of an operation. */
const parameterList = (parameters: readonly Json[]): string =>
  `<ul class="fields">\n${parameters
    .map(({ name, schema, description, required }) => fieldItem(name, { ...schema, description }, required === true))
    .join("")}</ul>\n`;

function fieldItem(name: string, given: Json, isRequired: boolean): string {
  // An open list of values is anyOf a closed list and any string.
  const schema = given["anyOf"] ? { ...given["anyOf"][0], ...given } : given;
  const element = schema["type"] === "array" ? schema["items"] : schema;
  const facts = [typeOf(schema), isRequired ? "required" : "", ...limitsOf(schema)].filter(Boolean);
  const nested = element["properties"] ? fieldList(element) : "";
  const text = schema["description"] ? toHtml(schema["description"], "") : "";
  return `<li><code>${escapeHtml(name)}</code> <small>${facts.join(" · ")}</small>\n${text}${nested}</li>\n`;
}

function typeOf(schema: Json): string {
  const { type, oneOf, items, format } = schema;
  if (type === "array") return `array of ${typeOf(items)}s`;
  if (oneOf) return typeOf(oneOf[0]);
  return format === "date-time" ? "timestamp" : Array.isArray(type) ? type.join(" or ") : (type ?? "any value");
}

const code = (value: unknown) => `<code>${escapeHtml(String(value))}</code>`;

/** What a value must be, in words. */
function limitsOf(schema: Json): string[] {
  const { enum: values, anyOf, minimum, maximum, maxLength, default: preset, "x-expects": expects } = schema;
  const limits: string[] = [];
  if (values) limits.push(values.map(code).join(", "));
  if (schema["const"] !== undefined) limits.push(code(schema["const"]));
  if (expects) limits.push(inlineHtml(expects));
  else if (maxLength) limits.push(`at most ${maxLength} characters`);
  if (minimum !== undefined && maximum !== undefined) limits.push(`${minimum} to ${maximum}`);
  else if (minimum !== undefined) limits.push(`at least ${minimum}`);
  if (preset !== undefined) limits.push(`default ${code(preset)}`);
  if (anyOf) limits.push("values may be added");
  return limits;
}

/** The name of the shell's variable that stands for a value in the path. */
const variableOf = (name: string, path: string) =>
  name === "id" ? (path.includes("/merchants/") ? "MERCHANT" : "DELIVERY") : name.toUpperCase();

/** The sample for curl: a command that sends the request. */
export function curlOf(method: string, path: string, body: Json | undefined): string {
  const target = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => `$${variableOf(name, path)}`);
  // curl sends GET without a body, and POST with one.
  const option = method === (body ? "POST" : "GET") ? "" : `-X ${method} `;
  const lines = [`curl -sS ${option}${EXAMPLE_URL}${target}`, `-H "x-api-key: $API_KEY"`];
  if (body) lines.push("-H 'content-type: application/json'", `-d '${json(body).replaceAll("'", "'\\''")}'`);
  return lines.join(" \\\n  ");
}

/** A form that sends the request. It is hidden until the script of the page shows it. */
function tryOf(method: string, path: string, parameters: readonly Json[], body: Json | undefined, id: string): string {
  const field = (name: string, html: string) => `<label for="${id}-${name}">${escapeHtml(name)}</label>\n${html}\n`;
  const inputs = parameters.map(({ name, in: place, required }) =>
    field(name, `<input id="${id}-${name}" name="${name}" data-in="${place}"${required ? " required" : ""}>`),
  );
  const text =
    body &&
    `<textarea id="${id}-body" name="body" rows="${json(body).split("\n").length}" spellcheck="false">\n${escapeHtml(json(body))}</textarea>`;
  return `<details class="try" hidden>
<summary>Send this request</summary>
<form data-method="${method}" data-path="${path}">
${inputs.join("")}${text ? field("body", text) : ""}<button>Send</button>
<output></output>
</form>
</details>
`;
}
