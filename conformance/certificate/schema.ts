// The form of a certificate's claims. If a certificate could leave a claim out, it could hide what weakened the run.
import { Ajv } from "ajv";
import { sides } from "../results.ts";
import type { Certificate } from "./sign.ts";

const text = { type: "string" };
const number = { type: "number" };
const texts = { type: "array", items: text };
const orNull = (schema: { type: string }) => ({ ...schema, type: [schema.type, "null"] });
/** An object that must have these properties, and may have others. */
const object = (properties: Record<string, object>) => ({
  type: "object",
  required: Object.keys(properties),
  properties,
});

const schema = object({
  jti: text,
  kind: { enum: ["service", ...sides] },
  sub: text,
  iat: number,
  nbf: number,
  exp: number,
  verdict: text,
  scope: text,
  profile: { enum: ["core", "extended", ...sides] },
  effects: { enum: ["none", "reject", "money"] },
  startedAt: text,
  finishedAt: text,
  suiteVersion: text,
  seed: number,
  challenge: orNull(text),
  budget: object({
    payouts: number,
    maxPayouts: number,
    total: number,
    maxTotal: orNull(number),
    largestAmount: number,
  }),
  counts: object({ pass: number, warn: number, observed: number }),
  judged: {
    type: "object",
    additionalProperties: object({ musts: number, passed: number, notApplicable: number }),
  },
  declared: { type: "object" },
  foundLimits: { type: "object" },
  headers: texts,
  rate: orNull(number),
  waits: object({ responseMs: number }),
  sandbox: object({ environment: { enum: ["sandbox", "live", null] }, missing: texts }),
  untriedAmounts: number,
  events: orNull(texts),
  notApplicable: { type: "array", items: object({ id: text, source: text, level: text, profile: text, why: text }) },
  hashes: object({ spec: text, suite: text, results: text, report: text }),
});

/** Compiles the schema when it is first used, because most commands verify no certificate. */
const ajv = new Ajv({ allErrors: true, allowUnionTypes: true });

/** Says what is wrong with the claims; undefined if they are the claims of a certificate. */
export function claimsFault(claims: unknown): string | undefined {
  if (ajv.validate<Certificate>(schema, claims)) return undefined;
  const faults = (ajv.errors ?? []).map(({ instancePath, params, message = "" }) => {
    const { missingProperty } = params as { missingProperty?: string };
    const path = [...instancePath.split("/").slice(1), missingProperty ?? []].flat().join(".");
    return missingProperty === undefined ? `"${path}" ${message}` : `"${path}" is missing`;
  });
  return `${faults.slice(0, 5).join("; ")}. Another version of the suite may have made it; ask for a new certificate.`;
}
