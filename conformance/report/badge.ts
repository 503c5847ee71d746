import type { Report, RunVerdict } from "../results.ts";
import { scopeInShort } from "./scope.ts";
import { render } from "./templates.ts";
import { runVerdicts } from "./words.ts";

/** Background colours on which white text has a contrast of at least 4.5:1. */
const colours: Record<RunVerdict, string> = {
  certified: "#17693a",
  "passed-partially": "#24507f",
  failed: "#a3191f",
  error: "#7c4a03",
};

/** Estimates the width of a text in 11 px Verdana, in pixels. `textLength` in the image makes other fonts fit. */
function widthOf(text: string): number {
  let width = 0;
  for (const character of text) {
    if (/[ .,:;'|iljtfI]/.test(character)) width += 4.2;
    else if (/[mwMW]/.test(character)) width += 10.2;
    else width += /[A-Z]/.test(character) ? 7.8 : 6.7;
  }
  return Math.round(width);
}

/** Renders "conformance | core: certified, 76 of 79 musts" as an SVG image. Its title repeats the text for screen readers. */
export function renderBadge(report: Report): string {
  const label = "conformance";
  const message = `${report.profile}: ${runVerdicts[report.verdict].toLowerCase()}, ${scopeInShort(report)}`;
  const [labelText, messageText] = [widthOf(label), widthOf(message)];
  const [left, right] = [labelText + 12, messageText + 12];
  return render("badge", {
    title: `${label}: ${message}`,
    label,
    message,
    left,
    right,
    width: left + right,
    labelText,
    messageText,
    colour: colours[report.verdict],
  });
}
