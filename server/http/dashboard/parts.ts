import { areaOf, nameOf, type Input } from "../../actions/action.ts";
import { actionOf, type ActionName } from "../../actions/index.ts";
import type { Checkout } from "../../domain/checkouts.ts";
import type { TextId } from "../../texts/index.ts";
import { formatPhoneNumber } from "../pages/countries.ts";
import { attributes, classes, Html, markup, type Part } from "./html.ts";
import { tokenOf } from "./layout.ts";
import { mayDo, type View } from "./view.ts";
import type { Words } from "./words.ts";

/** A column of a table. `class` may be `number`, or `wide` for a column that narrow screens do not show. */
export interface Column<Row> {
  title: TextId | Html;
  class?: string;
  /** True if it names the row. */
  isHead?: true;
  cell(row: Row): Part;
}

/** @param key identifies a row, so that the page's script recognises it at another place */
export function table<Row>(
  words: Words,
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  key?: (row: Row) => string,
) {
  const titles = columns.map(({ title, class: named }) => {
    const text = title instanceof Html ? title : words.text(title);
    return markup`<th scope="col"${attributes({ class: named })}>${text}</th>`;
  });
  const lines = rows.map((row) => {
    const cells = columns.map(({ isHead, class: named, cell }) =>
      isHead
        ? markup`<th scope="row"${attributes({ class: named })}>${cell(row)}</th>`
        : markup`<td${attributes({ class: named })}>${cell(row)}</td>`,
    );
    return markup`<tr${attributes({ "data-key": key?.(row) })}>${cells}</tr>\n`;
  });
  return markup`<table><thead><tr>${titles}</tr></thead><tbody>\n${lines}</tbody></table>`;
}

/** A part of a page with a border. Its content is kept up to date, unless it has a form that a person fills in. */
export function card(
  content: Part,
  options: { id?: string; title?: Part; isLive?: boolean; class?: string; label?: string } = {},
): Html {
  const { id, title, isLive = false, class: named = "", label } = options;
  const about = attributes({ "aria-labelledby": id, "aria-label": label, "data-live": isLive });
  const heading = title !== undefined && markup`<h2${attributes({ id })}>${title}</h2>`;
  return id !== undefined || label !== undefined
    ? markup`<section${attributes({ class: classes("card", named) })}${about}>${heading}${content}</section>`
    : markup`<div${attributes({ class: classes("card", named) })}${about}>${heading}${content}</div>`;
}

/** Names with values. What is undefined is left out. */
export const facts = (all: readonly (readonly [name: Part, value: Part] | false | undefined)[], named = ""): Html =>
  markup`<dl${attributes({ class: classes("facts", named) })}>${all.map((fact) => fact && markup`<div><dt>${fact[0]}</dt><dd>${fact[1]}</dd></div>`)}</dl>`;

export const link = (href: string, text: Part, named?: string): Html =>
  markup`<a${attributes({ class: named, href })}>${text}</a>`;
/** A line below another, in a cell. */
export const under = (text: Part, named = ""): Html =>
  markup`<span${attributes({ class: classes("under", named) })}>${text}</span>`;
/** A line that only narrow screens show, in place of a column. */
export const small = (text: Part): Html => under(text, "small");
export const soft = (text: Part): Html => markup`<p class="soft">${text}</p>`;
export const bdi = (text: string | undefined): Html => markup`<bdi>${text}</bdi>`;
export const code = (text: string): Html => markup`<code>${text}</code>`;
/** A text of several lines, or a line to copy. */
export const pre = (text: string, options: { id?: string; class?: string } = {}): Html =>
  markup`<pre${attributes({ class: options.class, tabindex: 0 })}><code${attributes({ id: options.id })}>${text}</code></pre>`;
export const back = (href: string, text: string): Html => markup`<p class="back">${link(href, text)}</p>`;

/** A status of a payment, a webhook, a replay, a merchant or a key. */
export const badge = ({ word }: Words, status: string): Html =>
  markup`<span class="badge ${status}">${word("status", status)}</span>`;

/** Who gets a payout or has paid a checkout. A payment that was ended by hand has no payer. */
export function payerOf({ t }: Words, { status, customer }: Pick<Checkout, "status" | "customer">): string {
  if (customer) return formatPhoneNumber(customer.phoneNumber);
  return status === "pending" ? t("notPaidYet") : status === "success" ? t("payerUnknown") : t("notPaid");
}

/** The input of a form. @param id by which its label finds it */
export function inputOf(view: Words, name: string, input: Input, value: string | undefined, id = name): Html {
  const { label, type = "text", means, placeholder, options, required, attributes: more = {}, class: named } = input;
  const textOf = (of: TextId | { text: string } | undefined) => (typeof of === "string" ? view.text(of) : of?.text);
  const text = textOf(placeholder);
  if (type === "hidden") return markup`<input type="hidden" name="${name}" value="${value ?? ""}">`;
  if (type === "checkbox")
    return markup`<label><input type="checkbox" name="${name}" value="yes"> ${code(String(text))} ${label && view.text(label)}</label>`;
  const common = { id, name, required };
  const described = { "aria-describedby": means && `${id}-means` };
  const control =
    type === "select"
      ? markup`<select${attributes(common)}>${Object.entries(options!).map(([choice, shown]) => markup`<option${attributes({ value: choice, selected: choice === value })}>${textOf(shown)}</option>`)}</select>`
      : markup`<input${attributes({ ...common, type, ...more, value: value ?? more.value, placeholder: text, ...described })}>`;
  const meaning = means && markup`<span class="under" id="${id}-means">${view.text(means)}</span>`;
  const says = label && view.text(label, { least: more.min ?? 0, most: more.max ?? 0 });
  return markup`<p${attributes({ class: classes("field", named) })}><label for="${id}">${says}</label>${control}${meaning}</p>`;
}

interface FormOptions {
  /** Where the form leads. */
  method?: "get" | "post";
  /** The parameters in the path of the action. */
  params?: Readonly<Record<string, string>>;
  /** What the inputs contain. Several values of one input are hidden. */
  values?: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** What its texts say. */
  texts?: Readonly<Record<string, string | number>>;
  /** Makes the ids of its inputs different from those of another form. */
  prefix?: string;
  class?: string;
  button?: TextId;
  hint?: Part;
  style?: "primary" | "danger";
  /** What stands after the inputs. */
  more?: Part;
  /** True on the page that says what will happen: what was chosen before is hidden. */
  isConfirmation?: boolean;
}

/** A path of a page or an action, with the parameters of this page or the given ones. */
export function pathTo(view: View, at: string, params: Readonly<Record<string, string>> = {}): string {
  const all: Readonly<Record<string, string>> = { ...view.params, ...params };
  const path = at.replace("{scope}", areaOf(view.merchant));
  return `${view.root}${path.replaceAll(/:(\w+)/g, (_, parameter: string) => all[parameter] ?? "")}`;
}
export const pathOf = (view: View, name: ActionName, params: Readonly<Record<string, string>> = {}): string =>
  pathTo(view, actionOf(name).at, params);

/** The form of an action; nothing for a visitor who may not do it. */
export function form(view: View, name: ActionName, options: FormOptions = {}): Html | undefined {
  if (!mayDo(view, name)) return undefined;
  const { text } = view;
  const entry = actionOf(name);
  const { values = {}, texts = {}, prefix, method = "post", isConfirmation = false } = options;
  const inputs = Object.values(entry.input).flatMap((each) => {
    // A form that leads to the page that says what will happen does not ask for what that page asks for.
    if (method === "get" && each.isLate) return [];
    const isHidden = isConfirmation && !each.isLate;
    const parts = Object.entries(each.inputs).flatMap(([input, how]) => {
      const value = values[input];
      const shown = isHidden ? ({ ...how, type: "hidden" } as const) : how;
      const id = prefix === undefined ? input : `${prefix}-${input}`;
      return (Array.isArray(value) ? value : [value]).map((one: string | undefined) =>
        inputOf(view, input, shown, one, id),
      );
    });
    return each.legend
      ? markup`<fieldset class="scopes"><legend>${text(each.legend)}</legend>${parts}</fieldset>`
      : parts;
  });
  const hint = options.hint ?? (entry.hint && text(entry.hint));
  const isFolded = entry.opens !== undefined && !isConfirmation;
  const style = options.style ?? entry.style;
  const content = markup`<form${attributes({ class: options.class ?? (isFolded ? "stack" : undefined) })} method="${method}" action="${pathOf(view, name, options.params)}">
    ${method === "post" && tokenOf(view.visit.csrf)}${entry.replaces && inputOf(view, "replaces", { type: "hidden" }, nameOf(values))}${isFolded && hint && soft(hint)}${inputs}${!isFolded && hint && soft(hint)}${options.more}
    <button${attributes({ class: style })}>${text(options.button ?? entry.button, texts)}</button>
  </form>`;
  return isFolded ? markup`<details><summary>${text(entry.opens!)}</summary>${content}</details>` : content;
}
