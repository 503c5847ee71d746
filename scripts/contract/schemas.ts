import { isDeepStrictEqual } from "node:util";
import { componentName, resolve, type Comparison, type Contract, type Members, type Node } from "./comparison.ts";
import { inside, type Place, type RuleName } from "./verdicts.ts";

const TYPES = ["null", "boolean", "object", "array", "number", "string", "integer"];

/** A schema, or `true` and `false`, which accept every value and no value. */
type Schema = Node | boolean;

/** Compares the values that two schemas accept. @param place the place of the schemas, and who writes the values */
export function compareSchemas(comparison: Comparison, before: Schema, after: Schema, place: Place): void {
  if (typeof before === "boolean" || typeof after === "boolean")
    return compareBooleans(comparison, before, after, place);
  const { $ref, ...siblings } = before;
  if ($ref && $ref === after.$ref) {
    const { $ref: _, ...others } = after;
    comparison.resolved({ $ref }, { $ref }, place, (old, young, at) => compareSchemas(comparison, old, young, at));
    return compareKeywords(comparison, siblings, others, place);
  }
  if ($ref && after.$ref && !comparison.isFirst({ ...place, where: `${place.where} ${$ref} ${after.$ref}` })) return;
  const [old, young] = [
    withOpenList(comparison.before, flatten(comparison.before, before)),
    withOpenList(comparison.after, flatten(comparison.after, after)),
  ];
  compareKeywords(comparison, old, young, place);
}

function compareBooleans(comparison: Comparison, before: Schema, after: Schema, place: Place): void {
  if (before === after) return;
  if (before === false || after === false) return comparison.report(before === false ? "wider" : "narrower", place);
  const [old, young] = [before, after].map((schema) => (schema === true ? {} : schema)) as [Node, Node];
  compareSchemas(comparison, old, young, place);
}

function compareKeywords(comparison: Comparison, before: Node, after: Node, place: Place): void {
  const nested = ({ before: old = true, after: young = true }: { before: any; after: any }, at: Place) =>
    compareSchemas(comparison, old, young, at);
  const alternatives = ({ before: old, after: young }: { before: any; after: any }, at: Place) =>
    compareAlternatives(comparison, old, young, at, Boolean(after.discriminator));

  compareValues(comparison, listed(before), listed(after), place);
  compareProperties(comparison, before, after, place);
  comparison.keywords(before, after, place, {
    ...Object.fromEntries(Object.entries(JUDGES).map(([keyword, judge]) => [keyword, judgedBy(comparison, judge)])),
    enum: "elsewhere",
    const: "elsewhere",
    [OPEN]: "elsewhere",
    properties: "elsewhere",
    required: "elsewhere",
    default: "defaultChanged",
    items: nested,
    additionalProperties: nested,
    oneOf: alternatives,
    anyOf: alternatives,
    discriminator: (both, at) => compareDiscriminators(comparison, both.before, both.after, at),
    title: "text",
    description: "text",
    example: "text",
    examples: "text",
    deprecated: "text",
    externalDocs: "text",
    $comment: "text",
  });
}

type Judge = (before: any, after: any) => RuleName | undefined;

const judgedBy = (comparison: Comparison, judge: Judge) => (values: { before: any; after: any }, place: Place) => {
  if (isDeepStrictEqual(values.before, values.after)) return;
  const rule = judge(values.before, values.after);
  if (rule) comparison.report(rule, place, values);
};

interface Listed {
  values: unknown[];
  /** A constant cannot get further values; an enum can. */
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
function withOpenList(contract: Contract, { anyOf, ...schema }: Node): Node {
  const [list, any, ...more]: Node[] = (anyOf ?? []).map((branch: Node) => resolve(contract, branch));
  const isOpen = list?.enum && more.length === 0 && isDeepStrictEqual(any, { type: "string" });
  return isOpen ? { ...list, ...schema, [OPEN]: true } : { ...(anyOf && { anyOf }), ...schema };
}

function compareValues(
  comparison: Comparison,
  before: Listed | undefined,
  after: Listed | undefined,
  place: Place,
): void {
  if (!before && !after) return;
  const at = inside(place, (before ?? after)!.isConstant ? "const" : "enum");
  if (!before || !after) return comparison.report(before ? "wider" : "narrower", at);
  const added = after.values.filter((value) => !includes(before.values, value));
  const removed = before.values.filter((value) => !includes(after.values, value));
  if (before.isOpen !== after.isOpen) comparison.report(after.isOpen ? "listOpened" : "listClosed", at);
  if (before.isConstant && added.length > 0) {
    return comparison.report(removed.length > 0 ? "different" : "wider", at, {
      before: before.values[0],
      after: after.values.length === 1 ? after.values[0] : after.values,
    });
  }
  for (const value of removed) comparison.report("valueRemoved", at, { before: value });
  for (const value of added) comparison.report("valueAdded", at, { after: value });
}

const includes = (list: unknown[], value: unknown) => list.some((each) => isDeepStrictEqual(each, value));

function compareProperties(comparison: Comparison, before: Node, after: Node, place: Place): void {
  const at = inside(place, "properties");
  const isClosed = before.additionalProperties === false;
  for (const { name, both } of comparison.members(propertiesOf(before), propertiesOf(after), at, isClosed)) {
    compareSchemas(comparison, ...both, inside(at, name));
  }
}

function propertiesOf({ properties = {}, required = [] }: Node): Members {
  const names = new Set([...Object.keys(properties), ...required]);
  return Object.fromEntries(
    [...names].map((name) => [name, { required: required.includes(name), value: properties[name] ?? true }]),
  );
}

/** Compares branches of `oneOf` or `anyOf`: by their reference, or else by what they contain. */
function compareAlternatives(
  comparison: Comparison,
  before: Node[] | undefined,
  after: Node[] | undefined,
  place: Place,
  isDiscriminated: boolean,
): void {
  if (!before || !after) return comparison.report(before ? "wider" : "narrower", place);
  const keys = { before: new Set(before.map(key)), after: new Set(after.map(key)) };
  for (const branch of before) if (keys.after.has(key(branch))) compareSchemas(comparison, branch, branch, place);
  const removed = before.filter((branch) => !keys.after.has(key(branch)));
  const added = after.filter((branch) => !keys.before.has(key(branch)));
  // One branch that was edited in place
  const [old, young] = [removed[0], added[0]];
  if (old && young && removed.length === 1 && added.length === 1) return compareSchemas(comparison, old, young, place);
  for (const branch of removed) comparison.report("narrower", inside(place, key(branch)));
  for (const branch of added) comparison.report(isDiscriminated ? "valueAdded" : "wider", inside(place, key(branch)));
}

const key = (branch: Node) => componentName(branch.$ref) ?? JSON.stringify(branch);

function compareDiscriminators(
  comparison: Comparison,
  before: Node | undefined,
  after: Node | undefined,
  place: Place,
) {
  if (!before || !after) return comparison.report("unknown", place, { before, after });
  comparison.keywords(before, after, place, {
    propertyName: "different",
    mapping: (both, at) => {
      const mapping = Object.keys({ ...both.before, ...both.after });
      for (const value of mapping) {
        const [old, young] = [both.before?.[value], both.after?.[value]];
        if (old === young) continue;
        const rule = old === undefined ? "valueAdded" : young === undefined ? "valueRemoved" : "different";
        comparison.report(rule, inside(at, value), { before: old, after: young });
      }
    },
  });
}

/** Merges a reference and the parts of `allOf` into one schema. Keywords that occur twice stay under `allOf`. */
function flatten(contract: Contract, schema: Node): Node {
  if (!schema.$ref && !schema.allOf) return schema;
  const { $ref, allOf = [], ...own } = schema;
  const parts = [...($ref ? [resolve(contract, { $ref })] : []), ...allOf].map((part) => flatten(contract, part));
  return parts.reduce<Node>(merge, own);
}

function merge(whole: Node, part: Node): Node {
  const merged = { ...whole };
  const twice: Node = {};
  for (const [keyword, value] of Object.entries(part)) {
    if (!(keyword in merged) || isDeepStrictEqual(merged[keyword], value)) merged[keyword] = value;
    else if (keyword === "required") merged.required = [...new Set([...merged.required, ...value])];
    else if (keyword === "properties") merged.properties = mergeProperties(merged.properties, value);
    // The text beside the reference describes this use of the schema.
    else if (!/^(title|description|examples?|x-.*)$/.test(keyword)) twice[keyword] = value;
  }
  return Object.keys(twice).length > 0 ? { ...merged, allOf: [...(merged.allOf ?? []), twice] } : merged;
}

function mergeProperties(whole: Node, part: Node): Node {
  const merged = { ...whole };
  for (const [name, schema] of Object.entries(part)) {
    const isNew = !(name in whole) || isDeepStrictEqual(whole[name], schema);
    merged[name] = isNew ? schema : { allOf: [whole[name], schema] };
  }
  return merged;
}

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

function judgeFormats(before: unknown, after: unknown): RuleName {
  if (before === "int32" && after === "int64") return "wider";
  if (before === "int64" && after === "int32") return "narrower";
  return before === undefined ? "formatAdded" : judgePresence(before, after);
}

const judgeLowerBounds = (before = -Infinity, after = -Infinity): RuleName => (after > before ? "narrower" : "wider");
const judgeUpperBounds = (before = Infinity, after = Infinity): RuleName => (after < before ? "narrower" : "wider");

function judgeMultiples(before: number | undefined, after: number | undefined): RuleName {
  if (before === undefined || after === undefined) return judgePresence(before, after);
  if (after % before === 0) return "narrower";
  return before % after === 0 ? "wider" : "incomparable";
}

/** For each keyword, the function that judges a change of its value. */
const JUDGES: Record<string, Judge> = {
  type: judgeTypes,
  pattern: judgePresence,
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
  multipleOf: judgeMultiples,
  uniqueItems: (_, after) => (after ? "narrower" : "wider"),
};
