import hljs from "highlight.js/lib/core";
import bash from "highlight.js/lib/languages/bash";
import go from "highlight.js/lib/languages/go";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import php from "highlight.js/lib/languages/php";
import python from "highlight.js/lib/languages/python";
import typescript from "highlight.js/lib/languages/typescript";
import yaml from "highlight.js/lib/languages/yaml";

const languages = { sh: bash, go, js: javascript, json, php, python, ts: typescript, yaml };
for (const [name, language] of Object.entries(languages)) hljs.registerLanguage(name, language);

export const escapeHtml = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");

/** Renders a block of code, coloured by classes, which the page's policy allows. It scrolls, so the keyboard must reach it. */
export function codeBlock(code: string, language: string): string {
  const isKnown = language in languages;
  const html = isKnown ? hljs.highlight(code, { language }).value : escapeHtml(code);
  const name = language === "" ? "text" : language;
  return `<div class="code"><pre tabindex="0"><code class="language-${name}">${html}\n</code></pre></div>\n`;
}
