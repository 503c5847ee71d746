// Everything in a report that came from the target is hostile until shown otherwise: an answer may hold escape sequences
// that move a terminal's cursor, characters that XML forbids, or marks that reverse the direction of text.

/** Control characters (C0 without tab and newline, DEL, C1), marks that change the direction of text or take no room, lone surrogates. */
const unseen =
  // oxlint-disable-next-line no-control-regex -- control characters are what this is about
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ufffe\uffff]|[\u{e0000}-\u{e0fff}]|\p{Surrogate}/gu;

/** Writes what cannot be seen as `\u{…}`. Tabs and line ends stay. */
export function visible(text: string): string {
  return text.replaceAll("\r\n", "\n").replace(unseen, (character) => {
    return `\\u{${character.codePointAt(0)?.toString(16)}}`;
  });
}

/** As `visible`, on one line: line ends and tabs are written out too. */
export function oneLine(text: string): string {
  return visible(text).replaceAll("\n", "\\n").replaceAll("\t", "\\t");
}

/** At most `length` characters, never half of one. */
export function shortened(text: string, length: number): string {
  const characters = Array.from(text);
  return characters.length <= length ? text : `${characters.slice(0, length - 1).join("")}…`;
}
