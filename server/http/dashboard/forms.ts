import type { Request } from "express";
import { digestOf, type Input } from "../../actions/action.ts";
import { actionOf, type ActionName } from "../../actions/index.ts";
import type { Said, TextId } from "../../texts/index.ts";
import { attributes, classes, code, Html, markup, soft, type Part } from "./html.ts";
import { formIdOf, mayDo, type View, type Words } from "./view.ts";

/** The hidden input with which a form proves that a page of this session sent it. */
export const tokenOf = (csrf: string): Html => markup`<input type="hidden" name="csrf" value="${csrf}">`;

/** The input of a form. @param id by which its label finds it */
export function inputOf(words: Words, name: string, input: Input, value: string | undefined, id = name): Html {
  const { label, type = "text", means, placeholder, options, required, attributes: more = {}, class: named } = input;
  const textOf = (of: TextId | { text: string } | Said | undefined) =>
    typeof of === "string" ? words.text(of) : of && "text" in of ? of.text : of && words.said(of);
  const text = textOf(placeholder);
  if (type === "hidden" || type === "once") return markup`<input type="hidden" name="${name}" value="${value ?? ""}">`;
  if (type === "checkbox")
    return markup`<label><input type="checkbox" name="${name}" value="yes"> ${code(String(text))} ${label && words.text(label)}</label>`;
  const common = { id, name, required };
  const described = { "aria-describedby": means && `${id}-means` };
  const choices = Object.entries(options ?? {}).map(
    ([choice, shown]) =>
      markup`<option${attributes({ value: choice, selected: choice === value })}>${textOf(shown)}</option>`,
  );
  const control =
    type === "select"
      ? markup`<select${attributes(common)}>${choices}</select>`
      : markup`<input${attributes({ ...common, type, ...more, value: value ?? more.value, placeholder: text, ...described })}>`;
  const meaning = means && markup`<span class="under" id="${id}-means">${words.text(means)}</span>`;
  const says = label && words.text(label, { least: more.min ?? 0, most: more.max ?? 0 });
  return markup`<p${attributes({ class: classes("field", named) })}><label for="${id}">${says}</label>${control}${meaning}</p>`;
}

interface FormOptions {
  /** The parameters in the path of the action. */
  params?: Readonly<Record<string, string>>;
  /** What the inputs contain. Several values of one input are hidden. */
  values?: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** What its texts say. */
  texts?: Readonly<Record<string, string | number>>;
  /** Makes the ids of its inputs different from those of another form. */
  prefix?: string;
  class?: string;
  button?: TextId | Html | undefined;
  hint?: Part;
  style?: "primary" | "danger" | undefined;
  /** True if everything was chosen before, as on the page that asks. */
  hidesInputs?: boolean;
}

export const pathOf = (view: View, name: ActionName, params?: Readonly<Record<string, string>>): string =>
  view.pathTo(actionOf(name).at, params);

/** What a query has for an action whose form leads to the page that asks. */
export const sentFor = (name: ActionName, query: Request["query"]): Record<string, string[]> =>
  Object.fromEntries(
    Object.values(actionOf(name).input)
      .filter(({ isLate }) => !isLate)
      .flatMap(({ inputs }) => Object.keys(inputs))
      .map((each) => [each, [query[each]].flat().filter((value) => typeof value === "string")]),
  );

/** The form of an action, or the form that leads to the page that asks; nothing for a visitor who may not do it. */
export function form(view: View, name: ActionName, options: FormOptions = {}): Html | undefined {
  if (!mayDo(view, name)) return undefined;
  const { text } = view;
  const entry = actionOf(name);
  const { values = {}, texts = {}, prefix, hidesInputs = false, button = entry.button, style = entry.style } = options;
  const leadsOn = entry.asks !== undefined && !hidesInputs;
  const inputs = Object.values(entry.input).flatMap((each) => {
    if (leadsOn && each.isLate) return [];
    const isHidden = hidesInputs && !each.isLate;
    const parts = Object.entries(each.inputs).flatMap(([input, how]) => {
      const shown = isHidden ? ({ ...how, type: "hidden" } as const) : how;
      const id = prefix === undefined ? input : `${prefix}-${input}`;
      const all = how.type === "once" ? [formIdOf(view)] : [values[input]].flat();
      return all.map((value: string | undefined) => inputOf(view, input, shown, value, id));
    });
    return each.legend
      ? markup`<fieldset class="scopes"><legend>${text(each.legend)}</legend>${parts}</fieldset>`
      : parts;
  });
  const hint = options.hint ?? (entry.hint && text(entry.hint));
  const isFolded = entry.opens !== undefined && !hidesInputs;
  const about = { class: options.class ?? (isFolded ? "stack" : undefined), method: leadsOn ? "get" : "post" };
  const content = markup`<form${attributes({ ...about, action: pathOf(view, name, options.params) })}>
    ${!leadsOn && tokenOf(view.visit.csrf)}${entry.replaces && inputOf(view, "replaces", { type: "hidden" }, digestOf(values))}${isFolded && hint && soft(hint)}${inputs}${!isFolded && hint && soft(hint)}
    <button${attributes({ class: style })}>${button instanceof Html ? button : text(button, texts)}</button>
  </form>`;
  return isFolded ? markup`<details><summary>${text(entry.opens!)}</summary>${content}</details>` : content;
}
