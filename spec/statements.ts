// The statements of the interface document, and where openapi.yaml and requirements.yaml meet them.
import { readFile } from "node:fs/promises";
import { isDeepStrictEqual } from "node:util";
import { parse } from "yaml";

type Node = Record<string, unknown>;

/** An entry of statements.yaml, which explains the fields. */
export interface Statement {
  id: string;
  section: string;
  says: string;
  where: (string | Record<string, unknown>)[];
  requirements?: string[];
  restates?: string;
  untested?: string;
}
export interface Requirement {
  id: string;
  section?: string;
  profile: string;
}

const read = async (name: string): Promise<unknown> => parse(await readFile(new URL(name, import.meta.url), "utf8"));

export const document = (await read("openapi.yaml")) as Node;
export const requirements = (await read("requirements.yaml")) as Requirement[];
export const statements = (await read("statements.yaml")) as Statement[];

/** The pointers of a statement, each with the value that must be there, if any. */
export function placesOf({ where }: Statement): [pointer: string, value: unknown][] {
  return where.flatMap((place) => (typeof place === "string" ? [[place, undefined]] : Object.entries(place)));
}

/**
 * The part of the document at a JSON pointer, and the sections that mark the part or, if it has no mark, its closest
 * marked ancestor. A pointer may lead through $ref; a reference and its target are marked together.
 */
export function resolve(pointer: string): { part: unknown; sections: string[] } {
  let chain: Node[] = [document];
  let part: unknown = document;
  let sections: string[] = [];
  let sources: Node = {};
  for (const token of pointer.split("/").slice(1)) {
    const name = token.replaceAll("~1", "/").replaceAll("~0", "~");
    part = chain.find((node) => Object.hasOwn(node, name))?.[name];
    chain = withTargets(part);
    const marked = chain.filter((node) => node["x-interface"] ?? node["x-decision"]);
    if (marked.length > 0) sections = marked.flatMap((node) => cited(node["x-interface"]));
    sources = (chain.find((node) => node["x-sources"])?.["x-sources"] as Node) ?? sources;
    if (/\/responses\/\d+$/.test(pointer) && sources[name]) sections = cited(sources[name]);
  }
  return { part, sections };
}

/**
 * A node, the target of its $ref, the target of that target's $ref, and so on; empty if the node is not an object. The
 * target of an open list of values is the list.
 */
function withTargets(node: unknown): Node[] {
  if (typeof node !== "object" || node === null) return [];
  const { $ref, anyOf } = node as Node & { anyOf?: unknown[] };
  return [node as Node, ...withTargets(typeof $ref === "string" ? resolve($ref).part : anyOf?.[0])];
}

function cited(mark: unknown): string[] {
  return typeof mark === "string" ? (mark.match(/§[\d.]+/g) ?? []) : [];
}

/** Whether a part of the document has the value: a text or list contains the value, and any other part equals it. */
export function has(part: unknown, value: unknown): boolean {
  if (value === undefined) return part !== undefined;
  if (typeof part === "string") return part.replaceAll(/\s+/g, " ").includes(String(value));
  if (Array.isArray(part)) return [value].flat().every((each) => part.includes(each));
  return isDeepStrictEqual(part, value);
}

/**
 * The sections under which requirements may judge a statement: its own sections, and the sections of the statement that
 * it restates.
 */
export function sectionsOf({ section, restates }: Statement): string[] {
  return restates ? [section, ...sectionsOf(statementOf(restates))] : [section];
}

/** The ids of the requirements that judge a statement. */
export function judgesOf({ requirements: own = [], restates }: Statement): string[] {
  return restates ? [...own, ...judgesOf(statementOf(restates))] : own;
}

function statementOf(id: string): Statement {
  const statement = statements.find((each) => each.id === id);
  if (!statement) throw new Error(`There is no statement ${id} to restate.`);
  return statement;
}
