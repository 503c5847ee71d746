import type { DocsPage } from "./pages.ts";

/** A part of a page, from one heading to the next. */
export interface Section {
  page: DocsPage;
  heading: string;
  /** The id of the heading; empty for the page's title. */
  id: string;
  text: string;
}

export interface Found extends Omit<Section, "text"> {
  excerpt: { text: string; isMatch: boolean }[];
}

/** How many sections a search returns at most. */
const MOST = 30;
const MOST_WORDS = 10;
/** How many characters of the text are shown before and after the first match. */
const BEFORE = 60;
const AFTER = 140;

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
export function search(sections: readonly Section[], query: string): Found[] {
  const words = [...new Set(query.toLowerCase().split(/\s+/).filter(Boolean))].slice(0, MOST_WORDS);
  if (words.length === 0) return [];
  return sections
    .map((section) => ({ section, score: scoreOf(section, words) }))
    .filter(({ score }) => score > 0)
    .toSorted((a, b) => b.score - a.score)
    .slice(0, MOST)
    .map(({ section: { text, ...rest } }) => ({ ...rest, excerpt: excerptOf(text, words) }));
}

function scoreOf({ page, heading, id, text }: Section, words: readonly string[]): number {
  const title = `${heading} ${id === "" ? page.title : ""}`.toLowerCase();
  const body = text.toLowerCase();
  const scores = words.map((word) => (title.includes(word) ? 10 : Number(body.includes(word))));
  if (scores.includes(0)) return 0;
  return scores.reduce((sum, score) => sum + score, id === "" ? 1 : 0);
}

/** The text around the first match, cut at the matches. */
function excerptOf(text: string, words: readonly string[]): Found["excerpt"] {
  const pattern = new RegExp(
    `(${words.map((word) => word.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&")).join("|")})`,
    "gi",
  );
  const at = Math.max(0, text.search(pattern));
  const start = at <= BEFORE ? 0 : text.indexOf(" ", at - BEFORE) + 1;
  const end = at + AFTER >= text.length ? text.length : text.lastIndexOf(" ", at + AFTER);
  const shown = `${start > 0 ? "… " : ""}${text.slice(start, Math.max(start, end))}${end < text.length ? " …" : ""}`;
  return shown.split(pattern).map((part, index) => ({ text: part, isMatch: index % 2 === 1 }));
}
