import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { AREAS, TEXTS, type Text } from "./index.ts";

const all: [string, Text][] = Object.entries(TEXTS);
const elements = (text: string) => (text.match(/<[^>]+>/g) ?? []).toSorted();
const names = (text: string) => [...new Set(text.match(/\{\w+\}/g))].toSorted();

test("each text has the same values and elements in both languages, and is in one area", () => {
  for (const [id, [english, french]] of all) {
    expect.soft(names(french), id).toEqual(names(english));
    expect.soft(elements(french), id).toEqual(elements(english));
    expect.soft(french.split("|").length, id).toBe(english.split("|").length);
  }
  expect(Object.values(AREAS).flatMap((area) => Object.keys(area)).length).toBe(all.length);
});

test("each text is said somewhere", () => {
  const cwd = join(import.meta.dirname, "..");
  const code = globSync("{actions,http/dashboard,http/pages,domain,storage/portable}/**/*.{ts,eta}", { cwd })
    .filter((path) => !path.includes(".test."))
    .map((path) => readFileSync(join(cwd, path), "utf8"))
    .join("\n");
  /** Also the hint of an action, and an id that is put together from a word of the service. */
  const isSaid = (text: string) => {
    const id = text.replace(/\.hint$/, "");
    const [area] = id.split(".", 1);
    return (
      code.includes(`"${id}"`) || (id.includes(".") && (code.includes(`\`${area}.`) || code.includes(`("${area}", `)))
    );
  };
  const composed = new Set(["limit", "term"]);
  expect(all.map(([id]) => id).filter((id) => !isSaid(id) && !composed.has(id.split(".", 1)[0]!))).toEqual([]);
});
