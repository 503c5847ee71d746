import { Eta } from "eta";

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

/** Attributes of an element. An attribute that is true has no value; one that is false or undefined is left out. */
export const attributes = (all: Readonly<Record<string, Html | string | number | boolean | undefined>>): Html =>
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
