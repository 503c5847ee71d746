/** Removes secrets from a text and masks phone numbers in it. */
export type Redact = (text: string) => string;

const masked = "[redacted]";

/** Headers whose values are never recorded. A recorder also hides the values of the `--header` options. */
const secretHeaders = new Set([
  "x-api-key",
  "authorization",
  "proxy-authorization",
  "cookie",
  "set-cookie",
  "webhook-signature",
]);

/** Masks all digits of a phone number except the last three. */
export const maskPhone = (phone: string) => phone.replaceAll(/\d(?=\d{3})/g, "*");

const phoneField = /("phone_?number"\s*:\s*"?\+?)(\d{4,})/gi;

/**
 * Creates a function that redacts secrets wherever they occur. It masks phone numbers in `phoneNumber` fields, and the
 * numbers in `phones` wherever they occur.
 * @param secrets API keys, webhook secrets and values of `--header`
 * @param phones phone numbers of real people
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

/** Returns headers with their values redacted. Several values of a header are joined with commas. */
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
