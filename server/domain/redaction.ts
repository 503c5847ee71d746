/** The text that is shown instead of a value that must not be stored. */
const HIDDEN = "[hidden]";
const LONGEST_TEXT = 120;
const MOST_ITEMS = 3;
const DEEPEST = 6;

type Show = (value: unknown, context: Context) => unknown;

interface Context {
  /** The key of the request, which a caller may have put elsewhere by mistake. */
  key?: string | undefined;
  depth: number;
}

const shownText: Show = (value, { key }) => {
  if (typeof value === "string") return masked(value, key);
  // A caller may send a phone number as a JSON number. A number in which nothing is redacted stays a number.
  if (typeof value === "number")
    return masked(String(value), key) === String(value) ? value : masked(String(value), key);
  return value === null || typeof value === "boolean" ? value : HIDDEN;
};
/**
 * An amount may have as many digits as a phone number. An amount that is a text has the wrong type, and is shown like
 * any other text.
 */
const shownAmount: Show = (value, context) => (typeof value === "number" ? value : shownText(value, context));
const shownPhone: Show = (value) => (typeof value === "string" && value.length > 6 ? `…${value.slice(-3)}` : HIDDEN);
/** The path and the query of a merchant's address may contain a secret. */
const shownAddress: Show = (value) => {
  const url = typeof value === "string" ? URL.parse(value) : null;
  return url && /^https?:$/.test(url.protocol) ? `${url.origin}/…` : HIDDEN;
};
const shownNested: Show = (value, context) =>
  typeof value === "object" && value !== null ? show(value, context) : HIDDEN;

const fieldsOf = (names: string, how: Show): [string, Show][] => names.split(" ").map((name) => [name, how]);

/** The fields of requests and responses that the log shows, and how. The values of all other fields are hidden. */
const FIELDS = new Map<string, Show>([
  ...fieldsOf("amount fee", shownAmount),
  ...fieldsOf("reference merchantsReference country currency locale status outcome", shownText),
  ...fieldsOf("seconds to now createdAfter createdBefore limit cursor nextCursor", shownText),
  ...fieldsOf("statusCode error message code path id event type createdAt updatedAt nextAttemptAt", shownText),
  ...fieldsOf("number at sentAt latencyMs httpStatus", shownText),
  ...fieldsOf("failedRequestsPercent lostResponsesPercent lostWebhooksPercent", shownText),
  ...fieldsOf("repeatedWebhooksPercent reorderedWebhooksPercent", shownText),
  ...fieldsOf("phoneNumber", shownPhone),
  ...fieldsOf("webhookURL redirectURL url", shownAddress),
  ...fieldsOf("data items fields customer failure attempts body", shownNested),
]);

function show(value: object, { key, depth }: Context): unknown {
  if (depth >= DEEPEST) return HIDDEN;
  const context = { key, depth: depth + 1 };
  if (Array.isArray(value)) {
    const items = value.slice(0, MOST_ITEMS).map((item) => shownNested(item, context));
    return value.length > MOST_ITEMS ? [...items, `${value.length - MOST_ITEMS} more`] : items;
  }
  const shown: Record<string, unknown> = {};
  let others = 0;
  for (const [name, each] of Object.entries(value)) {
    const how = FIELDS.get(name);
    if (how) shown[name] = how(each, context);
    else others += 1;
  }
  // The name of an unknown field may itself be a secret.
  if (others > 0) shown["…"] = `${others} hidden`;
  return shown;
}

/**
 * Returns a JSON text of a body, or of the parameters of a query, that may be stored: without keys, secrets, names and
 * unknown values, and with the last three digits of phone numbers. Undefined if there is nothing to show.
 * @param key the API key of the request
 */
export function redacted(body: unknown, key?: string): string | undefined {
  if (typeof body !== "object" || body === null || body instanceof Uint8Array) return undefined;
  return Object.keys(body).length === 0 ? undefined : JSON.stringify(show(body, { key, depth: 0 }));
}

/** Texts of the service itself, which may contain long runs of digits. */
const OWN =
  /^((DSB|CHK)[0-9A-Z]{24}|(msg|req|key)_[0-9a-z]+|[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}|\d{4}-\d\d-\d\dT[\d:.]+Z)$/;

/**
 * A possible phone number: ten or more digits in any script, together or separated by spaces, dots or parentheses;
 * after a plus sign also by hyphens. References such as 20261122-0001 do not match.
 */
const PHONE = /\+\p{Nd}(?:[\s.()\-‐-―]{0,2}\p{Nd}){9,}|\p{Nd}(?:[\s.()]{0,2}\p{Nd}){9,}/gu;

/** Hides all digits of phone numbers except the last three. */
export const withoutPhones = (text: string): string =>
  text.replace(PHONE, (found) => `${found.startsWith("+") ? "+" : ""}…${found.replace(/\P{Nd}/gu, "").slice(-3)}`);

/** Keys and webhook secrets. Keys without a prefix are hidden only where the request's own key appears. */
const SECRET = /\b(?:(sk|whsec)_[\w+/=-]+|(test|live)_[0-9a-z]{16,})/g;

/** Shortens a text and hides parts that look like a key, a secret or a phone number. */
export function masked(text: string, key?: string): string {
  if (OWN.test(text)) return text;
  const known = key ? text.replaceAll(key, "…") : text;
  const safe = withoutPhones(known.replace(SECRET, "$1$2_…"));
  return safe.length > LONGEST_TEXT ? `${safe.slice(0, LONGEST_TEXT)}…` : safe;
}

/** Returns a phone number with zeros after the first three digits, which are the calling code of most countries (D102). */
export const erasedPhone = (phoneNumber: string): string => phoneNumber.slice(0, 3).padEnd(phoneNumber.length, "0");

/**
 * Returns what a rail said without the phone number. Also removes the number in the form that people of its country
 * dial, which lacks the calling code and may begin with zeros.
 */
export const textWithoutPhone = (text: string, phoneNumber: string): string =>
  text.replaceAll(/\d{7,}/g, (digits) => {
    if (digits.endsWith(phoneNumber)) return digits.slice(0, -phoneNumber.length) + erasedPhone(phoneNumber);
    return phoneNumber.endsWith(digits.replace(/^0+/, "")) ? "0".repeat(digits.length) : digits;
  });
