// Counts for each requirement the cases in which it held, and keeps the first contradictions, redacted.
import { createHash as createDigest, hash, randomBytes } from "node:crypto";
import type { RequirementId } from "../../generated/requirement-ids.ts";
import type { Exchange as ShownExchange } from "../results.ts";
import type { Contradiction, WatchedRequirement } from "./result.ts";
import { isKnown, isObject } from "./calls.ts";
import { parsedJson, textOf } from "../target/values.ts";
import type { Exchange, Seen, Webhook } from "./traffic.ts";

/** Of further contradictions of a requirement only the number is kept. */
const mostShown = 10;
const longestText = 300;

const multipliers = [597_399_067, 2_869_860_233, 951_274_213, 2_716_044_179] as const;

/**
 * Returns a function that returns a number of 52 bits that depends on a text and the run's salt. Every exchange needs
 * several, so it is fast instead of cryptographic. The numbers never leave this process and its file.
 */
export function createHash(salt = randomBytes(16).toString("hex")) {
  const [seedA, seedB, seedC, seedD] = new Uint32Array(createDigest("sha256").update(salt).digest().buffer);
  const [m, n, o, p] = multipliers;
  return (text: string): number => {
    let [a, b, c, d] = [seedA!, seedB!, seedC!, seedD!];
    for (let index = 0; index < text.length; index += 1) {
      const code = text.charCodeAt(index);
      a = b ^ Math.imul(a ^ code, m);
      b = c ^ Math.imul(b ^ code, n);
      c = d ^ Math.imul(c ^ code, o);
      d = a ^ Math.imul(d ^ code, p);
    }
    a = Math.imul(c ^ (a >>> 18), m);
    b = Math.imul(d ^ (b >>> 22), n);
    c = Math.imul(a ^ (c >>> 17), o);
    d = Math.imul(b ^ (d >>> 19), p);
    return ((a ^ b ^ c ^ d) >>> 0) * 2 ** 20 + ((b ^ a) >>> 12);
  };
}

export type Hash = ReturnType<typeof createHash>;

const sentFields = "reference amount phoneNumber country currency webhookURL redirectURL event".split(" ");
const statedFields = (
  "id userId reference merchantsReference amount fee phoneNumber country currency status createdAt updatedAt " +
  "webhookURL redirectURL customer.id customer.phoneNumber customer.name merchant.name failure.code"
).split(" ");
// Not the texts, which may name people.
const errorFields = ["statusCode", "code"];
const filters = new Set("reference merchantsReference status createdAfter createdBefore limit".split(" "));

/** Returns the value at a path of names, such as `customer.id`. */
export function valueAt(value: unknown, path: string): unknown {
  if (!isObject(value)) return undefined;
  const dot = path.indexOf(".");
  return dot < 0 ? value[path] : valueAt(value[path.slice(0, dot)], path.slice(dot + 1));
}

const personal = new Set(["phoneNumber", "customer.phoneNumber", "customer.name", "merchant.name"]);
/** Returns true for fields whose values are remembered and shown as hashes only. */
export const isPersonal = (field: string) => personal.has(field);

/** Returns what a report shows in place of a personal value that is remembered as this hash. */
export const markOf = (remembered: unknown) => `#${hash("sha256", String(remembered)).slice(0, 6)}`;

type Shown = Pick<ShownExchange, "at" | "method" | "url"> & {
  status?: number | undefined;
  durationMs?: number;
  requestBody?: Record<string, unknown> | undefined;
  responseBody?: Record<string, unknown> | undefined;
};

const indented = (fields: object) => JSON.stringify(fields, null, 2);

/** Returns an exchange as reports have it, of the parts that are shown. */
export function shownExchange({ status, durationMs = 0, requestBody, responseBody, ...rest }: Shown): ShownExchange {
  return {
    id: 0,
    ...rest,
    durationMs,
    requestHeaders: {},
    curl: "",
    ...(requestBody && { requestBody: indented(requestBody) }),
    ...(responseBody && { responseBody: indented(responseBody) }),
    ...(status !== undefined && { status }),
  };
}

/** @param ids the requirements that are judged; what others demand is ignored */
export function createTally(ids: readonly RequirementId[], hashOf: Hash) {
  const all = new Map<string, WatchedRequirement>(
    ids.map((id) => [id, { id, held: 0, contradictions: { count: 0, shown: [] } }]),
  );
  const mark = (value: unknown) => markOf(hashOf(textOf(value)));
  /** Hides what may be a phone number, also in a reference or an address. */
  const withoutNumbers = (text: string) => text.replaceAll(/\d{10,15}/g, mark);

  function shownValue(field: string, value: unknown): unknown {
    if (value === undefined || value === null || typeof value === "number" || typeof value === "boolean") {
      return isPersonal(field) && typeof value === "number" ? mark(value) : value;
    }
    if (isPersonal(field)) return mark(value);
    const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "");
    const shown = field.endsWith("URL") ? text.split("?")[0]!.replace(/\/\/[^/]*@/, "//") : text;
    return withoutNumbers(shown.slice(0, longestText));
  }

  function shownFields(body: unknown, fields: readonly string[], prefix = ""): Record<string, unknown> {
    const found = fields.flatMap((field) => {
      const value = valueAt(body, `${prefix}${field}`);
      return value === undefined ? [] : [[`${prefix}${field}`, shownValue(field, value)] as const];
    });
    return Object.fromEntries(found);
  }

  function shownPath(path: string): string {
    const [before = "", query] = path.split("?");
    if (query === undefined) return withoutNumbers(before);
    const parameters = query.split("&").map((parameter) => {
      const [name = ""] = parameter.split("=");
      return filters.has(name) ? withoutNumbers(parameter) : `${name}=…`;
    });
    return `${withoutNumbers(before)}?${parameters.join("&")}`;
  }

  const ofExchange = ({ sentAt, endedAt, method, path, body, response }: Exchange) =>
    shownExchange({
      at: new Date(sentAt).toISOString(),
      durationMs: endedAt - sentAt,
      method,
      url: shownPath(path),
      requestBody: isKnown(body) && body !== "" ? shownFields(parsedJson(body), sentFields) : undefined,
      status: response?.status,
      responseBody: received(response?.body),
    });
  const received = (body: Exchange["body"] | undefined) => {
    if (!isKnown(body) || body === "") return undefined;
    const value = parsedJson(body);
    return { ...shownFields(value, errorFields), ...shownFields(value, statedFields, "data.") };
  };
  const ofWebhook = ({ sentAt, path, body, status }: Webhook) =>
    shownExchange({
      at: new Date(sentAt).toISOString(),
      method: "POST",
      url: shownPath(path),
      requestBody: isKnown(body)
        ? {
            ...shownFields(parsedJson(body), sentFields),
            ...shownFields(parsedJson(body), statedFields, "data."),
          }
        : undefined,
      status,
    });

  return {
    requirements: [...all.values()] as readonly WatchedRequirement[],
    /** Returns an exchange or webhook as evidence, redacted. */
    evidence: (seen: Seen) => (seen.kind === "exchange" ? ofExchange(seen) : ofWebhook(seen)),
    /** Returns a value of a field as reports may show it. */
    shownValue,
    held(id: RequirementId) {
      const known = all.get(id);
      if (known) known.held += 1;
    },
    contradicted(id: RequirementId, found: () => Contradiction) {
      const { contradictions } = all.get(id) ?? {};
      if (!contradictions) return;
      contradictions.count += 1;
      if (contradictions.shown.length >= mostShown) return;
      const { expected, actual, exchanges } = found();
      const [wanted, given] = [expected, actual].map((text) => withoutNumbers(text.slice(0, 2 * longestText)));
      const numbered = exchanges.map((each, index) => ({ ...each, id: index + 1 }));
      contradictions.shown.push({ expected: wanted!, actual: given!, exchanges: numbered });
    },
  };
}

export type Tally = ReturnType<typeof createTally>;
