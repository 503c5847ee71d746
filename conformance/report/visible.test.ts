import { expect, test } from "vitest";
import { oneLine, shortened, visible } from "./visible.ts";

test.each([
  ["an escape sequence", "\u001b[31m", "\\u{1b}[31m"],
  ["a C1 control character", "\u009b2J", "\\u{9b}2J"],
  ["NUL, backspace, DEL", "\0\b\u007f", "\\u{0}\\u{8}\\u{7f}"],
  ["a carriage return that would overwrite the line", "pass\rfail", "pass\\u{d}fail"],
  ["a right-to-left override", "\u202egnp.exe", "\\u{202e}gnp.exe"],
  ["characters without width", "a\u200bb\ufeff", "a\\u{200b}b\\u{feff}"],
  ["a lone surrogate", "a\ud800b", "a\\u{d800}b"],
  ["invisible tag characters", "\u{e0041}", "\\u{e0041}"],
  ["characters that XML forbids", "\ufffe\uffff", "\\u{fffe}\\u{ffff}"],
])("%s is written out", (_what, text, expected) => {
  expect(visible(text)).toBe(expected);
});

test.each(["Kofi Ñandú 漢字 👍", "a\tb\nc", "\ufffd"])("%j is unchanged", (text) => {
  expect(visible(text)).toBe(text);
});

test("oneLine also escapes line ends and tabs", () => {
  expect(oneLine("a\r\nb\tc")).toBe("a\\nb\\tc");
});

test.each([
  ["abc", 3, "abc"],
  ["abcd", 3, "ab…"],
  ["👍👍👍", 2, "👍…"],
])("%j within %d characters is %j", (text, length, expected) => {
  expect(shortened(text, length)).toBe(expected);
});
