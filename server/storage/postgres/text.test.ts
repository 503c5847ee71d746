import * as fc from "fast-check";
import { expect, test } from "vitest";
import { decodeText, encodeText } from "./text.ts";

test("keeps text that PostgreSQL can store as it is", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), (text) => {
      fc.pre(!text.includes("\0") && !text.includes("\ufdd0"));
      expect(encodeText(text)).toBe(text);
    }),
  );
});

test("stores any other text too, and returns it exactly", () => {
  const unit = fc.constantFrom("\0", "\ufdd0", "\ud800", "\udfff", "👩", "a", "0", "1", "d");
  fc.assert(
    fc.property(fc.string({ unit }), (text) => {
      const stored = encodeText(text);
      expect(stored).not.toContain("\0");
      expect(stored.isWellFormed()).toBe(true);
      expect(decodeText(stored)).toBe(text);
    }),
  );
});
