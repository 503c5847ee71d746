import { expect, test } from "vitest";
import { createPerson } from "./person.ts";

const link = "https://pay.example/\u001b[2J1";

/** Creates a person who types these lines. Also returns what was shown. */
function typing(...lines: (string | undefined)[]) {
  const shown: string[] = [];
  const person = createPerson(async (text) => {
    shown.push(text);
    return lines.shift();
  });
  return { person, shown };
}

test.each([
  ["Enter", [""], "yes"],
  ["s", [" S "], "skipped"],
  ["something else, then Enter", ["what?", ""], "yes"],
  ["n where nothing is asked, then s", ["n", "s"], "skipped"],
  ["nothing", [undefined], "skipped"],
])("a person who types %s", async (_, lines, expected) => {
  const { person, shown } = typing(...lines);
  expect(await person({ link, what: "Pay this checkout:" })).toBe(expected);
  expect(shown).toHaveLength(lines.length);
  expect(shown[0]).toContain("Pay this checkout:\n  https://pay.example/\\u{1b}[2J1\nPress Enter when done, s to skip");
});

test("a person can deny a question", async () => {
  const { person, shown } = typing("n");
  expect(await person({ link, what: "Pay:", question: "Did it lead back?" })).toBe("no");
  expect(shown[0]).toContain("Did it lead back? Enter for yes, n for no, s to skip (5 minutes): ");
});

test("nobody is asked again after a task that nobody responded to", async () => {
  const { person, shown } = typing(undefined, "");
  expect([await person({ link, what: "" }), await person({ link, what: "" })]).toEqual(["skipped", "skipped"]);
  expect(shown).toHaveLength(1);
});
