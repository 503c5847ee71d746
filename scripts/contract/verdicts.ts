// What each kind of change means for a merchant's program. Programs tolerate what the contract's section
// "Compatibility" demands.

/** `unclear`: the effect of a change could not be decided. It is treated as breaking. */
export type Verdict = "breaking" | "unclear" | "compatible";

/**
 * Who writes a value. Merchants write requests and responses to webhooks. The service writes responses and webhooks. A
 * change breaks a merchant's program in two ways: the program writes values that are no longer valid, or it reads
 * values that it does not know.
 */
export type Writer = "merchant" | "service";

export const other = (writer: Writer): Writer => (writer === "merchant" ? "service" : "merchant");

interface Rule {
  /** What happened, in words. */
  says: string;
  merchant: Verdict;
  service: Verdict;
}

const rule = (says: string, merchant: Verdict, service: Verdict): Rule => ({ says, merchant, service });
const always = (says: string, verdict: Verdict): Rule => rule(says, verdict, verdict);

export const RULES = {
  text: always("a text, an example or an extension changed", "compatible"),
  unknown: always("this changed, and no rule judges it", "unclear"),
  // Values
  narrower: rule("fewer values are valid", "breaking", "compatible"),
  wider: rule("more values are valid", "compatible", "breaking"),
  different: always("other values are valid", "breaking"),
  incomparable: always("values may have become valid or invalid", "unclear"),
  // Readers expect enums to grow.
  valueAdded: always("a value was added to the list", "compatible"),
  // An open list (`anyOf` a list and any string) only states what readers expect anyway.
  listOpened: always("values outside the list may be added later", "compatible"),
  listClosed: rule("values outside the list are no longer valid", "breaking", "compatible"),
  branchAdded: rule("more values are valid", "compatible", "breaking"),
  branchRemoved: rule("fewer values are valid", "breaking", "compatible"),
  valueRemoved: rule("a value was removed from the list", "breaking", "compatible"),
  // A generator chooses the type of a field by its format.
  formatAdded: rule("a format was added", "breaking", "unclear"),
  defaultChanged: rule("leaving this out means something else", "breaking", "compatible"),
  // Properties, parameters, headers, bodies
  added: always("added, optional", "compatible"),
  addedRequired: rule("added, required", "breaking", "compatible"),
  addedToClosed: rule("added to an object that allowed no others", "compatible", "breaking"),
  removed: always("removed", "breaking"),
  nowRequired: rule("now required", "breaking", "compatible"),
  nowOptional: rule("no longer required", "compatible", "breaking"),
  // Operations
  operationAdded: always("added", "compatible"),
  operationRemoved: always("removed", "breaking"),
  // Readers treat an unknown error like 400 or 500, but not an unknown success.
  errorStatusAdded: always("an error status was added", "compatible"),
  errorStatusRemoved: rule("an error status was removed", "breaking", "unclear"),
  successStatusAdded: rule("a status that is no error was added", "compatible", "breaking"),
  successStatusRemoved: always("a status that is no error was removed", "breaking"),
  contentTypeAdded: rule("a content type was added", "compatible", "unclear"),
  contentTypeRemoved: always("a content type was removed", "breaking"),
  encoding: always("the value is written in another way", "breaking"),
  authorised: always("other requests are authorised", "breaking"),
  // Generated clients
  renamed: always("generated clients use this name", "breaking"),
  grouped: always("some generators group operations by tags", "unclear"),
  typeAdded: always("added", "compatible"),
  typeRemoved: always("removed, and generated clients use this name", "unclear"),
  linkAdded: always("a link was added", "compatible"),
  linkRemoved: always("a link was removed or changed", "breaking"),
  serverAdded: always("a server was added", "compatible"),
  serverRemoved: always("a server was removed", "unclear"),
} satisfies Record<string, Rule>;

export type RuleName = keyof typeof RULES;

/** A part of the contract whose values are compared, and who writes these values. */
export interface Place {
  /** An operation or a component, then the way to the part: `schemas/Amount > minimum`. */
  where: string;
  writer: Writer;
}

export const inside = ({ where, writer }: Place, ...parts: string[]): Place => ({
  where: [where, ...parts].filter(Boolean).join(" > "),
  writer,
});

export interface Change extends Place {
  rule: RuleName;
  verdict: Verdict;
  before?: unknown;
  after?: unknown;
}

export const breaks = ({ verdict }: Change): boolean => verdict !== "compatible";

const WRITERS = { merchant: "written by merchants", service: "written by the service" };

/** A change in a sentence for people. */
export function textOf({ rule: name, writer, before, after }: Change): string {
  const [was, is] = [before, after].map(short);
  const values = name !== "text" && (was || is) ? ` (${was ?? "none"} → ${is ?? "none"})` : "";
  return `${RULES[name].says}${values}, ${WRITERS[writer]}`;
}

/** A value that fits into a line. */
function short(value: unknown): string | undefined {
  const text = JSON.stringify(value);
  return text && text.length > 60 ? `${text.slice(0, 60)}…` : text;
}
