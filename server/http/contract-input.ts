import document from "../../generated/openapi.json" with { type: "json" };

/**
 * Input of a handler, with exactly the declared fields. Because of the intersection with a primitive type, spreading
 * the input or its rest does not compile, so a handler names each field that it passes on.
 */
export type Declared<T> = [T] extends [undefined] ? T : T & bigint;

interface Schema {
  $ref?: string;
  properties?: Record<string, Schema>;
  items?: Schema;
  oneOf?: Schema[];
  anyOf?: Schema[];
  allOf?: Schema[];
}

/** The parts of an operation of the spec that declare its input. */
export interface InputDeclaration {
  requestBody?: object;
  parameters?: { $ref?: string; name?: string; in?: string; schema?: object }[];
}

type Pick = (given: unknown) => unknown;

/**
 * Returns functions that copy what the operation declares from a query and from a body. Undeclared parameters and
 * fields are ignored, so they never reach the domain or the storage.
 */
export function declaredInput({ parameters = [], requestBody }: InputDeclaration): { query: Pick; body: Pick } {
  const declared = parameters.map((parameter) => resolved(parameter) as { name: string; in: string });
  const names = declared.filter((parameter) => parameter.in === "query").map(({ name }) => name);
  const { content } = (requestBody ?? {}) as { content?: Record<string, { schema: Schema }> };
  const schema = content?.["application/json"]?.schema;
  return {
    query: pickFields(new Map(names.map((name) => [name, asItIs]))),
    body: schema ? pickBy(schema) : () => undefined,
  };
}

const asItIs: Pick = (given) => given;

/** Returns a function that copies the parts of a value that a schema declares, also in nested objects and lists. */
function pickBy(schema: Schema): Pick {
  const { items } = resolved(schema);
  if (items) {
    const pick = pickBy(items);
    return (given) => (Array.isArray(given) ? given.map(pick) : given);
  }
  const fields = new Map(propertiesOf(schema).map(([name, property]) => [name, pickBy(property)]));
  return fields.size > 0 ? pickFields(fields) : asItIs;
}

function pickFields(fields: ReadonlyMap<string, Pick>): Pick {
  return (given) => {
    if (typeof given !== "object" || given === null) return given;
    const picked: Record<string, unknown> = {};
    for (const [name, pick] of fields) {
      if (Object.hasOwn(given, name)) picked[name] = pick((given as Record<string, unknown>)[name]);
    }
    return picked;
  };
}

/** The properties of a schema, including its alternatives and parts. */
function propertiesOf(schema: Schema): [string, Schema][] {
  const { properties = {}, oneOf = [], anyOf = [], allOf = [] } = resolved(schema);
  return [...Object.entries(properties), ...[...oneOf, ...anyOf, ...allOf].flatMap(propertiesOf)];
}

/** Follows a reference within the spec. */
function resolved<T extends { $ref?: string }>(part: T): T {
  if (part.$ref === undefined) return part;
  const steps = part.$ref.replace(/^#\//, "").split("/");
  const target = steps.reduce<unknown>((at, step) => (at as Record<string, unknown>)[step], document);
  return resolved(target as T);
}
