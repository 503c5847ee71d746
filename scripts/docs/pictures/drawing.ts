import { escapeHtml } from "../highlight.ts";

/** A drawing in SVG. It has classes instead of colours, so that the page's style sheet gives it light or dark colours. */
export interface Drawing {
  /** The file, without its extension. */
  name: string;
  width: number;
  height: number;
  /** What the drawing shows, for people who do not see it. */
  description: string;
  body: string[];
}

export const text = (x: number, y: number, words: string, classes = ""): string =>
  `<text x="${x}" y="${y}"${classes && ` class="${classes}"`}>${escapeHtml(words)}</text>`;

export const line = (x1: number, y1: number, x2: number, y2: number, classes = "line"): string =>
  `<path class="${classes}" d="M${x1} ${y1}L${x2} ${y2}"/>`;

/** A rectangle with a title and lines of text in its middle. */
export function box(x: number, y: number, width: number, height: number, title: string, lines: string[] = []): string {
  const first = y + height / 2 + 5 - lines.length * 8;
  const rest = lines.map((words, index) => text(x + width / 2, first + (index + 1) * 16, words, "middle soft"));
  return [
    `<rect class="box" x="${x}" y="${y}" width="${width}" height="${height}" rx="6"/>`,
    text(x + width / 2, first, title, "middle strong"),
    ...rest,
  ].join("\n");
}

/** A straight arrow. */
export function arrow(x1: number, y1: number, x2: number, y2: number): string {
  const angle = Math.atan2(y2 - y1, x2 - x1);
  const corner = (turn: number) =>
    `${(x2 + 9 * Math.cos(angle + turn)).toFixed(1)} ${(y2 + 9 * Math.sin(angle + turn)).toFixed(1)}`;
  return `${line(x1, y1, x2, y2, "arrow")}<path class="head" d="M${x2} ${y2}L${corner(2.7)}L${corner(-2.7)}Z"/>`;
}

/** @param label what the picture is, in a few words */
export function inPage({ name, width, height, description, body }: Drawing, label: string): string {
  const id = `picture-${name}`;
  return (
    `<svg class="drawing" role="img" aria-label="${escapeHtml(label)}" aria-describedby="${id}" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}">\n` +
    `<desc id="${id}">${escapeHtml(description)}</desc>\n${body.join("\n")}\n</svg>`
  );
}

/** A file for pages elsewhere, for example the README. It has its own colours, for light and dark surroundings. */
export const asFile = (drawing: Drawing, css: string): string =>
  inPage(drawing, drawing.name)
    .replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ')
    .replace(
      "</desc>\n",
      `</desc>\n<style>\n${css}</style>\n<rect class="sheet" width="100%" height="100%" rx="8"/>\n`,
    );
