import { Marked, type Tokens } from "marked";
import { spaced } from "../../server/http/spaced.ts";
import { codeBlock, escapeHtml } from "./highlight.ts";
import { frenchPictureOf, pictureOf } from "./pictures/index.ts";

/**
 * Renders this project's own Markdown. HTML in the Markdown is not removed.
 * @param base the path from the page to the folder of the pages
 */
export const toHtml = (markdown: string, base: string): string => render(markdown, base, IN_ENGLISH);

/**
 * Renders a page in French. Its headings have the ids of the English page, so that an address leads to the same place in
 * both languages.
 * @param english the same page in English
 */
export function frenchHtml(markdown: string, english: string, base: string): string {
  const ids = headingsOf(english).map(({ text }) => slug(text));
  const count = headingsOf(markdown).length;
  if (count !== ids.length)
    throw new Error(`${markdown.slice(0, 60)}… has ${count} headings instead of ${ids.length}.`);
  return render(markdown, base, { ...IN_FRENCH, idOf: () => ids.shift()! });
}

const headingsOf = (markdown: string) =>
  new Marked().lexer(markdown).filter((token): token is Tokens.Heading => token.type === "heading");

interface Language {
  idOf(heading: string): string;
  contents: string;
  /** What is done to a text that is not code. */
  adapt(text: string): string;
  pictureOf(href: string, label: string): string;
}

const slug = (text: string) =>
  text
    .toLowerCase()
    .replace(/[^\w\s-]/g, "")
    .trim()
    .replace(/\s+/g, "-");

const IN_ENGLISH: Language = { idOf: slug, contents: "On this page", adapt: (text) => text, pictureOf };
const IN_FRENCH: Language = { ...IN_ENGLISH, contents: "Sur cette page", adapt: spaced, pictureOf: frenchPictureOf };

function render(markdown: string, base: string, language: Language): string {
  const headings: string[] = [];
  const marked = new Marked({
    renderer: {
      heading({ tokens, depth, text }) {
        const id = language.idOf(text);
        const name = escapeHtml(language.adapt(text.replaceAll("`", "")));
        if (depth === 2) headings.push(`    <li><a href="#${id}">${name}</a></li>\n`);
        return `<h${depth} id="${id}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
      },
      code: ({ text, lang = "" }) => codeBlock(text, lang),
      image: ({ href, text }) => language.pictureOf(href, text),
    },
    walkTokens(token) {
      if (token.type === "link") token.href = linkFrom(base, (token as Tokens.Link).href);
      if (token.type === "text" && !(token as Tokens.Text).tokens) token.text = language.adapt(token.text);
    },
  });
  const html = marked.parse(markdown, { async: false });
  // Wide tables scroll by themselves, and drawings on a phone. Scrollable elements must be reachable with the keyboard.
  const body = html
    .replaceAll("<table>", '<div class="scroll" tabindex="0"><table>')
    .replaceAll("</table>", "</table></div>")
    .replaceAll(/<p>(<svg[^]*?<\/svg>)<\/p>/g, '<figure tabindex="0">$1</figure>');
  return headings.length > 5 ? body.replace("</h1>\n", (end) => end + contents(language.contents, headings)) : body;
}

const contents = (title: string, headings: string[]) =>
  `<details class="contents">\n  <summary>${title}</summary>\n  <ul>\n${headings.join("")}  </ul>\n</details>\n`;

/** Renders one line of Markdown without a paragraph around it. */
export const inlineHtml = (markdown: string): string => new Marked().parseInline(markdown, { async: false });

/** Turns a link between Markdown files into a link between pages. */
function linkFrom(base: string, href: string): string {
  if (/^(https?:|#)/.test(href)) return href;
  return base + href.replace(/\.md(?=#|$)/, "");
}
