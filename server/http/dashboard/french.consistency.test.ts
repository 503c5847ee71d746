// The dashboard in French: no text of the code lacks a translation, and no translation lacks a text.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { areas, french, frenchOfOthers } from "./french/index.ts";

const here = import.meta.dirname;
const read = (path: string) => readFileSync(join(here, path), "utf8");
const templates = readdirSync(join(here, "templates")).filter((name) => name.endsWith(".eta"));
const codeOf = (folder: string) =>
  readdirSync(join(here, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts") && !name.includes(".test.") && !name.includes("french/"))
    .map((name) => read(join(folder, name)));

const textOf = (literal: string) => literal.slice(1, -1).replaceAll(/\\(["'`])/g, "$1");
/** The texts that a template says: the first argument of `t` and `rich`, and both texts of a plural. */
const said = (template: string): string[] => {
  const first = /\b(?:t|rich)\(\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')/g;
  const both = /\b(?:plural|richPlural)\([^"]*?("(?:[^"\\]|\\.)*"),\s*("(?:[^"\\]|\\.)*")/g;
  return [...template.matchAll(first), ...template.matchAll(both)].flatMap(([, ...texts]) => texts.map(textOf));
};

const elements = (text: string) => (text.match(/<[^>]+>/g) ?? []).toSorted();
const values = (text: string) => text.match(/\{\w+\}/g) ?? [];
/** A text, or a template literal, without the names of its values. */
const shape = (text: string) => text.replaceAll(/\$\{(?:[^{}]|\{[^{}]*\})*\}|\{\w+\}/g, "{}");

describe("the French of the dashboard", () => {
  test.each(templates)("has each text of %s", (name) => {
    expect(said(read(`templates/${name}`)).filter((text) => !Object.hasOwn(french, text))).toEqual([]);
  });

  test("has no text that nothing says", () => {
    const sources = [...templates.map((name) => read(`templates/${name}`)), ...codeOf("."), ...codeOf("../../domain")];
    const all = sources.join("\n");
    // A text also counts as used if it is the name of a field, such as the name of a limit.
    const isSaid = (text: string) =>
      [`"${text}"`, `'${text}'`].some((literal) => all.includes(literal)) || all.includes(`\n  ${text}: `);
    expect(Object.keys(french).filter((text) => !isSaid(text))).toEqual([]);
  });

  test("has each text in one area", () => {
    const texts = Object.values(areas).flatMap((area) => Object.keys(area));
    expect(texts.filter((text, index) => texts.indexOf(text) !== index)).toEqual([]);
  });

  const all = Object.entries({ ...french, ...frenchOfOthers });
  test("keeps the elements of each text, and adds no value", () => {
    for (const [english, translated] of all) {
      expect.soft(elements(translated), english).toEqual(elements(english));
      expect.soft(values(english), english).toEqual(expect.arrayContaining(values(translated)));
      expect.soft(translated, english).not.toBe("");
    }
  });

  test("has what a storage says that does not work", () => {
    const files = ["sqlite/health.ts", "postgres/health.ts", "overloaded.ts"];
    const troubles = files
      .flatMap((file) => [...read(`../../storage/${file}`).matchAll(/"([A-Z][^"]*\.)/g)].map(([, text]) => text!))
      .filter((text) => !text.endsWith("works again."));
    expect(troubles.length).toBeGreaterThan(5);
    const translated = Object.keys(frenchOfOthers);
    expect(troubles.filter((text) => !translated.some((each) => each.startsWith(text)))).toEqual([]);
  });

  const errors = [...codeOf(".")].flatMap((source) =>
    [
      ...source.matchAll(/new (?:PageError\(\s*\d+|ServiceError\(\s*"\w+"),\s*("(?:[^"\\]|\\.)*"|`(?:[^`\\]|\\.)*`)/g),
    ].map(([, text]) => textOf(text!)),
  );
  test("has each error of a page", () => {
    const known = Object.keys(frenchOfOthers).map(shape);
    // The command at the end of an error is a value in the error's text.
    const isKnown = (text: string) =>
      known.some((each) => each === text || (each.endsWith("{}") && text.startsWith(each.slice(0, -2))));
    expect(errors.length).toBeGreaterThan(40);
    expect(errors.map(shape).filter((text) => text.replaceAll(/[{} .]|Or/g, "") !== "" && !isKnown(text))).toEqual([]);
  });
});
