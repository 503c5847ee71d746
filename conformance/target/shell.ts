// Writes texts as words of a POSIX shell. The shell computes texts that a report must not show, and texts that must
// differ in a repetition.

import { keyForms } from "./key-forms.ts";

/** A text that a command must not contain, and the shell expression that replaces it. */
export type Substitute = { text: string | RegExp; shell: string };

/** A part of a word: literal text, or an expression that the shell expands. */
type Part = { literal: string } | { shell: string };

export const singleQuoted = (text: string) => `'${text.replaceAll("'", String.raw`'\''`)}'`;

/** Returns a text as one word, quoted if it has to be. */
export const quoted = (text: string) => (/^[\w@%+=:,./-]+$/.test(text) ? text : singleQuoted(text));

/** Returns the name of the shell variable for the value of a secret header: `X_TEAM` for `x-team`. */
export const headerVariable = (name: string) => name.toUpperCase().replaceAll(/[^A-Z0-9]/g, "_");

/** A run of one character that is long enough to let the shell repeat the character. */
const longRun = /([^'"\\$`!\P{ASCII}\p{Cc}])\1{63,}/u;

function split(parts: readonly Part[], { text, shell }: { text: RegExp; shell: (found: string) => string }): Part[] {
  return parts.flatMap((part) => {
    if (!("literal" in part)) return [part];
    const found: Part[] = [];
    let rest = part.literal;
    for (let match = text.exec(rest); match && match[0] !== ""; match = text.exec(rest)) {
      found.push({ literal: rest.slice(0, match.index) }, { shell: shell(match[0]) });
      rest = rest.slice(match.index + match[0].length);
    }
    return [...found, { literal: rest }];
  });
}

const escaped = (text: string) => new RegExp(text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`));

const repeated = (run: string) => String.raw`$(head -c ${run.length} /dev/zero | tr '\0' '${run[0]}')`;

/** Returns a text as one shell word, in which each substitute is replaced by its expression. */
export function shellWord(text: string, substitutes: readonly Substitute[]): string {
  let parts: Part[] = [{ literal: text }];
  for (const { text: hidden, shell } of substitutes) {
    // Most words contain no substitute.
    if (typeof hidden === "string" && !text.includes(hidden)) continue;
    parts = split(parts, { text: typeof hidden === "string" ? escaped(hidden) : hidden, shell: () => shell });
  }
  parts = split(parts, { text: longRun, shell: repeated }).filter(
    (part) => !("literal" in part && part.literal === ""),
  );
  const plain = parts.every((part) => "shell" in part || !/["$\\`!]/.test(part.literal));
  if (plain && parts.some((part) => "shell" in part)) {
    return `"${parts.map((part) => ("shell" in part ? part.shell : part.literal)).join("")}"`;
  }
  return parts.map((part) => ("shell" in part ? `"${part.shell}"` : singleQuoted(part.literal))).join("") || "''";
}

/** Returns a command that prints these bytes, including bytes that no shell word can contain. */
export function printed(bytes: Buffer): string {
  const shown = [...bytes].map((byte) => {
    if (byte === 37) return "%%";
    const plain = byte >= 32 && byte <= 126 && byte !== 39 && byte !== 92;
    return plain ? String.fromCharCode(byte) : `\\${byte.toString(8).padStart(3, "0")}`;
  });
  return `printf '${shown.join("")}'`;
}

/** Returns substitutes for a key and its forms. */
export function keySubstitutes(key: string, variable: string): Substitute[] {
  const forms = keyForms.flatMap(({ of, shell }) => (shell ? [[of(key), shell(variable, key)] as const] : []));
  // From the longest to the shortest, so that no form is cut by the replacement of another. The braces separate the
  // variable from what follows it.
  const all = [[key, `\${${variable}}`] as const, ...forms.toSorted(([a], [b]) => b.length - a.length)];
  const distinct = all.filter(([text], index) => text !== "" && all.findIndex(([other]) => other === text) === index);
  return distinct.map(([text, shell]) => ({ text, shell }));
}
