import { XmlDocument } from "libxml2-wasm";
import { expect, test } from "vitest";
import { renderBadge } from "./badge.ts";
import { sampleReport } from "../testing/sample-report.ts";

/** Returns the contrast ratio between a colour and white, as WCAG 2 defines it. */
function contrastWithWhite(colour: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5]
    .map((at) => Number.parseInt(colour.slice(at, at + 2), 16) / 255)
    .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  return 1.05 / (0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05);
}

test.each([
  ["certified", "core", "conformance: core: certified, 0 of 0 musts"],
  ["passed-partially", "extended", "conformance: extended: passed in part, 0 of 0 musts"],
  ["failed", "core", "conformance: core: failed, 0 of 0 musts"],
  ["error", "core", "conformance: core: not completed, 0 of 0 musts"],
] as const)("a run that is %s (%s) says %j, to a screen reader too", (verdict, profile, title) => {
  using document = XmlDocument.fromString(renderBadge(sampleReport([], { verdict, profile })));
  const svg = { s: "http://www.w3.org/2000/svg" };
  expect(document.get("/s:svg/@aria-label", svg)?.content).toBe(title);
  expect(document.get("/s:svg/s:title", svg)?.content).toBe(title);
  expect(
    document
      .find("//s:text", svg)
      .map((text) => text.content)
      .join(": "),
  ).toBe(title);
  for (const { content } of document.find("//s:rect/@fill", svg)) {
    expect(contrastWithWhite(content)).toBeGreaterThan(4.5);
  }
});
