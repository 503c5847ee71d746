import { nameOf, type Input } from "../../actions/action.ts";
import { actionOf, type ActionName } from "../../actions/index.ts";
import type { TextId } from "../../texts/index.ts";
import { attributes, back, card, classes, code, Html, items, markup, soft, type Part } from "./html.ts";
import { mayDo, type View, type Words } from "./view.ts";

/** The hidden input with which a form proves that a page of this session sent it. */
export const tokenOf = (csrf: string): Html => markup`<input type="hidden" name="csrf" value="${csrf}">`;

/** The input of a form. @param id by which its label finds it */
export function inputOf(words: Words, name: string, input: Input, value: string | undefined, id = name): Html {
  const { label, type = "text", means, placeholder, options, required, attributes: more = {}, class: named } = input;
  const textOf = (of: TextId | { text: string } | undefined) => (typeof of === "string" ? words.text(of) : of?.text);
  const text = textOf(placeholder);
  if (type === "hidden") return markup`<input type="hidden" name="${name}" value="${value ?? ""}">`;
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
  /** True on the page that says what will happen: what was chosen before is hidden. */
  isConfirmation?: boolean;
}

export const pathOf = (view: View, name: ActionName, params?: Readonly<Record<string, string>>): string =>
  view.pathTo(actionOf(name).at, params);

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
      const shown = isHidden ? ({ ...how, type: "hidden" } as const) : how;
      const id = prefix === undefined ? input : `${prefix}-${input}`;
      return [values[input]].flat().map((value: string | undefined) => inputOf(view, input, shown, value, id));
    });
    return each.legend
      ? markup`<fieldset class="scopes"><legend>${text(each.legend)}</legend>${parts}</fieldset>`
      : parts;
  });
  const hint = options.hint ?? (entry.hint && text(entry.hint));
  const isFolded = entry.opens !== undefined && !isConfirmation;
  const style = options.style ?? entry.style;
  const content = markup`<form${attributes({ class: options.class ?? (isFolded ? "stack" : undefined) })} method="${method}" action="${pathOf(view, name, options.params)}">
    ${method === "post" && tokenOf(view.visit.csrf)}${entry.replaces && inputOf(view, "replaces", { type: "hidden" }, nameOf(values))}${isFolded && hint && soft(hint)}${inputs}${!isFolded && hint && soft(hint)}
    <button${attributes({ class: style })}>${text(options.button ?? entry.button, texts)}</button>
  </form>`;
  return isFolded ? markup`<details><summary>${text(entry.opens!)}</summary>${content}</details>` : content;
}

interface Asked extends FormOptions {
  /** Where people go who change nothing. */
  backTo: string;
  question: Part;
  /** What stands before the effects. */
  before?: Part;
  effects: readonly Part[];
}

/** The page that says what an action will do, and asks whether to do it. */
export const asking = (view: View, name: ActionName, { backTo, question, before, effects, ...options }: Asked): Html =>
  markup`${back(backTo, view.t("backChangeNothing"))}<h1>${question}</h1>
${card([before, items(effects), form(view, name, { ...options, isConfirmation: true })], { class: "stack", label: view.t("whatWillHappen") })}`;
