/** Removes secrets from a text. */
export type Redact = (text: string) => string;

/** Replaces the key, and all but the last three digits of a phone number. */
export function redact(text: string, key: string, phoneNumber: string): string {
  const withoutKey = key ? text.replaceAll(key, "[key]") : text;
  // A shorter text is not a phone number, and may occur anywhere.
  return phoneNumber.length > 5 ? withoutKey.replaceAll(phoneNumber, `…${phoneNumber.slice(-3)}`) : withoutKey;
}

/** Copies JSON data and removes secrets from its texts. Works on the parsed data, because JSON can escape a secret. */
export function redactData(data: unknown, withoutSecrets: Redact): unknown {
  return JSON.parse(JSON.stringify(data ?? null), (_, value) =>
    typeof value === "string" ? withoutSecrets(value) : value,
  );
}

interface Failure {
  message?: string;
  code?: string;
  cause?: Failure;
}

/** Copies the messages and the first code of an error and its causes. The rest can contain the request, and its key. */
export function copyError(thrown: unknown, withoutSecrets: Redact): Error & { code?: string | undefined } {
  const texts: unknown[] = [];
  let code: string | undefined;
  for (let error = thrown as Failure | undefined; error && texts.length < 5; error = error.cause) {
    texts.push(error.message);
    code ??= error.code;
  }
  return Object.assign(new Error(withoutSecrets(texts.join(": ") + (code ? ` (${code})` : ""))), { code });
}
