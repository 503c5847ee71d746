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
  const add = (path: string, part: Node) => {
    if (!part.$ref || !path.includes("/responses/")) found.push([path, part]);
  };
  const operations = (group: string) => {
    for (const [path, methods] of Object.entries<Node>(spec[group])) {
      for (const [method, operation] of Object.entries<Node>(methods)) {
        const at = `${group}/${path}/${method}`;
        add(at, operation);
        for (const p of operation.parameters ?? []) if (!p.$ref) add(`${at}/parameters/${p.name}`, p);
        for (const [code, r] of Object.entries<Node>(operation.responses)) add(`${at}/responses/${code}`, r);
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
