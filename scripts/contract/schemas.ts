import { isDeepStrictEqual } from "node:util";
import {
  componentName,
  elsewhere,
  resolve,
  type Compare,
  type Comparison,
  type Contract,
  type Members,
  type Node,
} from "./comparison.ts";
import { inside, type Place, type RuleName } from "./verdicts.ts";

const TYPES = ["null", "boolean", "object", "array", "number", "string", "integer"];

/** Returns the function that compares the values that two schemas accept. */
export function schemaComparison({ before, after, report, keywords, each, members, resolved }: Comparison): Compare {
  /** Compares schemas. `true`, or no schema, accepts every value; `false` accepts no value. */
  const schema: Compare = (old = true, young = true, place) => {
    if (old === young) return;
    if (old === false || young === false) return report(old === false ? "wider" : "narrower", place);
    constraints(old === true ? {} : old, young === true ? {} : young, place);
  };

  const judgedBy =
    (judge: Judge): Compare =>
    (old, young, place) => {
      const rule = isDeepStrictEqual(old, young) ? undefined : judge(old, young);
      if (rule) report(rule, place, { before: old, after: young });
    };

  function values(old: Listed | undefined, young: Listed | undefined, place: Place): void {
    if (!old && !young) return;
    const at = inside(place, (old ?? young)!.isConstant ? "const" : "enum");
    if (!old || !young) return report(old ? "wider" : "narrower", at);
    const added = young.values.filter((value) => !old.values.includes(value));
    const removed = old.values.filter((value) => !young.values.includes(value));
    if (old.isOpen !== young.isOpen) report(young.isOpen ? "listOpened" : "listClosed", at);
    if (old.isConstant && added.length > 0)
      return report(removed.length > 0 ? "different" : "wider", at, { before: old.values[0], after: young.values });
    for (const value of removed) report("valueRemoved", at, { before: value });
    for (const value of added) report("valueAdded", at, { after: value });
  }

  /** Compares the branches of `oneOf` or `anyOf`: by their reference, or else by what they contain. */
  const alternatives =
    (isDiscriminated: boolean): Compare =>
    (old: Node[] | undefined, young: Node[] | undefined, place) => {
      if (old && young) each(isDiscriminated ? "value" : "branch", schema)(byKey(old), byKey(young), place);
      else report(old ? "wider" : "narrower", place);
    };

  const constraints = resolved((was: Node, is: Node, place) => {
    const [old, young] = [withOpenList(before, was), withOpenList(after, is)];
    values(listed(old), listed(young), place);
    const isClosed = old.additionalProperties === false;
    members(propertiesOf(old), propertiesOf(young), inside(place, "properties"), schema, isClosed);
    const branches = alternatives(Boolean(young.discriminator));
    keywords({
      ...Object.fromEntries(Object.entries(JUDGES).map(([keyword, judge]) => [keyword, judgedBy(judge)])),
      ...Object.fromEntries(TEXTS.map((keyword) => [keyword, "text"])),
      enum: elsewhere,
      const: elsewhere,
      [OPEN]: elsewhere,
      properties: elsewhere,
      required: elsewhere,
      default: "defaultChanged",
      items: schema,
      additionalProperties: schema,
      oneOf: branches,
      anyOf: branches,
      discriminator: (one = {}, other = {}, at) => discriminator(one, other, at),
    })(old, young, place);
  });

  const discriminator = keywords({
    propertyName: "different",
    mapping: each("value", (old, young, place) => {
      if (old !== young) report("different", place, { before: old, after: young });
    }),
  });

  return schema;
}

const TEXTS = "title description example examples deprecated externalDocs $comment".split(" ");

/** A list of values: an enum, which can get further values, or a constant, which cannot. */
interface Listed {
  values: unknown[];
  isConstant: boolean;
  isOpen: boolean;
}

function listed(schema: Node): Listed | undefined {
  if ("const" in schema) return { values: [schema.const], isConstant: true, isOpen: false };
  return schema.enum && { values: schema.enum, isConstant: false, isOpen: schema[OPEN] === true };
}

/** Marks a list of values that later versions may extend. */
const OPEN = "x-open-list";

/** Turns `anyOf` a list of values and any string into the list, marked as open. */
function withOpenList(contract: Contract, schema: Node): Node {
  const { anyOf, ...beside } = schema;
  const [list, any, ...more]: Node[] = (anyOf ?? []).map((branch: Node) => resolve(contract, branch));
  const isOpen = list?.enum && more.length === 0 && isDeepStrictEqual(any, { type: "string" });
  return isOpen ? { ...list, ...beside, [OPEN]: true } : schema;
}

function propertiesOf({ properties = {}, required = [] }: Node): Members {
  const names = new Set([...Object.keys(properties), ...required]);
  return Object.fromEntries(
    [...names].map((name) => [name, { required: required.includes(name), value: properties[name] ?? true }]),
  );
}

const byKey = (branches: Node[]) =>
  Object.fromEntries(branches.map((branch) => [componentName(branch.$ref) ?? JSON.stringify(branch), branch]));

type Judge = (before: any, after: any) => RuleName | undefined;

function judgeTypes(before: string | string[] = TYPES, after: string | string[] = TYPES): RuleName | undefined {
  const [old, young] = [before, after].map((types) => new Set([types].flat()));
  // Every integer is a number.
  for (const types of [old!, young!]) if (types.has("number")) types.add("integer");
  const isWider = ![...young!].every((type) => old!.has(type));
  const isNarrower = ![...old!].every((type) => young!.has(type));
  if (isWider && isNarrower) return "different";
  return isWider ? "wider" : isNarrower ? "narrower" : undefined;
}

const judgePresence = (before: unknown, after: unknown): RuleName =>
  before === undefined ? "narrower" : after === undefined ? "wider" : "incomparable";
const judgeFormats = (before: unknown, after: unknown) =>
  before === undefined ? "formatAdded" : judgePresence(before, after);
const judgeLowerBounds = (before = -Infinity, after = -Infinity): RuleName => (after > before ? "narrower" : "wider");
const judgeUpperBounds = (before = Infinity, after = Infinity): RuleName => (after < before ? "narrower" : "wider");

/** For each keyword, the function that judges a change of its value. */
const JUDGES: Record<string, Judge> = {
  type: judgeTypes,
  pattern: judgePresence,
  multipleOf: judgePresence,
  format: judgeFormats,
  minimum: judgeLowerBounds,
  exclusiveMinimum: judgeLowerBounds,
  minLength: judgeLowerBounds,
  minItems: judgeLowerBounds,
  minProperties: judgeLowerBounds,
  maximum: judgeUpperBounds,
  exclusiveMaximum: judgeUpperBounds,
  maxLength: judgeUpperBounds,
  maxItems: judgeUpperBounds,
  maxProperties: judgeUpperBounds,
};
