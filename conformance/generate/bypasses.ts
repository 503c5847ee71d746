// Keys, paths and headers with which requests have bypassed the authentication of other services.

/** Values that a lookup in a plain JavaScript object finds, or that stand for a missing key. */
export const words = ["", "constructor", "__proto__", "toString", "hasOwnProperty", "null", "undefined"];
/** Values that a query or a pattern may match with every key. */
export const wildcards = ["*", "%", "' OR '1'='1", "true"];

const isUpper = (key: string) => key === key.toUpperCase();

/** Reports hide an altered key like the key itself, because a target may return what it was sent. */
type AlteredKey = { what: string; of: (key: string) => string };

/** Values that a lenient comparison takes for the key. It is very unlikely that one of them is another merchant's key. */
export const alteredKeys: readonly AlteredKey[] = [
  { what: "the key without its last character", of: (key) => key.slice(0, -1) },
  { what: "the key with an extra character", of: (key) => `${key}x` },
  { what: "the key with its last character replaced", of: (key) => key.slice(0, -1) + (key.endsWith("A") ? "B" : "A") },
  { what: "the key in the opposite case", of: (key) => (isUpper(key) ? key.toLowerCase() : key.toUpperCase()) },
  { what: "the key in quotes", of: (key) => `"${key}"` },
  { what: "the key prefixed with Bearer", of: (key) => `Bearer ${key}` },
  { what: "the first half of the key", of: (key) => key.slice(0, key.length / 2) },
  { what: "the key after another character", of: (key) => `x${key}` },
  { what: "the key and another word", of: (key) => `${key} x` },
  { what: "the key in Base64", of: (key) => btoa(key) },
  {
    what: "the key with every character percent-encoded",
    of: (key) => key.replaceAll(/[^]/g, (character) => `%${character.charCodeAt(0).toString(16).padStart(2, "0")}`),
  },
];
/** Other spellings of a path, with which a router may find the operation that a filter did not recognise. */
export const spellings: ((path: string) => string)[] = [
  (path) => `${path}/`,
  (path) => `${path}//`,
  (path) => `/${path}`,
  (path) => path.replace("/v1/", "/v1//"),
  (path) => path.replace("/v1/", "/v1/./"),
  (path) => path.replace("/v1/", "/v1/x/../"),
  (path) => path.replace("/v1/", "/x/..;/v1/"),
  (path) => path.replace("/v1/", "/v1%2F"),
  (path) => path.replace(/^\/v1\/\w+/, (start) => start.toUpperCase()),
  (path) => path.replace(/^\/v1\/\w/, (start) => start.toUpperCase()),
  (path) => path.replace(/^\/v1\/d/, "/v1/%64").replace(/^\/v1\/c/, "/v1/%63"),
  (path) => path.replace(/^\/v1\/d/, "/v1/%2564").replace(/^\/v1\/c/, "/v1/%2563"),
  (path) => `${path}.json`,
  (path) => `${path}.css`,
  (path) => `${path};key=x`,
  (path) => `${path};.css`,
  (path) => `${path}%20`,
  (path) => `${path}%00`,
];

/**
 * Headers that proxies, frameworks and health checks send, and that a server may trust. Headers that do not depend on
 * each other share a request, because services limit how many requests without a valid key they refuse.
 */
export const trusted: Record<string, string>[] = [
  { "x-http-method-override": "GET" },
  { "x-http-method-override": "OPTIONS" },
  { "x-forwarded-for": "127.0.0.1", "x-real-ip": "127.0.0.1", forwarded: "for=127.0.0.1;host=localhost" },
  { "x-forwarded-user": "admin", "x-user-id": "1", "x-authenticated": "true", "user-agent": "GoogleHC/1.0" },
  { "x-middleware-subrequest": "middleware:middleware:middleware:middleware:middleware" },
  { authorization: "Basic Og==", "user-agent": "ELB-HealthChecker/2.0" },
  { authorization: "Bearer null", origin: "null", "user-agent": "Mozilla/5.0+(compatible; UptimeRobot/2.0)" },
  { cookie: "x-api-key=", "user-agent": "Prometheus/2.53.0" },
  { accept: "text/html", "user-agent": "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)" },
  { origin: "https://localhost", referer: "https://localhost/dashboard", "x-forwarded-host": "localhost" },
  { "transfer-encoding": "chunked" },
  { "user-agent": "kube-probe/1.30" },
];

/** Content-Types of requests that a filter may not inspect, because it expects JSON. `{}`: no Content-Type. */
export const otherTypes: Record<string, string>[] = [{ "content-type": "text/plain" }, {}];
