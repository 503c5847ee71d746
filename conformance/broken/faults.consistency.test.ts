import { describe, expect, test } from "vitest";
import { catalogue, inProfile } from "../contract/requirements.ts";
import { faults } from "./faults.ts";

const requirements = new Map(catalogue.map((requirement) => [requirement.id, requirement]));
const broken = new Set<string>(faults.flatMap(({ violates }) => violates));

test.each(catalogue.map(({ id }) => id))("at least one broken server violates %s", (id) => {
  expect(broken.has(id)).toBe(true);
});

const classes = faults.flatMap(({ id, violates, onlyBy }) => (onlyBy ? [{ id, violates, ...onlyBy }] : []));

describe("classes of defects", () => {
  test.each(classes)("only musts of its profile catch $id", ({ violates, ids, profile }) => {
    expect(ids.filter((id) => violates.includes(id))).not.toEqual([]);
    const isOfProfile = (id: string) => {
      const requirement = requirements.get(id);
      return requirement && inProfile(requirement, profile) && requirement.level === "must";
    };
    expect(ids.filter((id) => !isOfProfile(id))).toEqual([]);
  });

  test("each must of the interface that was written for a class is the only one to catch a server", () => {
    const written = /^(life|refused|access|reads|records|numbers)\./;
    const named = new Set<string>(classes.flatMap(({ ids }) => ids));
    const musts = catalogue.filter(
      ({ id, level, profile }) => written.test(id) && level === "must" && profile === "core",
    );
    expect(musts.map(({ id }) => id).filter((id) => !named.has(id))).toEqual([]);
  });
});
