import type { Request } from "express";
import { digestOf, type Input } from "../../actions/action.ts";
import { actionOf, type ActionName } from "../../actions/index.ts";
import { isTextId } from "../../texts/index.ts";
import { attributes, card, classes, markup, soft, type Html, type Part } from "./html.ts";
import { formIdOf, mayDo, type View, type Words } from "./view.ts";

/** The hidden input with which a form proves that a page of this session sent it. */
export const tokenOf = (csrf: string): Html => markup`<input type="hidden" name="csrf" value="${csrf}">`;

/** The input of a form. */
export function inputOf({ t }: Words, name: string, input: Input, value: string | undefined): Html {
  const { label, type = "text", options = {}, required, attributes: more = {}, class: named } = input;
  if (type === "hidden" || type === "once") return markup`<input type="hidden" name="${name}" value="${value ?? ""}">`;
  const says = label && t(label);
  const placeholder = input.placeholder && t(input.placeholder);
  if (type === "checkbox")
    return markup`<label><input type="checkbox" name="${name}" value="yes"> <code>${placeholder}</code> ${says}</label>`;
  const common = { name, required };
  const choices = Object.entries(options).map(([choice, shown]) => {
    return markup`<option${attributes({ value: choice, selected: choice === value })}>${t(shown)}</option>`;
  });
  const control =
    type === "select"
      ? markup`<select${attributes(common)}>${choices}</select>`
      : type === "textarea"
        ? markup`<textarea${attributes({ ...common, ...more, placeholder })}>${value}</textarea>`
        : markup`<input${attributes({ ...common, type, ...more, value: value ?? more.value, placeholder })}>`;
  return markup`<label${attributes({ class: classes("field", named) })}>${says}${control}</label>`;
}

interface FormOptions {
  /** The parameters in the path of the action. */
  params?: Readonly<Record<string, string>>;
  /** What the inputs contain. Several values of one input are hidden. */
  values?: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** What the button names after the words of the action. */
  about?: Part;
  class?: string;
  /** True if everything was chosen before, as on the page that asks. */
  hidesInputs?: boolean;
}

export const pathOf = (view: View, name: ActionName, params?: Readonly<Record<string, string>>): string =>
  view.pathTo(actionOf(name).at, params);

/** What a query has for an action whose form leads to the page that asks. */
export const sentFor = (name: ActionName, query: Request["query"]): Record<string, string[]> =>
  Object.fromEntries(
    Object.values(actionOf(name).input)
      .filter(({ onConfirm }) => !onConfirm)
      .flatMap(({ inputs }) => Object.keys(inputs))
      .map((each) => [each, [query[each]].flat().filter((value) => typeof value === "string")]),
  );

/** The form of an action, or the form that leads to the page that asks; nothing for a visitor who may not do it. */
export function form(view: View, name: ActionName, options: FormOptions = {}): Html | undefined {
  if (!mayDo(view, name)) return undefined;
  const { t } = view;
  const { input, asks, replaces, isFolded, style } = actionOf(name);
  const { values = {}, about, hidesInputs = false } = options;
  const leadsOn = asks !== undefined && !hidesInputs;
  const inputs = Object.values(input).flatMap((each) => {
    if (leadsOn && each.onConfirm) return [];
    const isHidden = hidesInputs && !each.onConfirm;
    const parts = Object.entries(each.inputs).flatMap(([key, how]) => {
      const shown = isHidden ? ({ ...how, type: "hidden" } as const) : how;
      const all = how.type === "once" ? [formIdOf(view)] : [values[key]].flat();
      return all.map((value: string | undefined) => inputOf(view, key, shown, value));
    });
    return each.legend ? markup`<fieldset class="scopes"><legend>${t(each.legend)}</legend>${parts}</fieldset>` : parts;
  });
  const hintId: string = `${name}.hint`;
  const hint = isTextId(hintId) && soft(t({ say: hintId }));
  const how = { class: options.class ?? (isFolded && "stack"), method: leadsOn ? "get" : "post" };
  const content = markup`<form${attributes({ ...how, action: pathOf(view, name, options.params) })}>
    ${!leadsOn && tokenOf(view.visit.csrf)}${replaces && inputOf(view, "replaces", { type: "hidden" }, digestOf(values))}${isFolded && hint}${inputs}${!isFolded && hint}
    <button${attributes({ class: style })}>${about === undefined ? t(name) : markup`<span>${t(name)} ${about}</span>`}${leadsOn && "…"}</button>
  </form>`;
  return isFolded ? markup`<details><summary>${t(name)}…</summary>${content}</details>` : content;
}

/** The form of an action in a card, whose title is the words of the action, unless the folded form begins with them. */
export function formCard(view: View, name: ActionName, options: FormOptions & { below?: Part } = {}): Html | undefined {
  const content = form(view, name, options);
  const title = actionOf(name).isFolded ? undefined : view.t(name);
  return content && card([content, options.below], { id: title && name, title, class: "stack", isLive: true });
}
