import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { parse } from "yaml";

type Node = Record<string, any>;

const spec: Node = parse(await readFile(new URL("openapi.yaml", import.meta.url), "utf8"));
const decisions = await readFile(new URL("../DECISIONS.md", import.meta.url), "utf8");
const sections = /^§\d+(\.\d+)?(, §\d+(\.\d+)?)*$/;

/** Every part that needs a mark of its origin, by its path in the document. */
function parts(): [string, Node][] {
  const found: [string, Node][] = [["info", spec.info]];
  const add = (path: string, part: Node) => found.push([path, part]);
  const operations = (group: string) => {
    for (const [path, methods] of Object.entries<Node>(spec[group])) {
      for (const [method, operation] of Object.entries<Node>(methods)) {
        const at = `${group}/${path}/${method}`;
        add(at, operation);
        for (const p of operation.parameters ?? []) if (!p.$ref) add(`${at}/parameters/${p.name}`, p);
        if (operation.requestBody) add(`${at}/requestBody`, operation.requestBody);
      }
    }
  };
  operations("paths");
  operations("webhooks");
  for (const group of ["schemas", "parameters", "headers", "responses", "securitySchemes"]) {
    for (const [name, part] of Object.entries<Node>(spec.components[group])) {
      add(`${group}.${name}`, part);
      for (const [property, schema] of Object.entries<Node>(part.properties ?? {})) {
        add(`${group}.${name}.${property}`, schema);
      }
    }
  }
  return found;
}

test.each(parts())("%s names its origin", (_path, part) => {
  const marks = [part["x-interface"], part["x-decision"]].filter(Boolean);
  expect(marks).not.toEqual([]);
  if (part["x-interface"]) expect(part["x-interface"]).toMatch(sections);
  for (const id of part["x-decision"]?.split(", ") ?? []) expect(decisions).toContain(`## ${id} `);
});

const operations = Object.values<Node>(spec.paths).flatMap((item) => Object.values<Node>(item));

/** The statuses that the interface states for its three operations (§4, §5, §7). */
const STATED: Record<string, string[]> = {
  createDisbursement: ["200", "400", "401", "409", "422", "500"],
  verifyDisbursement: ["200", "401", "404", "500"],
  createCheckout: ["200", "401"],
};

test.each(operations.map((operation) => [operation.operationId as string, operation] as const))(
  "%s names the source of each status, and documents 405",
  (id, { responses, "x-sources": sources }) => {
    expect(Object.keys(sources)).toEqual(Object.keys(responses));
    expect(responses["405"]).toEqual({ $ref: "#/components/responses/MethodNotAllowed" });
    const stated = Object.keys(sources).filter((status) => sources[status].includes("§"));
    expect(stated).toEqual(STATED[id] ?? []);
    for (const source of Object.values<string>(sources).flatMap((list) => list.split(", "))) {
      if (source.startsWith("§")) expect(source).toMatch(sections);
      else expect(decisions).toContain(`## ${source} `);
    }
  },
);

test.each(["Location", "Retry-After", "Allow", "x-request-id"])("the header %s is always sent", (name) => {
  const headers = operations
    .flatMap(responsesOf)
    .map((response) => response.headers?.[name])
    .filter(Boolean);
  expect(headers).not.toEqual([]);
  for (const header of headers) {
    const { required } = header.$ref ? spec.components.headers[header.$ref.split("/").at(-1)] : header;
    expect(required).toBe(true);
  }
});

function responsesOf({ responses }: Node): Node[] {
  return Object.values<Node>(responses).map((response) =>
    response.$ref ? spec.components.responses[response.$ref.split("/").at(-1)] : response,
  );
}

test.each([
  ["ErrorCode", "Error codes"],
  ["FieldErrorCode", "Field codes"],
  ["FailureCode", "Failure codes"],
])("the introduction explains each %s in the section %s", (name, section) => {
  const { enum: codes, description } = spec.components.schemas[name];
  expect(description).toContain(`"${section}"`);
  const text = (spec.info.description as string).split(`### ${section}\n`)[1]!.split(/^##/m)[0]!;
  const rows = text.split("\n").filter((line) => line.startsWith("| `"));
  const explained = rows.flatMap((row) => row.split("|")[1]!.match(/[a-z_]+/g));
  expect(explained).toEqual(codes);
});

test("each webhook has a schema of its own, with its event name as a constant", () => {
  const { WebhookEvent, EventName } = spec.components.schemas;
  const names = Object.keys(spec.webhooks);
  expect(EventName.enum).toEqual(names);
  expect(Object.keys(WebhookEvent.discriminator.mapping)).toEqual(names);
  expect(WebhookEvent.oneOf.map(({ $ref }: Node) => $ref)).toEqual(Object.values(WebhookEvent.discriminator.mapping));
  for (const [name, { post }] of Object.entries<Node>(spec.webhooks)) {
    const { $ref } = post.requestBody.content["application/json"].schema;
    expect($ref).toBe(WebhookEvent.discriminator.mapping[name]);
    expect(spec.components.schemas[$ref.split("/").at(-1)].properties.event.const).toBe(name);
  }
});

test("every request and response body has a named example", () => {
  const bodies = JSON.stringify(spec.paths).match(/"application\/json":\{"schema"/g) ?? [];
  const examples = JSON.stringify(spec.paths).match(/"application\/json":\{"schema":\{[^}]*\},"examples":\{"/g) ?? [];
  expect(examples.length).toBe(bodies.length);
  for (const response of Object.values<Node>(spec.components.responses)) {
    const body = response.content?.["application/json"];
    if (body) expect(Object.keys(body.examples)).not.toEqual([]);
  }
});

function patternsOf(node: unknown): string[] {
  if (typeof node !== "object" || node === null) return [];
  const own = "pattern" in node && typeof node.pattern === "string" ? [node.pattern] : [];
  return [...own, ...Object.values(node).flatMap(patternsOf)];
}

// Without the `u` flag an engine reads \p{…} as literal characters. \d, \s and \w differ between languages.
test.each([...new Set(patternsOf(spec))])("every engine reads the pattern %s alike", (pattern) => {
  expect(pattern).toMatch(/^\^.*\$$/);
  expect(pattern).not.toMatch(/\\[pPdDsSwWbB]/);
  for (const flags of ["", "u"]) expect(() => new RegExp(pattern, flags)).not.toThrow();
});
