import { findersOf } from "./key-forms.ts";

/** Removes secrets from a text and masks the phone numbers of people in it. */
export type Redact = {
  (text: string): string;
  /** Leaves the phone numbers in this request readable from now on, except the numbers of real recipients. */
  learn(request: string): void;
};

export const masked = "[redacted]";

/** Headers whose values are never recorded. A recorder also hides the values of the `--header` options. */
export const secretHeaders: ReadonlySet<string> = new Set([
  "x-api-key",
  "authorization",
  "proxy-authorization",
  "cookie",
  "set-cookie",
  "webhook-signature",
]);

/** Masks all digits of a phone number except the last three. */
export const maskPhone = (phone: string) => phone.replaceAll(/\d(?=\d{3})/g, "*");

/** A phone number in a field of that name. */
export const phoneField = /("phone_?number"\s*:\s*"?\+?)(\d{4,})/gi;

/** How many texts without a secret are kept, and how many characters these may have. */
const mostKept = 200;

/** Returns a function that removes secrets in every form of key-forms.ts. */
export function secretsRemover(secrets: readonly string[]): (text: string) => string {
  const longestFirst = [...new Set(secrets.filter((secret) => secret.length > 0))].toSorted(
    (a, b) => b.length - a.length,
  );
  const finders = longestFirst.flatMap(findersOf);
  // Most texts are names and values of headers, which come again with every exchange.
  const harmless = new Set<string>();
  return (text) => {
    if (harmless.has(text)) return text;
    let result = text;
    for (const { hint, pattern } of finders) if (hint(result)) result = result.replaceAll(pattern(), masked);
    if (result === text && text.length <= mostKept && harmless.size < mostKept) harmless.add(text);
    return result;
  };
}

/**
 * Creates a function that redacts secrets wherever they occur, in every form of key-forms.ts. It masks the numbers in
 * `phones` wherever they occur. In `phoneNumber` fields it masks every number that the suite did not send, because the
 * target may return the numbers of other people. Numbers that the suite made up stay readable, because masking the
 * number would change the request.
 * @param secrets API keys, webhook secrets and values of `--header`
 * @param phones phone numbers of real people
 */
export function createRedactor(secrets: readonly string[], phones: readonly string[]): Redact {
  const removeSecrets = secretsRemover(secrets);
  const madeUp = new Set<string>();
  const redact = (text: string) => {
    let result = text;
    for (const phone of phones) result = result.replaceAll(phone, maskPhone(phone));
    result = result.replaceAll(
      phoneField,
      (_, before: string, digits: string) => before + (madeUp.has(digits) ? digits : maskPhone(digits)),
    );
    return removeSecrets(result).replaceAll(/whsec_[A-Za-z0-9+/]+=*/g, masked);
  };
  const learn = (request: string) => {
    for (const [, , digits = ""] of request.matchAll(phoneField)) madeUp.add(digits);
  };
  return Object.assign(redact, { learn });
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
      redact(name),
      hidden.has(name.toLowerCase()) ? masked : redact([value ?? ""].flat().join(", ")),
    ]),
  );
}
