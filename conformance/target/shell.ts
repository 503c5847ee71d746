// Writes requests as shell commands. Secrets, phone numbers and new references are shell variables and expressions.

/** A text that a command must not contain, and the shell expression that replaces it. */
export type Substitute = { text: string; shell: string };

const singleQuoted = (text: string) => `'${text.replaceAll("'", String.raw`'\''`)}'`;

export const quoted = (text: string) => (/^[\w@%+=:,./-]+$/.test(text) ? text : singleQuoted(text));

/** Returns the name of the shell variable for the value of a secret header: `X_TEAM` for `x-team`. */
export const headerVariable = (name: string) => name.toUpperCase().replaceAll(/[^A-Z0-9]/g, "_");

/** Returns a text as one single-quoted word, which is interrupted for each substitute. */
function shellWord(text: string, substitutes: readonly Substitute[]): string {
  let word = singleQuoted(text);
  for (const { text: hidden, shell } of substitutes)
    word = word.replaceAll(singleQuoted(hidden).slice(1, -1), () => `'"${shell}"'`);
  return word;
}

/** The longest body that a command contains. */
const longestBody = 4000;

export type CurlRequest = {
  method: string;
  url: string;
  headers: Record<string, string | string[]>;
  body?: Buffer;
  /** Further options for curl, as shell words. */
  flags?: readonly string[];
};

/**
 * Returns a shell command that repeats a request, or a shell comment that says why no command can repeat it. The caller
 * must redact secrets that the substitutes do not cover.
 * @param variables the expression for the whole value of a header, by the header's name in lower case
 */
export function curlLine(
  { method, url, headers, body, flags = [] }: CurlRequest,
  substitutes: readonly Substitute[],
  variables: Readonly<Record<string, string>>,
): string {
  const text = body?.toString("utf8") ?? "";
  if (body && (body.length > longestBody || text.includes("\0") || !Buffer.from(text).equals(body)))
    return `# The body of ${body.length} bytes is too long for a command, or no text. Re-run the check.`;
  const words = ["curl -i", method === "HEAD" ? "--head" : `-X ${quoted(method)}`, ...flags];
  words.push("--globoff --path-as-is", shellWord(url, substitutes));
  for (const [name, values] of Object.entries(headers)) {
    const lower = name.toLowerCase();
    if (lower === "content-length" || lower === "host") continue;
    for (const value of [values].flat()) {
      const shell = variables[lower] ?? substitutes.find((substitute) => substitute.text === value)?.shell;
      if (shell !== undefined) words.push("-H", `"${name}: ${shell}"`);
      else words.push("-H", shellWord(value === "" ? `${name};` : `${name}: ${value}`, substitutes));
    }
  }
  // curl would otherwise add a Content-Type of its own.
  const hasType = Object.keys(headers).some((name) => name.toLowerCase() === "content-type");
  if (body && !hasType) words.push("-H 'content-type:'");
  if (body) words.push("--data-binary", shellWord(text, substitutes));
  return words.join(" ");
}
