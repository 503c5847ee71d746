import hljs from "highlight.js/lib/common";

export const escapeHtml = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");

/** Renders a block of code, coloured by classes, which the page's policy allows. It scrolls, so the keyboard must reach it. */
export function codeBlock(code: string, language: string): string {
  const html = hljs.getLanguage(language) ? hljs.highlight(code, { language }).value : escapeHtml(code);
  const name = language === "" ? "text" : language;
  return `<div class="code"><pre tabindex="0"><code class="language-${name}">${html}\n</code></pre></div>\n`;
}
