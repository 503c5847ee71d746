// Makes texts from the target safe to display. They are untrusted, because a response may contain escape sequences that
// move a terminal's cursor, characters that XML forbids, or marks that reverse the direction of text.
import { inspect } from "node:util";

/**
 * Matches control characters except tab and newline, direction marks, zero-width characters, noncharacters and lone
 * surrogates.
 */
const unseen =
  // oxlint-disable-next-line no-control-regex -- this expression has to match control characters
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ufffe\uffff]|[\u{e0000}-\u{e0fff}]|\p{Surrogate}/gu;

/** Escapes invisible characters as `\u{…}`, except tabs and newlines. CRLF becomes a newline. */
export function visible(text: string): string {
  return text.replaceAll("\r\n", "\n").replace(unseen, (character) => {
    return `\\u{${character.codePointAt(0)?.toString(16)}}`;
  });
}

/** Escapes invisible characters as `visible` does, and also tabs and newlines. */
export function oneLine(text: string): string {
  return visible(text).replaceAll("\n", "\\n").replaceAll("\t", "\\t");
}

/** Shortens a text to at most `length` characters, without splitting surrogate pairs. */
export function shortened(text: string, length: number): string {
  const characters = Array.from(text);
  return characters.length <= length ? text : `${characters.slice(0, length - 1).join("")}…`;
}

/** Breaks a text into lines of at most `width` characters. A longer word has a line of its own. */
export const wrapped = (text: string, width: number): readonly string[] =>
  text.match(new RegExp(String.raw`\S.{0,${width - 1}}(?=\s|$)|\S+`, "gu")) ?? [];

// Printed texts may come from the target or a program under test. A terminal must not obey their escape sequences.
/* oxlint-disable no-console */

/** Prints to stdout, with escape sequences as text. */
export const print = (text: string): void => console.log(visible(text));

/** Prints to stderr, with escape sequences as text. An error that is not a text is printed with its stack. */
export const complain = (problem: unknown): void =>
  console.error(visible(typeof problem === "string" ? problem : inspect(problem)));
