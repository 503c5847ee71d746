import { Eta } from "eta";
import type { Label } from "../../texts/index.ts";

/** The escaping of the templates of the other pages. */
const { escapeFunction: escaped } = new Eta().config;

/** HTML that is safe to insert. */
export class Html {
  readonly html: string;
  constructor(html: string) {
    this.html = html;
  }
}

/** What a page is made of. Texts are escaped; of what is left out, nothing is shown. */
export type Part = Html | string | number | bigint | false | null | undefined | readonly Part[];

export function htmlOf(part: Part): string {
  if (part instanceof Html) return part.html;
  if (Array.isArray(part)) return part.map(htmlOf).join("");
  if (part === false || part === null || part === undefined) return "";
  return escaped(part);
}

/** A template of HTML. Every value is escaped, unless it is HTML itself. */
export const markup = (texts: TemplateStringsArray, ...parts: Part[]): Html =>
  new Html(texts.map((text, index) => (index === 0 ? text : htmlOf(parts[index - 1]) + text)).join(""));

type Attributes = Readonly<Record<string, Html | string | number | boolean | undefined>>;

/** Attributes of an element. An attribute that is true has no value; one that is false or undefined is left out. */
export const attributes = (all: Attributes): Html =>
  new Html(
    Object.entries(all)
      .map(([name, value]) =>
        value === undefined || value === false ? "" : value === true ? ` ${name}` : ` ${name}="${htmlOf(value)}"`,
      )
      .join(""),
  );

/** The value of a class attribute; undefined without a name. */
export const classes = (...names: (string | false | undefined)[]): string | undefined =>
  names.filter(Boolean).join(" ") || undefined;

export const link = (href: string, text: Part, named?: string): Html =>
  markup`<a${attributes({ class: named, href })}>${text}</a>`;
/** A line below another, in a cell. */
export const under = (text: Part, named = ""): Html =>
  markup`<span${attributes({ class: classes("under", named) })}>${text}</span>`;
export const soft = (text: Part): Html => markup`<p class="soft">${text}</p>`;
/** A word in place of a value. */
export const dim = (text: Part): Html => markup`<span class="soft">${text}</span>`;
export const bdi = (text: string | undefined): Html => markup`<bdi>${text}</bdi>`;
export const code = (text: string): Html => markup`<code>${text}</code>`;
export const tag = (named: string, text: Part): Html => markup`<span class="${classes("badge", named)}">${text}</span>`;
/** A text of several lines, or a line to copy. */
export const pre = (text: string, options: { id?: string; class?: string } = {}): Html =>
  markup`<pre${attributes({ class: options.class, tabindex: 0 })}><code${attributes({ id: options.id })}>${text}</code></pre>`;
export const back = (href: string, text: Part): Html => markup`<p class="back">${link(href, text)}</p>`;
export const items = (all: readonly Part[], named?: string): Html =>
  markup`<ul${attributes({ class: named })}>${all.map((each) => each && markup`<li>${each}</li>`)}</ul>`;
export const joined = (all: readonly Part[], between: string): Part =>
  all.filter(Boolean).map((each, index) => [index > 0 && between, each]);

/**
 * A column of a table. The class may be `number`, `wide` for a column that narrow screens show below the others, or
 * `names` for one that names the row.
 */
export interface Column<Row> {
  title: Label;
  named: string;
  cell(row: Row): Part;
}

export const column = <Row>(title: Label, named: string, cell: (row: Row) => Part): Column<Row> => ({
  title,
  named,
  cell,
});

/** @param key identifies a row, so that the page's script recognises it at another place */
export function table<Row>(
  { t }: { t(of: Label): Html },
  rows: readonly Row[],
  all: readonly (Column<Row> | false)[],
  key?: (row: Row) => string | undefined,
): Html {
  const columns = all.filter((each) => each !== false);
  const titles = columns.map(
    ({ title, named }) => markup`<th scope="col"${attributes({ class: classes(named) })}>${t(title)}</th>`,
  );
  const lines = rows.map((row) => {
    const cells = columns.map(({ title, named, cell }) =>
      named === "names"
        ? markup`<th scope="row">${cell(row)}</th>`
        : markup`<td${attributes({ class: classes(named), "data-title": named.includes("wide") && t(title) })}>${cell(row)}</td>`,
    );
    return markup`<tr${attributes({ "data-key": key?.(row) })}>${cells}</tr>\n`;
  });
  return markup`<table><thead><tr>${titles}</tr></thead><tbody>\n${lines}</tbody></table>`;
}

/** A part of a page with a border. Its content is kept up to date, unless it has a form that a person fills in. */
export function card(
  content: Part,
  options: { id?: string; title?: Part; isLive?: boolean; class?: string } = {},
): Html {
  const { id, title, isLive = false, class: named } = options;
  const about = { "aria-labelledby": id, "data-live": isLive };
  const element = new Html(id === undefined ? "div" : "section");
  const heading = title !== undefined && markup`<h2${attributes({ id })}>${title}</h2>`;
  return markup`<${element}${attributes({ class: classes("card", named), ...about })}>${heading}${content}</${element}>`;
}

/** A part of a page with a title; nothing without content. */
export const section = (id: string, title: Part, content: Part, isLive = false): Html | undefined =>
  content ? card(content, { id, title, class: "stack", isLive }) : undefined;

/** Names with values. What is undefined is left out. */
export const facts = (all: readonly (readonly [name: Part, value: Part] | false | undefined)[]): Html =>
  markup`<dl class="facts">${all.map((fact) => fact && markup`<div><dt>${fact[0]}</dt><dd>${fact[1]}</dd></div>`)}</dl>`;
