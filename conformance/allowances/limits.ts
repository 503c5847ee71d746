// Holds the limits of the target: declared by the caller, or found by the run. Keeps the values of requests inside them.
// Recognises a refusal whose reason may be a limit that nobody has declared or found, so that it cannot be judged.
import { homeOf } from "../generate/countries.ts";
import { describeResponse, type TargetRequest, type TargetResponse } from "../target/exchange.ts";
import { leastOf, type Declaration } from "./declaration.ts";
import { allPairs, madeOf, type Fields } from "./search.ts";
import { exceeded, rendered, table } from "./table.ts";

export type Limits = ReturnType<typeof createLimits>;

/** Creates the limits of a target. `found` is empty until the run adds to it. */
export function createLimits(declared: Declaration = {}) {
  const found: Declaration = {};
  const searched = new Set(Object.keys(declared));
  let isFrozen = false;
  let disproof: string | undefined;
  return {
    declared,
    /** The limits that the run found and the caller did not declare. */
    found,
    get all(): Declaration {
      return { ...declared, ...found };
    },
    add(more: Declaration) {
      if (isFrozen) throw new Error("the limits are frozen");
      Object.assign(found, more);
    },
    /** Ends the search. The limits that apply stay as they are from now on. */
    freeze: () => void (isFrozen = true),
    get isFrozen() {
      return isFrozen;
    },
    /** Why a declared limit is false; undefined if no limit was found to be false. */
    get disproof() {
      return disproof;
    },
    disprove: (why: string) => (disproof ??= why),
    /** Records that the limit of a field was searched for. It is found then, or does not exist. */
    markSearched: (field: keyof Declaration) => void searched.add(field),
    /** Returns true if the limit of a field is declared, found, or does not exist. */
    isKnown: (field: keyof Declaration) => searched.has(field),
  };
}

/** Returns true for a refusal in the shape of the interface's §7 that says that a value in the request is refused. */
export function isCleanRefusal({ status = 0, json, request }: TargetResponse): boolean {
  const checkout = request.path === "/v1/checkouts";
  const refused = checkout
    ? status >= 400 && status < 500 && ![401, 404, 409, 429].includes(status)
    : status === 400 || status === 422;
  const { statusCode, error, message = "" } = (json ?? {}) as Record<string, unknown>;
  return refused && statusCode === status && typeof error === "string" && typeof message === "string";
}

/** Returns true for a create whose refusal may have a limit as its reason. */
const isPlainCreate = ({ method, path, effect, key = "own", body, forced }: TargetRequest) =>
  method === "POST" &&
  (path === "/v1/disbursements" || path === "/v1/checkouts") &&
  effect === "moves-money" &&
  key === "own" &&
  body === undefined &&
  !forced;

/** The narrowest limits that a target may have: it must accept all values inside them. */
function narrowest(recipient: string): Declaration {
  const { country, currency } = homeOf(recipient);
  return {
    largestAmount: leastOf("largestAmount"),
    smallestAmount: 100,
    largestByCurrency: Object.fromEntries(
      allPairs.flatMap((pair) => (pair.currency === currency ? [] : [[pair.currency, leastOf("largestAmount")]])),
    ),
    largestCheckout: leastOf("largestAmount"),
    longestReference: leastOf("longestReference"),
    longestReferenceBytes: leastOf("longestReference"),
    referenceCharacters: "A-Za-z0-9-",
    referenceEnds: "A-Za-z0-9",
    countries: [country],
    currencies: [currency],
    numberRanges: [recipient],
    httpsWebhooks: true,
  };
}

/**
 * Returns why the target may have refused one of these requests, and the line to add to certify.yaml; undefined if each
 * refusal can be judged a failure, because it is not a proper response, or the run knows all limits that may be its
 * reason.
 */
export function unknownLimit(limits: Limits, recipient: string, evidence: readonly TargetResponse[]) {
  for (const response of evidence) {
    if (!isPlainCreate(response.request) || !isCleanRefusal(response)) continue;
    const fields = response.request.json as Fields;
    for (const [field, value] of Object.entries(narrowest(recipient)) as [keyof Declaration, unknown][]) {
      const what = limits.isKnown(field) ? undefined : exceeded({ [field]: value }, fields);
      if (what === undefined) continue;
      const line = `${field}: ${rendered(table[field].example)}`;
      return `the target refused a value, and the run does not know whether it limits ${field}: ${describeResponse(response)}. If it does, add a line such as "${line}" to certify.yaml (--declare)`;
    }
  }
  return undefined;
}

/**
 * Replaces the characters that a reference may not contain, and keeps the end of the reference, which makes it unique.
 * A letter that is not allowed is replaced by the letter in the other case; any other character is removed.
 */
export function fittedReference(
  { longestReference, longestReferenceBytes, referenceCharacters, referenceEnds }: Declaration,
  reference: string,
): string {
  const isAllowed = madeOf(referenceCharacters);
  const kept = [...reference].map((each) => [each, each.toUpperCase(), each.toLowerCase(), ""].find(isAllowed)!);
  let text = (longestReference === undefined ? kept : kept.slice(-longestReference)).join("");
  while (Buffer.byteLength(text) > (longestReferenceBytes ?? Infinity)) text = [...text].slice(1).join("");
  if (referenceEnds === undefined) return text;
  const others = `[^${referenceEnds}]+`;
  return text.replace(new RegExp(`^${others}|${others}$`, "gu"), "");
}

/** Returns the amount or, if it is valid but outside the limits, the nearest amount inside them. */
function fittedAmount(limits: Declaration, { amount, currency, ...fields }: Fields): unknown {
  const { smallestAmount = 1, largestAmount, largestCheckout, largestByCurrency } = limits;
  const isCheckout = !("phoneNumber" in fields) && !("reference" in fields);
  const most = Math.min(
    ...[largestAmount, isCheckout ? largestCheckout : undefined, largestByCurrency?.[String(currency)]].map(
      (limit) => limit ?? Infinity,
    ),
  );
  return exceeded({ smallestAmount, largestAmount: most }, { amount }) === undefined
    ? amount
    : Math.min(most, Math.max(smallestAmount, Number(amount)));
}

const patterns: Record<string, RegExp> = {
  phoneNumber: /^[0-9]{10,15}$/,
  country: /^[A-Z]{2}$/,
  currency: /^[A-Z]{3}$/,
};
const isValid = (name: string, value: unknown) => typeof value === "string" && (patterns[name]?.test(value) ?? false);

const homeWhereValid = (home: Fields, fields: Fields): Fields =>
  Object.fromEntries(Object.entries(home).filter(([name]) => isValid(name, fields[name])));

/**
 * Returns a disbursement whose values are inside the limits. Invalid values stay, because a check sends them on
 * purpose.
 * @param home the country, currency and phone number to use if the target does not serve the disbursement's
 * @param own phone numbers that the caller gave, which always stay
 */
export function fitted(limits: Declaration, fields: Fields, home: Fields, own: readonly unknown[] = []): Fields {
  const { reference, country, currency, phoneNumber } = fields;
  const payee = { country, currency, ...(own.includes(phoneNumber) ? {} : { phoneNumber }) };
  const placed = { ...fields, ...(exceeded(limits, payee) === undefined ? {} : homeWhereValid(home, fields)) };
  return {
    ...placed,
    ...(typeof reference === "string" ? { reference: fittedReference(limits, reference) } : {}),
    ...("amount" in fields ? { amount: fittedAmount(limits, placed) } : {}),
  };
}
