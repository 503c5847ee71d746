import { isDeepStrictEqual } from "node:util";
import { inside, RULES, type Change, type Place, type RuleName } from "./verdicts.ts";

export type Node = Record<string, any>;

/** One version of the contract: an OpenAPI 3.1 document. */
export type Contract = Node;

/** The state of a comparison of two versions. */
export class Comparison {
  readonly changes: Change[] = [];
  readonly before: Contract;
  readonly after: Contract;
  readonly #compared = new Set<string>();

  constructor(before: Contract, after: Contract) {
    this.before = before;
    this.after = after;
  }

  report(rule: RuleName, place: Place, values: { before?: unknown; after?: unknown } = {}): void {
    this.changes.push({ ...place, rule, verdict: RULES[rule][place.writer], ...values });
  }

  /** True for the first call with this place. A component is compared once for each writer of its values. */
  isFirst({ where, writer }: Place): boolean {
    const key = `${writer} ${where}`;
    if (this.#compared.has(key)) return false;
    this.#compared.add(key);
    return true;
  }

  /** True if a component was compared as such. */
  hasCompared(component: string): boolean {
    return this.#compared.has(`merchant ${component}`) || this.#compared.has(`service ${component}`);
  }

  /**
   * Compares two objects, or the components to which two references lead. Two references to one component are compared
   * at the component's own place.
   */
  resolved(before: Node, after: Node, place: Place, compare: (before: Node, after: Node, place: Place) => void): void {
    const name = before.$ref === after.$ref && componentName(before.$ref);
    const at = name ? { ...place, where: name } : place;
    const guard = name ? at : { ...at, where: `${at.where} ${before.$ref} ${after.$ref}` };
    if ((before.$ref || after.$ref) && !this.isFirst(guard)) return;
    compare(resolve(this.before, before), resolve(this.after, after), at);
  }

  /**
   * Compares objects keyword by keyword. A keyword without a handler counts as a text if it begins with `x-`, and as
   * unknown otherwise, so that every change is noticed.
   */
  keywords(before: Node, after: Node, place: Place, handlers: Handlers): void {
    for (const keyword of new Set([...Object.keys(before), ...Object.keys(after)])) {
      const values = { before: before[keyword], after: after[keyword] };
      const handler = handlers[keyword] ?? (keyword.startsWith("x-") ? "text" : "unknown");
      if (typeof handler === "function") handler(values, inside(place, keyword));
      else if (handler === "elsewhere") continue;
      else if (!isDeepStrictEqual(values.before, values.after)) this.report(handler, inside(place, keyword), values);
    }
  }

  /** Compares named things that may come and go, such as properties or parameters. */
  members(before: Members, after: Members, place: Place, isClosed = false): { name: string; both: [Node, Node] }[] {
    const kept: { name: string; both: [Node, Node] }[] = [];
    for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
      const [old, young] = [before[name], after[name]];
      const at = inside(place, name);
      if (!young) this.report("removed", at);
      else if (!old) this.report(isClosed ? "addedToClosed" : young.required ? "addedRequired" : "added", at);
      else {
        if (old.required !== young.required) this.report(young.required ? "nowRequired" : "nowOptional", at);
        kept.push({ name, both: [old.value, young.value] });
      }
    }
    return kept;
  }
}

/**
 * What to do with a keyword: a rule for each change of its value, a function that looks closer, or nothing because the
 * keyword is compared elsewhere.
 */
export type Handlers = Record<string, RuleName | "elsewhere" | Handler>;
type Handler = (values: { before: any; after: any }, place: Place) => void;

export type Members = Record<string, { required: boolean; value: Node }>;

/** `schemas/Amount` for `#/components/schemas/Amount`. */
export const componentName = (ref: string | undefined): string | undefined =>
  /^#\/components\/(.+)$/.exec(ref ?? "")?.[1];

/** The object that a reference leads to. @throws Error if it leads nowhere or out of the document */
export function resolve(contract: Contract, node: Node): Node {
  if (typeof node.$ref !== "string") return node;
  const [group, name] = componentName(node.$ref)?.split("/") ?? [];
  const target = contract.components?.[group!]?.[name!];
  if (!target) throw new Error(`The reference ${node.$ref} leads to no component of the document.`);
  return resolve(contract, target);
}

/** The entries of two objects by their names. */
export function pairs<T>(before: Record<string, T> = {}, after: Record<string, T> = {}): [string, T?, T?][] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].map((name) => [name, before[name], after[name]]);
}
