import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import { expect, test } from "vitest";
import { openapi } from "./contract.ts";
import { inlined } from "./validate.ts";

const ajv = new Ajv2020({ strict: false });
const faultsOf = (schema: object) => {
  void ajv.validateSchema(schema);
  return ajv.errors ?? [];
};

// A run does not check them again: that would take longer than to load the suite.
test.each(["allowances/certify", "programs/client/protocol"])("%s is valid", async (name) => {
  const text = await readFile(join(import.meta.dirname, `../${name}.schema.json`), "utf8");
  expect(faultsOf(JSON.parse(text) as object)).toEqual([]);
});

test.each(["core", "extended"] as const)("each schema of the contract is valid in the profile %s", (profile) => {
  for (const name of Object.keys(openapi.components.schemas))
    expect.soft(faultsOf(inlined(profile, name)), name).toEqual([]);
});

test("finds a schema that is not valid", () => {
  expect(faultsOf({ type: "number", minimum: "1" })).not.toEqual([]);
});
