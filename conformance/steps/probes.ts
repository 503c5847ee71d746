// The table of probes: requests without a valid key that an authenticating target refuses on every operation (§5).
import type { Context } from "../check.ts";
import { alteredKeys, otherTypes, spellings, trusted, wildcards, words } from "../generate/bypasses.ts";
import type { TargetRequest } from "../target/exchange.ts";
import { expectHidden } from "./expect.ts";
import type { RequirementId } from "../../generated/requirement-ids.ts";

/**
 * `missing`: without a key. `unknown`: with a key that nobody has. `altered`: with a value that a lenient comparison
 * accepts. `misplaced`: with the key outside x-api-key. `around`: with another trick that has bypassed the
 * authentication of other services.
 */
type Kind = "missing" | "unknown" | "altered" | "misplaced" | "around";
/** `change` turns a valid request without a key into the probe. */
export type Probe = { what: string; kind: Kind; change: (request: TargetRequest) => TargetRequest };

/** A well-formed key that no merchant has. */
export const wrongKey = (context: Context) => ({ value: context.target.merchant.keys[0] });

const withHeaders = (headers: TargetRequest["headers"]) => (request: TargetRequest) => ({
  ...request,
  headers: { ...request.headers, ...headers },
});
/** Writes the body as a text of at least this length, with these headers. */
const written =
  (headers: Record<string, string>, length = 0) =>
  ({ json, ...request }: TargetRequest) =>
    withHeaders(headers)({ ...request, ...(json === undefined ? {} : { body: JSON.stringify(json).padEnd(length) }) });
const withQuery = (query: string) => (request: TargetRequest) => ({
  ...request,
  path: `${request.path}${request.path.includes("?") ? "&" : "?"}${query}`,
});

const probe = (kind: Kind, what: string, change: Probe["change"]): Probe => ({ kind, what, change });
const withKey = (kind: Kind, what: string, value: string) =>
  probe(kind, `with ${what}`, (request) => ({ ...request, key: { value } }));
const elsewhere = (where: string, change: Probe["change"]) => probe("misplaced", `with the key in ${where}`, change);

/** Returns every probe. */
export function probesOf(context: Context): Probe[] {
  const { keyAs, options, target } = context;
  const key = keyAs((own) => own);
  const altered = alteredKeys.filter(({ of }) => keyAs(of) !== key);
  return [
    probe("missing", "without a key", (request) => request),
    withKey("unknown", "an unknown key", wrongKey(context).value),
    ...altered.map(({ what, of }) => withKey("altered", what, keyAs(of))),
    ...words.map((word) => withKey("altered", `the key ${JSON.stringify(word)}`, word)),
    probe("altered", "with two unknown keys", withHeaders({ "x-api-key": [...target.merchant.keys] })),
    elsewhere("Authorization: Bearer", withHeaders({ authorization: `Bearer ${key}` })),
    elsewhere("Authorization: Basic", withHeaders({ authorization: `Basic ${btoa(`${key}:`)}` })),
    elsewhere("Authorization", withHeaders({ authorization: key })),
    elsewhere("a cookie", withHeaders({ cookie: `x-api-key=${key}; api_key=${key}` })),
    // A key in a URL remains in the logs of every proxy on the way.
    ...(options.loopback ? ["x-api-key", "api_key", "key"] : []).map((name) =>
      elsewhere(`the query as ${name}`, withQuery(`${name}=${encodeURIComponent(key)}`)),
    ),
    probe("around", "with another key in the query", withQuery("x-api-key=x")),
    probe("around", "with 5,000 spaces after its body", written({ "content-type": "application/json" }, 5000)),
    ...otherTypes.map((headers) =>
      probe("around", `with Content-Type ${headers["content-type"] ?? "missing"}`, written(headers)),
    ),
    probe("around", "by PUT", ({ method, ...rest }) => ({ ...rest, method: method === "POST" ? "PUT" : method })),
    withKey("around", "a key of 300 characters", wrongKey(context).value.padEnd(300, "x")),
    withKey("around", "a key outside of ASCII", "cl\u00e9"),
    ...wildcards.map((value) => withKey("around", `the key ${value}`, value)),
    ...spellings.map((spell) =>
      probe("around", `with its path written as ${spell("/v1/checkouts")}`, (request) => ({
        ...request,
        path: request.path.replace(/^[^?]+/, spell),
      })),
    ),
    ...trusted.map((headers) =>
      probe("around", `with ${Object.entries(headers)[0]!.join(": ")}`, withHeaders(headers)),
    ),
    probe("around", "with its path in X-Original-URL", ({ path, ...request }) =>
      withHeaders({ "x-original-url": path, "x-rewrite-url": path })({ ...request, path: "/v1/nothing" }),
    ),
  ];
}

/**
 * Sends a probe. Expects no record, and 401; for the kind `around`, any status but 2xx.
 * @param request the valid request, without a key
 * @param secrets values of the record that the owner's request shows
 */
export const sendProbe = (
  context: Context,
  id: RequirementId,
  { what, kind, change }: Probe,
  request: TargetRequest,
  secrets: readonly string[] = [],
) => {
  const expected = { secrets, status: kind === "around" ? "no 2xx" : 401, whom: what } as const;
  return expectHidden(context, id, change({ key: "none", ...request }), expected);
};
