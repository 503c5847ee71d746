import { describe, expect, test } from "vitest";
import { has, judgesOf, placesOf, requirements, resolve, sectionsOf, statements } from "./statements.ts";

/** The sections of the interface document that state something. */
const SECTIONS = "§1 §2.1 §2.2 §2.3 §2.4 §3 §4 §4.1 §4.2 §4.3 §5 §6 §7 §8 §9".split(" ");

test("every section of the interface has statements, at least 105 in all, each with an id of its own", () => {
  expect([...new Set(statements.map(({ section }) => section))]).toEqual(SECTIONS);
  expect(statements.length).toBeGreaterThanOrEqual(105);
  expect(new Set(statements.map(({ id }) => id)).size).toBe(statements.length);
});

describe.each(statements)("$section $id", (statement) => {
  test("is in the OpenAPI document, in a part marked with its section", () => {
    const places = placesOf(statement);
    expect(places).not.toEqual([]);
    const gaps = places.filter(([pointer, value]) => {
      const { part, sections } = resolve(pointer);
      return !has(part, value) || !sections.includes(statement.section);
    });
    expect(gaps).toEqual([]);
  });

  test("is judged by core requirements that cite its section, or says why not", () => {
    const { untested } = statement;
    const ids = judgesOf(statement);
    expect(ids.length === 0).toBe(untested !== undefined);
    const sections = sectionsOf(statement);
    const judges = requirements.filter(({ profile, section = "" }) => profile === "core" && sections.includes(section));
    expect(judges.map(({ id }) => id)).toEqual(expect.arrayContaining(ids));
  });
});

test("every core requirement judges a statement", () => {
  const judges = new Set(statements.flatMap(judgesOf));
  const others = requirements.filter(({ id, profile }) => profile === "core" && !judges.has(id));
  expect(others.map(({ id }) => id)).toEqual([]);
});
