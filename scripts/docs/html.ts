import { Marked, type Tokens } from "marked";

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
        if (depth === 2) headings.push(`    <li><a href="#${id}">${escape(text.replaceAll("`", ""))}</a></li>\n`);
        return `<h${depth} id="${id}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
      },
    },
    walkTokens(token) {
      if (token.type === "link") token.href = linkFrom(base, (token as Tokens.Link).href);
    },
  });
  const html = marked.parse(markdown, { async: false });
  // Wide tables and code scroll by themselves. Scrollable elements must be reachable with the keyboard.
  const body = html
    .replaceAll("<table>", '<div class="scroll" tabindex="0"><table>')
    .replaceAll("</table>", "</table></div>")
    .replaceAll("<pre>", '<pre tabindex="0">');
  return headings.length > 5 ? contents(headings) + body : body;
}

const contents = (headings: string[]) =>
  `<details class="contents">\n  <summary>On this page</summary>\n  <ul>\n${headings.join("")}  </ul>\n</details>\n`;

const escape = (text: string) =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");

const slug = (text: string) =>
  text
    .toLowerCase()
    .replace(/[^\w\s-]/g, "")
    .trim()
    .replace(/\s+/g, "-");

/** Turns a link between Markdown files into a link between pages. */
function linkFrom(base: string, href: string): string {
  if (/^(https?:|#)/.test(href)) return href;
  return base + href.replace(/\.md(?=#|$)/, "");
}
