// Reads certify.yaml, in which a deployment declares what it limits beyond the interface (§8, D45).
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Ajv2020, type ErrorObject } from "ajv/dist/2020.js";
import { LineCounter, parseDocument } from "yaml";

/** A limit on the number of payouts in a period. */
export type Velocity = { payouts: number; seconds: number; per: "recipient" | "merchant" };

/** The limits of a deployment. A limit that is undefined does not exist, or is not known. */
export type Declaration = {
  largestAmount?: number;
  /** The largest amounts in currencies in which they are smaller. */
  largestByCurrency?: Record<string, number>;
  largestCheckout?: number;
  smallestAmount?: number;
  longestReference?: number;
  longestReferenceBytes?: number;
  /** The characters of references, in the notation of a regular expression between brackets. */
  referenceCharacters?: string;
  /** The characters with which references may begin and end, in the same notation. */
  referenceEnds?: string;
  countries?: string[];
  currencies?: string[];
  /** Leading digits of phone numbers. Trailing `x` fix the length. */
  numberRanges?: string[];
  httpsWebhooks?: boolean;
  velocity?: Velocity[];
  readAfterWriteMs?: number;
  replicas?: boolean;
  notificationSeconds?: number;
  settlementSeconds?: number;
};

export const schemaFile = fileURLToPath(new URL("certify.schema.json", import.meta.url));

type Property = { description: string; minimum?: number };
const schema = JSON.parse(readFileSync(schemaFile, "utf8")) as { properties: Record<keyof Declaration, Property> };
/** Compiles the schema only when a declaration is validated: most runs have none. */
const ajv = new Ajv2020({ allErrors: true });

export const fieldNames = Object.keys(schema.properties);

export const meaningOf = (field: keyof Declaration): string => schema.properties[field].description;

/** Returns the smallest value that a field may have, because every target must accept this value. */
export const leastOf = (field: "largestAmount" | "longestReference"): number => schema.properties[field].minimum ?? 1;

const isField = (name: string): name is keyof Declaration => Object.hasOwn(schema.properties, name);

/** Turns "/velocity/0/per" into "velocity, entry 1, per". */
const pathOf = (pointer: string) =>
  pointer
    .split("/")
    .slice(1)
    .map((part) => (/^\d+$/.test(part) ? `entry ${Number(part) + 1}` : part))
    .join(", ");

function problemOf({ keyword, instancePath, message = "", params }: ErrorObject): string {
  const path = pathOf(instancePath);
  if (keyword === "additionalProperties") {
    const known = path === "" ? fieldNames : ["payouts", "seconds", "per"];
    const where = path === "" ? "" : `${path}: `;
    return `${where}unknown field ${JSON.stringify(params["additionalProperty"])}; the fields are ${known.join(", ")}`;
  }
  if (path === "" && keyword === "type") return "the file must contain fields such as largestAmount: 1000000";
  const field = instancePath.split("/")[1] ?? "";
  return `${path || "the file"} ${message}. ${isField(field) ? meaningOf(field) : ""}`.trim();
}

/** Returns what is wrong with the characters in a field, which the schema cannot check. */
function problemOfCharacters(
  field: "referenceCharacters" | "referenceEnds",
  { [field]: characters }: Declaration,
): string | undefined {
  if (characters === undefined) return undefined;
  const letters = "abcdefghijklmnopqrstuvwxyz";
  try {
    const allowed = new RegExp(`^[${characters}]*$`, "u");
    return [letters, letters.toUpperCase()].some((each) => allowed.test(`0123456789${each}`))
      ? undefined
      : `${field} must include the digits 0-9 and the letters a-z or A-Z`;
  } catch {
    return `${field} must be characters and ranges such as A-Za-z0-9_- (put - at the end)`;
  }
}

/** @throws SyntaxError that lists everything that is wrong with the file, one line each */
export function readDeclaration(text: string): Declaration {
  const document = parseDocument(text, { lineCounter: new LineCounter(), prettyErrors: true });
  if (document.errors.length > 0)
    throw new SyntaxError(document.errors.map(({ message }) => message.trim()).join("\n"));
  const given: unknown = document.toJS({ maxAliasCount: 0 }) ?? {};
  if (!ajv.validate(schema, given)) throw new SyntaxError((ajv.errors ?? []).map(problemOf).join("\n"));
  const problems = (["referenceCharacters", "referenceEnds"] as const).flatMap(
    (field) => problemOfCharacters(field, given as Declaration) ?? [],
  );
  if (problems.length > 0) throw new SyntaxError(problems.join("\n"));
  return given as Declaration;
}
