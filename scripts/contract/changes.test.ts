import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { parse } from "yaml";
import type { Contract, Node } from "./comparison.ts";
import { compareContracts } from "./compare.ts";
import type { Verdict } from "./verdicts.ts";

interface Edit {
  at: (string | number)[];
  value?: unknown;
  /** If set, the value is moved from this place. */
  from?: (string | number)[];
}

interface Example {
  name: string;
  edit: Edit[];
  expect: Record<string, Verdict>;
}

const text = await readFile(new URL("../../spec/openapi.yaml", import.meta.url), "utf8");
const current: Contract = parse(text);
const examples: Example[] = parse(await readFile(new URL("changes.yaml", import.meta.url), "utf8"));

const find = (document: Node, path: (string | number)[]): Node =>
  path.reduce((node, name) => (node[name] ??= {}), document);

function remove(document: Node, path: (string | number)[]): void {
  const [parent, name] = [find(document, path.slice(0, -1)), path.at(-1)!];
  if (!(name in parent)) throw new Error(`There is nothing at ${path.join("/")}.`);
  if (Array.isArray(parent)) parent.splice(Number(name), 1);
  else delete parent[name];
}

function edited(edits: Edit[]): Contract {
  const document = structuredClone(current);
  for (const { at, from, value = from && structuredClone(find(document, from)) } of edits) {
    if (from) remove(document, from);
    if (value === undefined) remove(document, at);
    else {
      const [parent, name] = [find(document, at.slice(0, -1)), at.at(-1)!];
      parent[name === "-" ? parent.length : name] = value;
    }
  }
  return document;
}

const ORDER: Verdict[] = ["compatible", "unclear", "breaking"];

/** The worst verdict at each place. */
function verdicts(after: Contract): Record<string, Verdict> {
  const worst: Record<string, Verdict> = {};
  for (const { where, verdict } of compareContracts(current, after)) {
    const known = worst[where] ?? "compatible";
    worst[where] = ORDER.indexOf(verdict) > ORDER.indexOf(known) ? verdict : known;
  }
  return worst;
}

test("the contract does not differ from itself", () => {
  expect(compareContracts(current, structuredClone(current))).toEqual([]);
});

test.each(examples)("judges the change when $name", ({ edit, expect: expected }) => {
  expect(verdicts(edited(edit))).toEqual(expected);
});

/** One place in the contract for each name that occurs in it. */
function samples(): (string | number)[][] {
  const found = new Map<string, (string | number)[]>();
  const visit = (value: unknown, path: (string | number)[]) => {
    const kind = String(typeof path.at(-1) === "number" ? path.at(-2) : path.at(-1));
    if (!found.has(kind)) found.set(kind, path);
    if (typeof value !== "object" || value === null) return;
    for (const [name, child] of Object.entries(value))
      visit(child, [...path, Array.isArray(value) ? Number(name) : name]);
  };
  visit(current, []);
  return [...found.values()].filter((path) => path.length > 0);
}

test("no change goes unnoticed, whatever is removed", () => {
  const unnoticed = samples().filter((path) => {
    const after = edited([{ at: path }]);
    try {
      return compareContracts(current, after).length === 0;
    } catch (error) {
      // A component that is still referenced cannot be removed.
      return !(error as Error).message.includes("leads to no component");
    }
  });
  expect(unnoticed).toEqual([]);
});
