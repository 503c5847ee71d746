import { expect, test } from "vitest";
import { checkedName, looksSame } from "./audit.ts";

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
});

const REFUSED: Record<string, Iterable<string>> = {
  "a control character": "\u0000\u001b\n\u009b",
  "an invisible character": "\u00ad\u200b\u200d\ufeff\u3164\u{e0041}",
  "a separator or a mark of direction": "\u2028\u2029\u200f\u202e\u2066",
  "half of a character": ["\ud83d", "\ude00"],
  "a character without a meaning": "\ue000\u0378\ufffe",
};
test.each(Object.entries(REFUSED))("refuses %s", (_kind, characters) => {
  for (const character of characters)
    for (const name of [`A${character}da`, character])
      expect(() => checkedName(name)).toThrow(
        "A name has 1 to 100 characters, and no control or invisible characters.",
      );
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
