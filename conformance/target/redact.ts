/** Removes secrets and phone numbers from a text. */
export type Redact = (text: string) => string;

const masked = "[redacted]";

/** Headers whose values are never reported. Those given with `--header` are added. */
const secretHeaders = new Set([
  "x-api-key",
  "authorization",
  "proxy-authorization",
  "cookie",
  "set-cookie",
  "webhook-signature",
]);

/** Masks all digits but the last three. */
export const maskPhone = (phone: string) => phone.replaceAll(/\d(?=\d{3})/g, "*");

const phoneField = /("phone_?number"\s*:\s*"?\+?)(\d{4,})/gi;

/**
 * @param secrets API keys and webhook secrets, removed wherever they occur
 * @param phones numbers of real people, masked wherever they occur; other numbers are masked in `phoneNumber` fields
 */
export function createRedactor(secrets: readonly string[], phones: readonly string[]): Redact {
  const hidden = secrets.flatMap((secret) => [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)]);
  const longestFirst = [...new Set(hidden.filter((secret) => secret.length > 0))].toSorted(
    (a, b) => b.length - a.length,
  );
  return (text) => {
    let result = text.replaceAll(phoneField, (_, before: string, digits: string) => before + maskPhone(digits));
    for (const phone of phones) result = result.replaceAll(phone, maskPhone(phone));
    for (const secret of longestFirst) result = result.replaceAll(secret, masked);
    return result.replaceAll(/whsec_[A-Za-z0-9+/]+=*/g, masked);
  };
}

/** Headers with one string each; values of secret headers are removed. */
export function redactHeaders(
  headers: Record<string, string | string[] | undefined>,
  redact: Redact,
  alsoSecret: readonly string[] = [],
): Record<string, string> {
  const hidden = new Set([...secretHeaders, ...alsoSecret.map((name) => name.toLowerCase())]);
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      hidden.has(name.toLowerCase()) ? masked : redact([value ?? ""].flat().join(", ")),
    ]),
  );
}
