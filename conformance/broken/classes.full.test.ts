import { expect, test } from "vitest";
import { catalogue, inProfile } from "../contract/requirements.ts";
import { classes } from "./classes.ts";

const requirements = new Map(catalogue.map((requirement) => [requirement.id, requirement]));

test.each(classes)("only musts of its profile catch $id", ({ violates, onlyBy: { ids, profile } }) => {
  expect(ids.filter((id) => violates.includes(id))).not.toEqual([]);
  for (const id of ids) {
    const requirement = requirements.get(id);
    expect([id, requirement && inProfile(requirement, profile), requirement?.level]).toEqual([id, true, "must"]);
  }
});

/** The groups of requirements that were written for the classes. */
const groups = /^(life|refused|access|reads|records|numbers)\./;

test("each must of the interface that was written for a class is the only one to catch a server", () => {
  const named = new Set(classes.flatMap(({ onlyBy }) => onlyBy.ids));
  const written = catalogue.filter(
    ({ id, level, profile }) => groups.test(id) && level === "must" && profile === "core",
  );
  expect(written.map(({ id }) => id).filter((id) => !named.has(id))).toEqual([]);
});
