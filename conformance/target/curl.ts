const quoted = (text: string) => `'${text.replaceAll("'", String.raw`'\''`)}'`;

const hex = (byte: number) => String.raw`\x${byte.toString(16).padStart(2, "0")}`;

/**
 * Returns a body as a shell word. The number in a `phoneNumber` field becomes `$RECIPIENT`. A body that is not UTF-8,
 * or that contains NUL, is escaped byte by byte.
 */
function bodyWord(body: Buffer): string {
  const text = body.toString("utf8");
  if (!Buffer.from(text, "utf8").equals(body) || text.includes("\0")) {
    return `$'${[...body].map((byte) => (byte < 32 || byte > 126 || byte === 39 || byte === 92 ? hex(byte) : String.fromCharCode(byte))).join("")}'`;
  }
  return quoted(text).replaceAll(/("phoneNumber"\s*:\s*")\d{10,15}"/g, `$1'"$RECIPIENT"'"`);
}

export type CurlRequest = {
  method: string;
  url: string;
  headers: Record<string, string>;
  /** The name of the shell variable that holds the key; undefined or empty if the request has no key. */
  keyVariable?: string;
  body?: Buffer;
};

/**
 * Returns a shell command that repeats a request. It reads the key from a variable. The caller must redact the rest.
 */
export function curlLine({ method, url, headers, keyVariable, body }: CurlRequest): string {
  const words = ["curl -i", "-X", method, "--path-as-is", quoted(url)];
  if (keyVariable) words.push("-H", `"x-api-key: $${keyVariable}"`);
  for (const [name, value] of Object.entries(headers)) {
    if (name.toLowerCase() !== "content-length" && name.toLowerCase() !== "x-api-key") {
      words.push("-H", quoted(value === "" ? `${name};` : `${name}: ${value}`));
    }
  }
  if (body && body.length > 2000) words.push("--data-binary", `@body # ${body.length} bytes, see the report`);
  else if (body) words.push("--data-binary", bodyWord(body));
  return words.join(" ");
}
