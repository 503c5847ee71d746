// Checks a server's responses before a command uses them. The server is usually the user's own, but a wrong base URL
// can lead to any server.
import { ResponseError } from "./remote.ts";

/** The kind of a field. An optional field, with a question mark, may be absent. */
type Kind = "text" | "list" | "object";
type Shape = Readonly<Record<string, Kind | `${Kind}?`>>;

/** Longer than every name, URL and time of the contract. */
const longestText = 2_048;

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const tests: Readonly<Record<Kind, (value: unknown) => boolean>> = {
  text: (value) => typeof value === "string" && value.length <= longestText,
  list: Array.isArray,
  object: isObject,
};

/**
 * Returns the fields that the shape names, and no others.
 * @param what the response, such as `The response to GET /healthz`, or a part of it
 * @throws ResponseError if a field is missing or of another kind
 */
export function shaped<T>(what: string, value: unknown, shape: Shape): T {
  if (!isObject(value)) throw new ResponseError(200, `${what} is no object. ${ADVICE}`);
  const fields: Record<string, unknown> = {};
  for (const [name, wanted] of Object.entries(shape)) {
    const isOptional = wanted.endsWith("?");
    const kind = (isOptional ? wanted.slice(0, -1) : wanted) as Kind;
    const field = Object.hasOwn(value, name) ? value[name] : undefined;
    if (field === undefined && isOptional) continue;
    if (!tests[kind](field)) throw new ResponseError(200, `${what} has no valid ${name} (${kind}). ${ADVICE}`);
    fields[name] = field;
  }
  return fields as T;
}

const ADVICE = "Check --base-url: this is no server of disbursements and checkouts, or one of another version.";

/** @throws ResponseError if the response is no list of objects of this shape */
export function shapedItems<T>(what: string, value: unknown, shape: Shape): T[] {
  const { items } = shaped<{ items: unknown[] }>(what, value, { items: "list" });
  return items.map((item, index) => shaped<T>(`${what}, items[${index}],`, item, shape));
}
