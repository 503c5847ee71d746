import { Ajv2020 } from "ajv/dist/2020.js";
import { expect, test } from "vitest";
import { checks, watches } from "../topics/index.ts";
import { sides } from "../results.ts";
import { catalogue, sideCatalogues } from "./requirements.ts";

const judged = new Set<string>([...checks.flatMap((check) => check.ids), ...watches.map((watch) => watch.id)]);
const byId = new Map(catalogue.map((requirement) => [requirement.id, requirement]));

test("each requirement has a check", () => {
  expect([...byId.keys()].filter((id) => !judged.has(id))).toEqual([]);
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
  "$id, which is not a must, sends requests that a must refuses",
  ({ id }) => {
    expect(byId.get(alsoRefused[id] ?? "")).toMatchObject({ level: "must", effect: "must-be-rejected" });
  },
);

test("checks have unique names", () => {
  expect(new Set(checks.map((check) => check.name)).size).toBe(checks.length);
});

const text = { type: "string" };
const isValid = new Ajv2020({ allErrors: true }).compile({
  type: "object",
  properties: {
    id: text,
    section: text,
    decision: text,
    text,
    matters: text,
    level: { enum: ["must", "should", "observe"] },
    profile: { enum: ["core", "extended", ...sides] },
    effect: { enum: ["none", "must-be-rejected", "moves-money"] },
  },
  required: ["id", "level", "profile", "effect", "text"],
  oneOf: [{ required: ["section"] }, { required: ["decision"] }],
  // A must says why it matters.
  anyOf: [{ required: ["matters"] }, { properties: { level: { enum: ["should", "observe"] } } }],
  additionalProperties: false,
});

test.each(["services", ...sides] as const)("the catalogue for %s has valid entries with unique ids", (side) => {
  const entries = side === "services" ? catalogue : sideCatalogues[side];
  for (const entry of entries) expect.soft(isValid(entry) ? [] : isValid.errors, entry.id).toEqual([]);
  expect(new Set(entries.map(({ id }) => id)).size).toBe(entries.length);
});
