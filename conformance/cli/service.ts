// Judges, before a run, whether the base URL leads to the service and whether the service accepts the keys. Sends only
// GET requests.
import { connect } from "node:tls";
import { looksDead } from "../target/breaker.ts";
import type { TargetResponse } from "../target/exchange.ts";
import type { HttpClient } from "../target/http.ts";
import { hostOf } from "../target/failures.ts";
import type { Target } from "../target/target.ts";

export const isRefused = ({ status }: TargetResponse) => status === 401 || status === 403;

const handshakeMs = 2000;

/** Resolves with true if TLS is spoken at the host and port of a URL. */
function speaksTls(url: URL): Promise<boolean> {
  return new Promise((resolve) => {
    const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
    // Nothing is sent through this connection, so the certificate does not matter.
    const socket = connect({ host, port: Number(url.port || 80), rejectUnauthorized: false });
    const settle = (result: boolean) => {
      socket.destroy();
      resolve(result);
    };
    socket.setTimeout(handshakeMs, () => settle(false));
    socket.once("secureConnect", () => settle(true));
    socket.once("error", () => settle(false));
  });
}

/** Servers that expect TLS close the connection, or respond with 400 and one of these texts. */
const expectsTls = ({ status, text }: TargetResponse) =>
  status === undefined || (status === 400 && /HTTPS (port|server)|TLS/i.test(text));

/** Returns the reason why a response shows that the service is not reached at all. */
export async function addressObstacle(baseUrl: string, response: TargetResponse): Promise<string | undefined> {
  const url = new URL(baseUrl);
  if (url.protocol === "http:" && expectsTls(response) && (await speaksTls(url))) {
    return `${hostOf(url)} speaks TLS, not plain http. Use ${baseUrl.replace(/^http:/, "https:")}.`;
  }
  if (response.status === undefined) return `No response: ${response.exchange.failure}.`;
  if (looksDead(response)) {
    return `The service is not available: GET /v1/disbursements/… returns ${response.status}. Make sure that it is running.`;
  }
  return response.status === 400 && /SSL certificate/i.test(response.text)
    ? "The server requires a client certificate. Pass it with --cert FILE --key FILE."
    : undefined;
}

/** Returns the path of a record that does not exist. */
export const lookupAt = ({ merchant }: Target) => `/v1/disbursements/${merchant.unknown}`;

/** Returns the body without the parts that differ between two equal refusals: the path, times, and ids of requests. */
function bodyOf({ text, request }: TargetResponse): string {
  const [, , resource = "", reference = ""] = request.path.split("/");
  return text
    .replaceAll(reference, "")
    .replaceAll(resource, "")
    .replaceAll(/[\da-f-]{8,}|\d+/gi, "");
}

/**
 * Returns true if the target has no such endpoint: with and without the key, it returns the same 404 as for a path that
 * no service has. A sound service returns 401 without a key. Sends no more than it needs, because a service could tell
 * the suite from a merchant by such requests.
 * @param response the response to the lookup of an unknown record
 */
async function hasNoEndpoint(target: Target, response: TargetResponse): Promise<boolean> {
  const lookup = lookupAt(target);
  const isSame = async (path: string, key: "own" | "none") => {
    const other = await target.send({ method: "GET", path, key });
    return other.status === 404 && bodyOf(other) === bodyOf(response);
  };
  return (await isSame(lookup.replace("disbursements", target.merchant.name), "own")) && isSame(lookup, "none");
}

/** Returns the base URLs with fewer path segments than this base URL, the longest first. */
function shorterUrls(baseUrl: string): string[] {
  const { origin, pathname } = new URL(baseUrl);
  const segments = pathname.split("/").filter(Boolean);
  return segments.map((_, index) => [origin, ...segments.slice(0, segments.length - 1 - index)].join("/"));
}

/**
 * Returns the base URL under which the service refuses a request without a key, among the base URLs that contain this
 * base URL.
 */
async function betterUrl(target: Target, http: HttpClient) {
  const { baseUrl, headers: added, timeoutMs } = target.options;
  const headers = target.merchant.headers(added);
  for (const candidate of shorterUrls(baseUrl)) {
    const path = new URL(candidate).pathname.replace(/\/$/, "") + lookupAt(target);
    const response = await http.send({ origin: new URL(candidate), path, method: "GET", headers, timeoutMs });
    if ("status" in response && response.status === 401) return candidate;
  }
  return undefined;
}

/**
 * Returns the reason why the base URL is not the service's.
 * @param response the response to the lookup of an unknown record
 */
export async function pathObstacle(
  target: Target,
  http: HttpClient,
  response: TargetResponse,
): Promise<string | undefined> {
  const { baseUrl } = target.options;
  const type = response.headers["content-type"] ?? "";
  const { status = 0 } = response;
  if (status < 400 && (status >= 300 || /html/i.test(type))) {
    const what = response.headers.location ? `a redirect to ${response.headers.location}` : type || "no Content-Type";
    return (
      `${baseUrl} does not look like the service: it responds to GET /v1/disbursements/… with ${status}, ${what}. ` +
      "Check the base URL. It must include everything before /v1."
    );
  }
  if (status !== 404 || !(await hasNoEndpoint(target, response))) return undefined;
  const better = await betterUrl(target, http);
  const advice = better
    ? `The service responds at ${better}: use --base-url ${better}.`
    : "Give everything before /v1 and nothing after it. Is a path such as /api missing before /v1, " +
      "does the path contain a part too many, or is this the address of another service?";
  return `Wrong base URL? ${baseUrl}/v1/disbursements/… returns 404 with and without the key, like any unknown path. ${advice}`;
}

/** Returns the first reason why a run against the target cannot start; undefined if there is none. */
export async function findObstacle(
  target: Target,
  http: HttpClient,
  unknown: TargetResponse,
): Promise<string | undefined> {
  const { baseUrl } = target.options;
  const address = await addressObstacle(baseUrl, unknown);
  if (address) return `${baseUrl}: ${address}`;
  return isRefused(unknown)
    ? `${baseUrl} rejects the key with ${unknown.status}. Set a valid key in API_KEY or --api-key-file.`
    : pathObstacle(target, http, unknown);
}
