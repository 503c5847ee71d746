// Makes texts from outside safe to print. Merchants, receivers and servers choose them, and a terminal obeys the escape
// sequences in them.

/** Control and format characters, such as escape sequences and marks that reverse text; line separators; half characters. */
const unsafe = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;
const longestText = 2_048;

/** Replaces what could change how a terminal shows a line. */
export const printable = (line: string): string => line.replaceAll(unsafe, "\u{fffd}");

/** Makes each line of a text printable. */
export const printableLines = (text: string): string => text.split("\n").map(printable).join("\n");

/** Makes a text printable, on one line, and truncates a long text. */
export function printableStart(text: string): string {
  return printable(text.length > longestText ? `${text.slice(0, longestText)}…` : text);
}

const escaped = (text: string) =>
  Array.from({ length: text.length }, (_, at) => `\\u${text.charCodeAt(at).toString(16).padStart(4, "0")}`).join("");

/** Returns a value as JSON whose text a terminal shows as it is. Parsed, the JSON gives the same value. */
export const printableJson = (
  value: unknown,
  indent?: number,
  replacer?: (name: string, value: unknown) => unknown,
): string =>
  JSON.stringify(value, replacer, indent).replaceAll(unsafe, (text) => (text === "\n" ? text : escaped(text)));
