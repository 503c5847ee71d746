import type { DocsPage } from "./pages.ts";

/** A part of a page, from one heading to the next. */
export interface Section {
  page: DocsPage;
  heading: string;
  /** The id of the heading; empty for the page's title. */
  id: string;
  text: string;
}

/** How many sections a search returns at most, and how many characters of each. */
const MOST = 30;
const EXCERPT = 200;
const MOST_WORDS = 10;

const ENTITIES: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'", "#x27": "'" };
const plain = (html: string) =>
  html
    .replaceAll(/<(title|desc)>[^]*?<\/\1>/g, " ")
    .replaceAll(/<\/?(?:p|li|h\d|td|th|tr|pre|div|dt|dd|summary|details|section|figure|text)\b[^>]*>/g, " ")
    .replaceAll(/<[^>]+>/g, "")
    .replaceAll(/&(amp|lt|gt|quot|#39|#x27);/g, (_, name: string) => ENTITIES[name]!)
    .replaceAll(/\s+/g, " ")
    .trim();

/** Splits the HTML of a page at its headings. */
export function sectionsOf(page: DocsPage, html: string): Section[] {
  return html.split(/(?=<h[1-3] id=")/).flatMap((part) => {
    const [all, level, id, heading] = /^<h([1-3]) id="([^"]+)"[^>]*>([^]*?)<\/h\1>/.exec(part) ?? [];
    if (all === undefined) return [];
    const text = plain(part.slice(all.length));
    return [{ page, heading: plain(heading!), id: level === "1" ? "" : id!, text }];
  });
}

/** Finds the sections that contain every word. Sections with the words in the heading come first. */
export function search(sections: readonly Section[], query: string): Section[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean).slice(0, MOST_WORDS);
  if (words.length === 0) return [];
  const hitsInHeading = ({ heading }: Section) => words.filter((word) => heading.toLowerCase().includes(word)).length;
  return sections
    .filter(({ heading, text }) => {
      const all = `${heading} ${text}`.toLowerCase();
      return words.every((word) => all.includes(word));
    })
    .toSorted((a, b) => hitsInHeading(b) - hitsInHeading(a))
    .slice(0, MOST)
    .map((section) => ({ ...section, text: excerptOf(section.text, words) }));
}

/** The text around the last of the words' first matches. */
function excerptOf(text: string, words: readonly string[]): string {
  const at = Math.max(0, ...words.map((word) => text.toLowerCase().indexOf(word)));
  const start = at < EXCERPT / 3 ? 0 : text.indexOf(" ", at - EXCERPT / 3) + 1;
  const shown = text.slice(start, start + EXCERPT);
  return `${start > 0 ? "… " : ""}${shown}${start + EXCERPT < text.length ? " …" : ""}`;
}
