import { expect, test } from "vitest";
import { createPerson } from "./person.ts";

const task = { link: "https://pay.example/\u001b[2J1", what: "Pay this checkout:" };
const link = "https://pay.example/\\u{1b}[2J1";

test.each([
  ["something else, then Enter", ["what?", ""], "yes"],
  ["s", [" S "], "skipped"],
  ["n where nothing is asked, then s", ["n", "s"], "skipped"],
  ["n to a question", ["n"], "no", "Did it lead back?"],
  ["nothing", [undefined], "skipped"],
])("a person who types %s; one who types nothing is not asked again", async (_, lines, expected, question?: string) => {
  const shown: string[] = [];
  const left = [...lines];
  const person = createPerson(async (text) => (shown.push(text), left.shift()));
  expect(await person(question === undefined ? task : { ...task, question })).toBe(expected);
  const keys = question === undefined ? "Press Enter when done" : `${question} Enter for yes, n for no`;
  expect(shown[0]).toContain(`Pay this checkout:\n  ${link}\n${keys}, s to skip (5 minutes): `);
  if (lines[0] === undefined) expect(await person(task)).toBe("skipped");
  expect(shown).toHaveLength(lines.length);
});
