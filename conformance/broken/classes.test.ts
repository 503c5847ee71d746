import { expect, test } from "vitest";
import { catalogue, inProfile } from "../contract/requirements.ts";
import { classes } from "./classes.ts";
import { faults } from "./faults.ts";

const requirements = new Map(catalogue.map((requirement) => [requirement.id, requirement]));

test.each(classes)("the class $class names a broken server and what catches it", (entry) => {
  const { server, requirements: named, profile = "core" } = entry;
  const fault = faults.find(({ id }) => id === server);
  expect(named.filter((id) => fault?.violates.includes(id))).not.toEqual([]);
  for (const id of named) {
    const requirement = requirements.get(id);
    expect([id, requirement && inProfile(requirement, profile), requirement?.level]).toEqual([id, true, "must"]);
  }
});

test("classes and their servers are distinct", () => {
  expect(new Set(classes.map((entry) => entry.class)).size).toBe(classes.length);
  expect(new Set(classes.map(({ server }) => server)).size).toBe(classes.length);
});

/** The groups of requirements that were written for the classes. */
const groups = /^(life|refused|access|reads|records|numbers)\./;

test("each must of the interface that was written for a class is the only one to catch a server", () => {
  const named = new Set(classes.flatMap((entry) => entry.requirements));
  const written = catalogue.filter(
    ({ id, level, profile }) => groups.test(id) && level === "must" && profile === "core",
  );
  expect(written.map(({ id }) => id).filter((id) => !named.has(id))).toEqual([]);
});
