import { readFileSync } from "node:fs";
import hljs from "highlight.js/lib/common";
import { Marked, type Tokens } from "marked";

export const escapeHtml = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");

/** Renders a block of code, coloured by classes, which the page's policy allows. It scrolls, so the keyboard must reach it. */
export function codeBlock(code: string, language: string): string {
  const html = hljs.getLanguage(language) ? hljs.highlight(code, { language }).value : escapeHtml(code);
  const name = language === "" ? "text" : language;
  return `<div class="code"><pre tabindex="0"><code class="language-${name}">${html}\n</code></pre></div>\n`;
}

/** The id of a heading, as GitHub makes it. */
export const slug = (text: string): string =>
  text
    .toLowerCase()
    .replaceAll(/[^\w\s-]/g, "")
    .replaceAll(" ", "-");

/**
 * Renders this project's own Markdown. HTML in the Markdown is not removed.
 * @param base the path from the page to the folder of the pages
 */
export function toHtml(markdown: string, base: string): string {
  const headings: string[] = [];
  const marked = new Marked({
    renderer: {
      heading({ tokens, depth, text }) {
        const id = slug(text);
        const name = escapeHtml(text.replaceAll("`", ""));
        if (depth === 2) headings.push(`    <li><a href="#${id}">${name}</a></li>\n`);
        return `<h${depth} id="${id}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
      },
      code: ({ text, lang = "" }) => codeBlock(text, lang),
      image: ({ href, text }) => pictureOf(href, text),
    },
    walkTokens(token) {
      if (token.type === "link") token.href = linkFrom(base, (token as Tokens.Link).href);
    },
  });
  const html = marked.parse(markdown, { async: false });
  // Wide tables scroll on their own, and on a phone drawings too. Scrollable elements must be reachable with the keyboard.
  const body = html
    .replaceAll("<table>", '<div class="scroll" tabindex="0"><table>')
    .replaceAll("</table>", "</table></div>")
    .replaceAll(/<p>(<svg[^]*?<\/svg>)<\/p>/g, '<figure tabindex="0">$1</figure>');
  return headings.length > 5 ? body.replace("</h1>\n", (end) => end + contents(headings)) : body;
}

const contents = (headings: string[]) =>
  `<details class="contents">\n  <summary>On this page</summary>\n  <ul>\n${headings.join("")}  </ul>\n</details>\n`;

/** A drawing as a part of a page, without the file's colours: the page's style sheet gives it light or dark colours. */
function pictureOf(href: string, label: string): string {
  const file = new URL(`../../server/docs/pictures/${href.split("/").at(-1)}`, import.meta.url);
  return readFileSync(file, "utf8")
    .trimEnd()
    .replace(' xmlns="http://www.w3.org/2000/svg"', "")
    .replace(/aria-label="[^"]*"/, `aria-label="${escapeHtml(label)}"`)
    .replace(/<style>[^]*?<\/style>\n<rect class="sheet"[^>]*>\n/, "");
}

/** Renders one line of Markdown without a paragraph around it. */
export const inlineHtml = (markdown: string): string => new Marked().parseInline(markdown, { async: false });

/** Turns a link between Markdown files into a link between pages. */
function linkFrom(base: string, href: string): string {
  if (/^(https?:|#)/.test(href)) return href;
  return base + href.replace(/\.md(?=#|$)/, "");
}
