// Reads a list of revoked certificates.
import { readFileSync } from "node:fs";
import { Ajv } from "ajv";

/** A certificate that its issuer takes back, by the id in its claim `jti`. `revokedAt` is ISO 8601. */
export type Revocation = { id: string; revokedAt: string; reason: string };

/** Thrown for a file of a registry that is invalid. The message names the file and what is wrong with it. */
export class RegistryError extends Error {
  override name = "RegistryError";
}

const text = { type: "string", minLength: 1 };
const properties = {
  id: { type: "string", pattern: "^[0-9a-f]{32}$" },
  revokedAt: { type: "string", pattern: String.raw`^\d{4}-\d\d-\d\dT[\d:.]+Z$` },
  reason: text,
};
const schema = {
  type: "object",
  required: ["revoked"],
  additionalProperties: false,
  properties: {
    revoked: {
      type: "array",
      items: { type: "object", required: Object.keys(properties), additionalProperties: false, properties },
    },
  },
};

/** Compiles a schema when it is first used, because most commands read no registry. */
const ajv = new Ajv({ allErrors: true });

/**
 * Reads a JSON file that has a form.
 * @throws RegistryError if the file cannot be read or does not have the form
 */
export function readForm<T>(file: string, form: object): T {
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    throw new RegistryError(`${file} cannot be read as JSON: ${(error as Error).message}`, { cause: error });
  }
  if (ajv.validate<T>(form, value)) return value;
  const faults = (ajv.errors ?? []).map(({ instancePath, message, params }) => {
    const { additionalProperty: name } = params as { additionalProperty?: string };
    return `${instancePath || "the document"} ${message}${name === undefined ? "" : `: ${JSON.stringify(name)}`}`;
  });
  throw new RegistryError(`${file}: ${faults.slice(0, 5).join("; ")}.`);
}

/**
 * Reads a list of revocations.
 * @throws RegistryError
 */
export const readRevocations = (file: string): Revocation[] =>
  readForm<{ revoked: Revocation[] }>(file, schema).revoked;
