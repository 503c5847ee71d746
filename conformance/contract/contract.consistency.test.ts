// Compares the contract with its requirements, and the requirements with the checks and the broken servers.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, test } from "vitest";
import { faults } from "../broken/faults.ts";
import { sides } from "../results.ts";
import { checks, watches } from "../topics/index.ts";
import { openapi } from "./contract.ts";
import { readExamples } from "./examples.ts";
import { catalogue, sideCatalogues } from "./requirements.ts";
import { inlined } from "./validate.ts";

const byId = new Map(catalogue.map((requirement) => [requirement.id, requirement]));
const ajv = new Ajv2020({ strict: false, allErrors: true });

// A run does not check the schemas, because that takes longer than loading the suite.
describe("schemas", () => {
  const faultsOf = (schema: object) => {
    void ajv.validateSchema(schema);
    return ajv.errors ?? [];
  };

  test.each(["allowances/certify", "programs/client/protocol"])("%s is valid", async (name) => {
    const text = await readFile(join(import.meta.dirname, `../${name}.schema.json`), "utf8");
    expect(faultsOf(JSON.parse(text) as object)).toEqual([]);
  });

  test.each(["core", "extended"] as const)("each schema of the contract is valid in the profile %s", (profile) => {
    for (const name of Object.keys(openapi.components.schemas))
      expect.soft(faultsOf(inlined(profile, name)), name).toEqual([]);
  });
});

describe("requirements", () => {
  const text = { type: "string" };
  const isValid = ajv.compile({
    type: "object",
    properties: {
      id: text,
      section: text,
      decision: text,
      text,
      matters: text,
      fix: text,
      level: { enum: ["must", "should", "observe"] },
      profile: { enum: ["core", "extended", ...sides] },
      effect: { enum: ["none", "must-be-rejected", "moves-money"] },
    },
    required: ["id", "level", "profile", "effect", "text"],
    oneOf: [{ required: ["section"] }, { required: ["decision"] }],
    // A must says why it matters. What can be violated says how to repair it.
    allOf: [
      { anyOf: [{ required: ["matters"] }, { properties: { level: { enum: ["should", "observe"] } } }] },
      { anyOf: [{ required: ["fix"] }, { properties: { level: { const: "observe" } } }] },
    ],
    additionalProperties: false,
  });

  test.each(["services", ...sides] as const)("the catalogue for %s has valid entries with unique ids", (side) => {
    const entries = side === "services" ? catalogue : sideCatalogues[side];
    for (const entry of entries) expect.soft(isValid(entry) ? [] : isValid.errors, entry.id).toEqual([]);
    expect(new Set(entries.map(({ id }) => id)).size).toBe(entries.length);
  });

  // With --effects reject an accepted request stops the run, so it must be a request that the service must refuse
  // according to a `must`.
  const alsoRefused: Record<string, string> = {
    "create.phone-422": "create.phone-pattern",
    "create.split-400-422": "create.generated-invalid-refused",
    "checkout.error-statuses": "checkout.types",
    "errors.checkout-shape": "checkout.malformed-refused",
  };
  test.each(catalogue.filter(({ effect, level }) => effect === "must-be-rejected" && level !== "must"))(
    "$id, which is not a must, sends only requests that a service must refuse according to a must",
    ({ id }) => {
      expect(byId.get(alsoRefused[id] ?? "")).toMatchObject({ level: "must", effect: "must-be-rejected" });
    },
  );

  const judged = new Set<string>([...checks.flatMap((check) => check.ids), ...watches.map((watch) => watch.id)]);
  const broken = new Set<string>(faults.flatMap(({ violates }) => violates));
  test.each(catalogue)("$id has a check, and a broken server that violates it", ({ id }) => {
    expect([judged.has(id), broken.has(id)]).toEqual([true, true]);
  });

  test("no broken server violates an id that is no requirement, because no check would then have to catch it", () => {
    expect([...broken].filter((id) => !byId.has(id))).toEqual([]);
  });

  test("each requirement that can be violated has an example, which `node scripts/examples.ts ID` records", () => {
    const violable = catalogue.filter(({ level }) => level !== "observe").map(({ id }) => id);
    const examples = readExamples();
    expect(violable.filter((id) => examples[id]?.expected === undefined)).toEqual([]);
  });

  test("checks have unique names", () => {
    expect(new Set(checks.map((check) => check.name)).size).toBe(checks.length);
  });
});
