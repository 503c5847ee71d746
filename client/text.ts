/** Removes secrets from a text. */
export type Redact = (text: string) => string;

/** Replaces the key, and all but the last three digits of the phone number. `phoneNumber` may have any type. */
export function redact(text: string, key: string | undefined, phoneNumber: unknown): string {
  const withoutKey = key ? text.replaceAll(key, "[key]") : text;
  // Five characters or less are not a phone number, and may occur in the text by chance.
  const digits = `${phoneNumber}`;
  return phoneNumber && digits.length > 5 ? withoutKey.replaceAll(digits, `…${digits.slice(-3)}`) : withoutKey;
}

/** Copies JSON data and removes secrets from its texts. Works on the parsed data, because JSON can escape a secret. */
export function redactData(data: unknown, withoutSecrets: Redact): unknown {
  return JSON.parse(JSON.stringify(data ?? null), (_, value) =>
    typeof value === "string" ? withoutSecrets(value) : value,
  );
}

/** Parses JSON. Returns undefined if the text is not valid JSON. */
export function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The text is not JSON.
  }
}

export function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}
