// Counts for each requirement the cases in which it held, and keeps the first contradictions, redacted.
import { hash, randomBytes } from "node:crypto";
import { titleOf } from "../check.ts";
import type { Exchange } from "../results.ts";
import { parsedJson, textOf } from "../target/values.ts";
import { isKnown, isObject } from "./calls.ts";
import type { WatchedRequirement } from "./result.ts";
import type { Body, Seen } from "./traffic.ts";
import type { RequirementId } from "../../generated/requirement-ids.ts";

/** Of further contradictions of a requirement only the number is kept. */
const mostShown = 10;
const longestText = 300;

/** Hashes texts with the run's salt: for what is remembered, and for what reports show in place of personal data. */
export function createHashes(salt = randomBytes(16).toString("hex")) {
  const digest = (text: string) => hash("sha256", salt + text);
  return {
    keyOf: (text: string): number => Number.parseInt(digest(text).slice(0, 13), 16),
    /** Returns a mark as it is, such as "#3f9c1d". */
    markOf: (text: string): string => (/^#[\da-f]{6}$/.test(text) ? text : `#${digest(text).slice(0, 6)}`),
  };
}

export type Hashes = ReturnType<typeof createHashes>;

const personal = new Set(["phoneNumber", "customer.phoneNumber", "customer.name", "merchant.name"]);
const shownFields = new Set([
  ..."event id userId reference merchantsReference amount fee country currency status createdAt updatedAt".split(" "),
  ..."webhookURL redirectURL customer.id failure.code statusCode code".split(" "),
  ...personal,
]);

const flattened = (value: unknown, path = ""): [path: string, value: unknown][] =>
  isObject(value)
    ? Object.entries(value).flatMap(([name, inner]) => flattened(inner, path === "" ? name : `${path}.${name}`))
    : [[path, value]];

/** @param ids the requirements that are judged; what others demand is ignored */
export function createTally(ids: readonly RequirementId[], { markOf }: Hashes) {
  const all = new Map<string, WatchedRequirement>(
    ids.map((id) => [id, { id, held: 0, contradictions: { count: 0, shown: [] } }]),
  );
  /** Hides what may be a phone number, also in a reference or an address. Digits between letters are none. */
  const withoutNumbers = (text: string) =>
    text.replaceAll(/[a-z]?\d{10,15}[a-z]?/gi, (found) =>
      /^[a-z].*[a-z]$/i.test(found) ? found : found.replace(/\d+/, markOf),
    );

  /** Returns a value of a field as reports may show it. */
  function shownValue(field: string, value: unknown): unknown {
    if (personal.has(field)) return markOf(textOf(value));
    if (typeof value !== "string") return value;
    const text = field.endsWith("URL") ? value.split("?")[0]!.replace(/\/\/[^/]*@/, "//") : value;
    return withoutNumbers(text.slice(0, longestText));
  }

  function shownBody(body: Body | undefined): string | undefined {
    if (!isKnown(body) || body === "") return undefined;
    const found = flattened(parsedJson(body))
      .map(([path, value]) => ({ path, value, field: path.replace(/^data\./, "") }))
      .filter(({ field }) => shownFields.has(field));
    return JSON.stringify(
      Object.fromEntries(found.map(({ path, field, value }) => [path, shownValue(field, value)])),
      null,
      2,
    );
  }

  function shown(seen: Seen, index: number): Exchange {
    const { kind, sentAt, path, body } = seen;
    const { status, body: received } = (kind === "exchange" ? seen.response : seen) ?? {};
    const [requestBody, responseBody] = [shownBody(body), kind === "exchange" ? shownBody(received) : undefined];
    return {
      id: index + 1,
      at: new Date(sentAt).toISOString(),
      durationMs: kind === "exchange" ? seen.endedAt - sentAt : 0,
      method: kind === "exchange" ? seen.method : "POST",
      url: withoutNumbers(path.split("?")[0]!),
      requestHeaders: {},
      curl: "",
      ...(requestBody !== undefined && { requestBody }),
      ...(status !== undefined && { status }),
      ...(responseBody !== undefined && { responseBody }),
    };
  }

  return {
    requirements: [...all.values()] as readonly WatchedRequirement[],
    shownValue,
    /** Returns true for a requirement that is judged. */
    judges: (id: string) => all.has(id),
    held(of: readonly RequirementId[]) {
      for (const id of of) {
        const known = all.get(id);
        if (known) known.held += 1;
      }
    },
    /** @param evidence returns what cannot be right together */
    contradicted(of: readonly RequirementId[], actual: string, evidence: () => Seen[], expected?: string) {
      for (const id of of) {
        const { contradictions } = all.get(id) ?? {};
        if (!contradictions) continue;
        contradictions.count += 1;
        if (contradictions.shown.length >= mostShown) continue;
        const [wanted, given] = [expected ?? titleOf(id), actual].map((text) => withoutNumbers(text.slice(0, 600)));
        contradictions.shown.push({ expected: wanted!, actual: given!, exchanges: evidence().map(shown) });
      }
    },
  };
}

export type Tally = ReturnType<typeof createTally>;
