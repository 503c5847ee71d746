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

/** Returns a function that returns a number of 52 bits that depends on a text and the run's salt. */
export function createHash(salt = randomBytes(16).toString("hex")) {
  return (text: string): number => Number.parseInt(hash("sha256", salt + text).slice(0, 13), 16);
}

export type Hash = ReturnType<typeof createHash>;

const shownFields = (
  "event id userId reference merchantsReference amount fee phoneNumber country currency status createdAt updatedAt " +
  "webhookURL redirectURL customer.id customer.phoneNumber customer.name merchant.name failure.code statusCode code"
).split(" ");
const personal = new Set(["phoneNumber", "customer.phoneNumber", "customer.name", "merchant.name"]);
const filters = new Set("reference merchantsReference status createdAfter createdBefore limit".split(" "));

/** Returns the value at a path of names, such as `customer.id`. */
export const valueAt = (value: unknown, path: string): unknown =>
  path.split(".").reduce<unknown>((inner, name) => (isObject(inner) ? inner[name] : undefined), value);

/** Returns what a report shows in place of a phone number or name that is remembered as this hash. */
export const markOf = (remembered: unknown) => `#${hash("sha256", String(remembered)).slice(0, 6)}`;

/** Returns an exchange as reports have it, of the parts that are shown. */
export function shownExchange(
  { sentAt, endedAt = sentAt, method, url, status }: Pick<Exchange, "method" | "url"> & Times,
  sent: object | undefined,
  received: object | undefined,
): Exchange {
  return {
    id: 0,
    at: new Date(sentAt).toISOString(),
    durationMs: endedAt - sentAt,
    method,
    url,
    requestHeaders: {},
    ...(sent && { requestBody: JSON.stringify(sent, null, 2) }),
    ...(status !== undefined && { status }),
    ...(received && { responseBody: JSON.stringify(received, null, 2) }),
    curl: "",
  };
}
type Times = { sentAt: number; endedAt?: number; status?: number | undefined };

/** @param ids the requirements that are judged; what others demand is ignored */
export function createTally(ids: readonly RequirementId[], hashOf: Hash) {
  const all = new Map<string, WatchedRequirement>(
    ids.map((id) => [id, { id, held: 0, contradictions: { count: 0, shown: [] } }]),
  );
  /** Hides what may be a phone number, also in a reference or an address. */
  const withoutNumbers = (text: string) => text.replaceAll(/\d{10,15}/g, (number) => markOf(hashOf(number)));

  /** Returns a value of a field as reports may show it. */
  function shownValue(field: string, value: unknown): unknown {
    if (value === undefined || value === null || typeof value === "boolean") return value;
    if (personal.has(field)) return markOf(hashOf(textOf(value)));
    if (typeof value === "number") return value;
    const text = textOf(value);
    const shown = field.endsWith("URL") ? text.split("?")[0]!.replace(/\/\/[^/]*@/, "//") : text;
    return withoutNumbers(shown.slice(0, longestText));
  }

  function shownBody(body: Body | undefined): object | undefined {
    if (!isKnown(body) || body === "") return undefined;
    const json = parsedJson(body);
    const found = ["", "data."].flatMap((prefix) =>
      shownFields.map((field) => [prefix + field, shownValue(field, valueAt(json, prefix + field))] as const),
    );
    return Object.fromEntries(found.filter(([, value]) => value !== undefined));
  }

  function shownPath(path: string): string {
    const [before = "", query] = path.split("?");
    const parameters = query?.split("&").map((parameter) => {
      const [name = ""] = parameter.split("=");
      return filters.has(name) ? parameter : `${name}=…`;
    });
    return withoutNumbers(parameters ? `${before}?${parameters.join("&")}` : before);
  }

  function shownSeen(seen: Seen): Exchange {
    const url = shownPath(seen.path);
    const sent = shownBody(seen.body);
    if (seen.kind === "webhook") return shownExchange({ ...seen, method: "POST", url }, sent, undefined);
    return shownExchange({ ...seen, url, status: seen.response?.status }, sent, shownBody(seen.response?.body));
  }

  return {
    requirements: [...all.values()] as readonly WatchedRequirement[],
    shownValue,
    held(of: readonly RequirementId[]) {
      for (const id of of) {
        const known = all.get(id);
        if (known) known.held += 1;
      }
    },
    /** Notes a contradiction. `evidence` returns the exchanges that cannot be right together. */
    contradicted(
      of: readonly RequirementId[],
      actual: string,
      evidence: () => readonly (Seen | Exchange)[],
      expected?: string,
    ) {
      for (const id of of) {
        const { contradictions } = all.get(id) ?? {};
        if (!contradictions) continue;
        contradictions.count += 1;
        if (contradictions.shown.length >= mostShown) continue;
        const [wanted, given] = [expected ?? titleOf(id), actual].map((text) => withoutNumbers(text.slice(0, 600)));
        const exchanges = evidence().map((each, index) => ({
          ...("kind" in each ? shownSeen(each) : each),
          id: index + 1,
        }));
        contradictions.shown.push({ expected: wanted!, actual: given!, exchanges });
      }
    },
  };
}

export type Tally = ReturnType<typeof createTally>;
