import { expect, test } from "vitest";
import { checkedName, looksSame, visible } from "./audit.ts";

test.each([
  "Ada",
  "  Ada  ",
  "Établissements Kouassi & Söhne",
  "Ọláńrewájú",
  "王小明",
  "عائشة",
  "O’Brien-Smith (2)",
  "❤️",
])("accepts %j", (name) => {
  expect(checkedName(name)).toBe(name.trim());
  expect(visible(name)).toBe(name);
});

const REFUSED: [kind: string, character: string][] = [
  ["a control character", "\u0000"],
  ["an escape", "\u001b"],
  ["a line feed", "\n"],
  ["a C1 control", "\u009b"],
  ["a soft hyphen", "\u00ad"],
  ["a zero-width space", "\u200b"],
  ["a zero-width joiner", "\u200d"],
  ["a right-to-left mark", "\u200f"],
  ["a line separator", "\u2028"],
  ["a paragraph separator", "\u2029"],
  ["a right-to-left override", "\u202e"],
  ["an isolate", "\u2066"],
  ["a byte order mark", "\ufeff"],
  ["a tag character", "\u{e0041}"],
  ["a Hangul filler", "\u3164"],
  ["a high surrogate", "\ud83d"],
  ["a low surrogate", "\ude00"],
  ["a private-use character", "\ue000"],
  ["an unassigned character", "\u0378"],
  ["a noncharacter", "\ufffe"],
];

test.each(REFUSED)("refuses %s", (_kind, character) => {
  for (const name of [`A${character}da`, character]) {
    expect(() => checkedName(name)).toThrow("A name has 1 to 100 characters, and no control or invisible characters.");
  }
  expect(visible(`A${character}da`)).toBe("A\ufffdda");
});

test.each(["", "  ", "x".repeat(101)])("refuses the length of %j", (name) => {
  expect(() => checkedName(name)).toThrow("A name has 1 to 100 characters");
});

test.each([
  ["other capitals", "aDA"],
  ["a full-width letter", "\uff21da"],
  ["a variation selector", "Ada\ufe0f"],
  ["a supplementary variation selector", "Ada\u{e0100}"],
  ["a Mongolian variation selector", "A\u180bda"],
  ["a grapheme joiner", "Ada\u034f"],
  ["a Khmer inherent vowel", "Ada\u17b4"],
  ["a blank Braille pattern", "Ada\u2800"],
  ["a second space", "Ada \u00a0"],
])("takes a name with %s for the same", (_kind, name) => {
  expect(looksSame("Ada", name)).toBe(true);
  expect(looksSame(name, "Ada")).toBe(true);
});

test.each(["Ad", "Adá", "Ada B", "A da"])("takes %j for another name", (name) => {
  expect(looksSame("Ada", name)).toBe(false);
});
