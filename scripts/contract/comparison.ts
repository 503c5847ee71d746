import { isDeepStrictEqual } from "node:util";
import { inside, RULES, type Change, type Place, type RuleName } from "./verdicts.ts";

export type Node = Record<string, any>;

/** One version of the contract: an OpenAPI 3.1 document. */
export type Contract = Node;

/** Compares a part of the contract in two versions. It is undefined in a version that does not have it. */
export type Compare = (before: any, after: any, place: Place) => void;

/** What to do with a keyword: a rule for each change of its value, or a function that looks closer. */
export type Handlers = Record<string, RuleName | Compare>;

/** For a keyword that another part of the comparison reads. */
export const elsewhere: Compare = () => undefined;

/** `schemas/Amount` for `#/components/schemas/Amount`. */
export const componentName = (ref: string | undefined): string | undefined =>
  /^#\/components\/(.+)$/.exec(ref ?? "")?.[1];

/** Follows references; what stands beside one takes precedence. @throws Error if one leads nowhere */
export function resolve(contract: Contract, { $ref, ...beside }: Node): Node {
  if (typeof $ref !== "string") return beside;
  const [group, name] = componentName($ref)?.split("/") ?? [];
  const target = contract.components?.[group!]?.[name!];
  if (!target) throw new Error(`The reference ${$ref} leads to no component of the document.`);
  return { ...resolve(contract, target), ...beside };
}

export const namesOf = (before: Node = {}, after: Node = {}): Set<string> =>
  new Set([...Object.keys(before), ...Object.keys(after)]);

/** Named things that may come and go, such as properties or parameters. */
export type Members = Record<string, { required: boolean; value: any }>;

export type Comparison = ReturnType<typeof createComparison>;

/** The ways in which parts of two versions are compared, and the changes found. */
export function createComparison(before: Contract, after: Contract) {
  const changes: Change[] = [];
  const compared = new Set<string>();

  const report = (rule: RuleName, place: Place, values: { before?: unknown; after?: unknown } = {}): void =>
    void changes.push({ ...place, rule, verdict: RULES[rule][place.writer], ...values });

  return {
    before,
    after,
    changes,
    report,

    /** True if a component was compared at its own place. */
    hasCompared: (component: string) => compared.has(`merchant ${component}`) || compared.has(`service ${component}`),

    /**
     * Compares what references lead to. Two references to one component are compared at the component's own place, once
     * for each writer of its values; then what stands beside them.
     */
    resolved: (compare: Compare): Compare =>
      function follow(old: Node, young: Node, place: Place) {
        if (!old.$ref && !young.$ref) return compare(old, young, place);
        const name = old.$ref === young.$ref && componentName(old.$ref);
        const key = `${place.writer} ${name || `${place.where} ${old.$ref} ${young.$ref}`}`;
        if (!compared.has(key)) {
          compared.add(key);
          const [was, is] = name ? [{ $ref: old.$ref }, { $ref: old.$ref }] : [old, young];
          compare(resolve(before, was), resolve(after, is), name ? { ...place, where: name } : place);
        }
        if (name) compare({ ...old, $ref: undefined }, { ...young, $ref: undefined }, place);
      },

    /** Compares objects keyword by keyword. A keyword without a handler counts as a text if it begins with `x-`. */
    keywords:
      (handlers: Handlers, otherwise: RuleName = "unknown"): Compare =>
      (old: Node, young: Node, place) => {
        for (const keyword of namesOf(old, young)) {
          const [was, is] = [old[keyword], young[keyword]];
          const handler = handlers[keyword] ?? (keyword.startsWith("x-") ? "text" : otherwise);
          if (typeof handler === "function") handler(was, is, inside(place, keyword));
          else if (!isDeepStrictEqual(was, is)) report(handler, inside(place, keyword), { before: was, after: is });
        }
      },

    /** Compares the entries of two objects by their names. @param kind `KINDAdded` and `KINDRemoved` are rules */
    each:
      (kind: Kind | ((name: string) => Kind), compare: Compare): Compare =>
      (old: Node = {}, young: Node = {}, place) => {
        for (const name of namesOf(old, young)) {
          const rule = typeof kind === "string" ? kind : kind(name);
          if (!(name in old)) report(`${rule}Added`, inside(place, name));
          else if (!(name in young)) report(`${rule}Removed`, inside(place, name));
          else compare(old[name], young[name], inside(place, name));
        }
      },

    /** Compares members that are required or optional. @param isClosed true if other members were refused */
    members(old: Members, young: Members, place: Place, compare: Compare, isClosed = false): void {
      for (const name of namesOf(old, young)) {
        const [was, is] = [old[name], young[name]];
        const at = inside(place, name);
        if (!is) report("removed", at);
        else if (!was) report(isClosed ? "addedToClosed" : is.required ? "addedRequired" : "added", at);
        else {
          if (was.required !== is.required) report(is.required ? "nowRequired" : "nowOptional", at);
          compare(was.value, is.value, at);
        }
      }
    },
  };
}

/** What can be added or removed: `operation`, because there is a rule `operationRemoved`. */
type Kind = KindOf<RuleName>;
type KindOf<Rule> = Rule extends `${infer K}Removed` ? K : never;
