import { headerVariable, printed, shellWord, singleQuoted, type Substitute } from "./shell.ts";

/** The longest body that a command contains as text. */
const longestWord = 4000;
/** The longest body that the shell may compute. Linux limits an argument to 128 KiB. */
const longestBody = 100_000;

export type CurlRequest = {
  method: string;
  url: string;
  headers: Record<string, string | string[]>;
  body?: Buffer;
  /** Further options for curl, as shell words. */
  flags?: readonly string[];
};

function headerWords(
  { headers, body }: CurlRequest,
  substitutes: readonly Substitute[],
  secretHeaders: readonly string[],
): string[] {
  const words: string[] = [];
  for (const [name, values] of Object.entries(headers)) {
    const lower = name.toLowerCase();
    if (lower === "content-length" || lower === "host") continue;
    if (secretHeaders.some((secret) => secret.toLowerCase() === lower)) {
      words.push("-H", `"${name}: \${${headerVariable(name)}:?}"`);
      continue;
    }
    for (const value of [values].flat()) {
      words.push("-H", shellWord(value === "" ? `${name};` : `${name}: ${value}`, substitutes));
    }
  }
  // curl would otherwise add a Content-Type of its own.
  const typed = Object.keys(headers).some((name) => name.toLowerCase() === "content-type");
  return body && !typed ? [...words, "-H", "'content-type:'"] : words;
}

/**
 * Returns a shell command that repeats a request, or a shell comment that says why no command can repeat it. The caller
 * must redact secrets that `substitutes` do not cover.
 * @param secretHeaders the names of the headers whose values are read from variables
 */
export function curlLine(
  request: CurlRequest,
  substitutes: readonly Substitute[],
  secretHeaders: readonly string[] = [],
): string {
  const { method, url, body, flags = [] } = request;
  const words = ["curl -i", method === "HEAD" ? "--head" : `-X ${singleQuoted(method).replaceAll(/^'(\w+)'$/g, "$1")}`];
  words.push(...flags, "--globoff --path-as-is", shellWord(url, substitutes));
  words.push(...headerWords(request, substitutes, secretHeaders));
  if (!body) return words.join(" ");
  const text = body.toString("utf8");
  const isText = Buffer.from(text, "utf8").equals(body) && !text.includes("\0");
  const word = isText ? shellWord(text, substitutes) : printed(body);
  if (word.length > longestWord || body.length > longestBody)
    return `# The body of ${body.length} bytes is too long for a command. Re-run the check.`;
  if (isText) return [...words, "--data-binary", word].join(" ");
  return `${word} | ${[...words, "--data-binary", "@-"].join(" ")}`;
}
