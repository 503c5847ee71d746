// Examines, before a run, whether the base URL leads to the service, and whether the service accepts the keys. Sends only
// GET requests. `certify` starts no run after a point that has to be fixed, and `certify doctor` shows every point.
import { connect } from "node:tls";
import { looksDead } from "../target/breaker.ts";
import { dataOf, describeResponse, isAccepted, type TargetResponse } from "../target/exchange.ts";
import type { Target } from "../target/target.ts";
import type { RunOptions } from "../run-options.ts";
import type { CertifyOptions } from "./options.ts";

/** Something that a run needs. The text of a point that is not ok says what is wrong and what to do. */
export type Point = { name: string; ok: boolean; text: string };
export const ok = (name: string, text: string): Point => ({ name, ok: true, text });
export const fix = (name: string, text: string): Point => ({ name, ok: false, text });

const isRefused = ({ status }: TargetResponse) => status === 401 || status === 403;

/** Resolves with true if TLS is spoken at the host and port of a URL. */
function speaksTls({ hostname, port }: URL): Promise<boolean> {
  return new Promise((resolve) => {
    const host = hostname.replace(/^\[(.*)\]$/, "$1");
    // Nothing is sent through this connection, so the certificate does not matter.
    const socket = connect({ host, port: Number(port || 80), rejectUnauthorized: false, timeout: 2000 });
    const settle = (result: boolean) => {
      socket.destroy();
      resolve(result);
    };
    for (const failure of ["timeout", "error"]) socket.once(failure, () => settle(false));
    socket.once("secureConnect", () => settle(true));
  });
}

/** Returns the reason why the service is not reached; undefined if the response may be the service's. */
async function addressObstacle(baseUrl: string, { status, text, exchange }: TargetResponse) {
  const mayNeedTls = status === undefined || (status === 400 && /HTTPS (port|server)|TLS/i.test(text));
  if (mayNeedTls && baseUrl.startsWith("http:") && (await speaksTls(new URL(baseUrl))))
    return `The server speaks TLS, not plain http: use ${baseUrl.replace(/^http:/, "https:")}.`;
  if (status === undefined) return `No response: ${exchange.failure}.`;
  if (looksDead({ request: { method: "GET", path: "" }, status }))
    return `The service is not available: GET /v1/disbursements/… returns ${status}. Make sure that it is running.`;
  return status === 400 && /SSL certificate/i.test(text)
    ? "The server requires a client certificate. Pass it with --cert FILE --key FILE."
    : undefined;
}

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
  const { path } = response.request;
  const getsSame404 = async (other: string, key: "own" | "none") => {
    const reply = await target.send({ method: "GET", path: other, key });
    return reply.status === 404 && bodyOf(reply) === bodyOf(response);
  };
  return (await getsSame404(path.replace("disbursements", target.merchant.name), "own")) && getsSame404(path, "none");
}

/** Returns the reason why the base URL is not the service's; undefined if it may be. */
async function pathObstacle(target: Target, response: TargetResponse): Promise<string | undefined> {
  const { baseUrl } = target.options;
  const { status = 0, headers } = response;
  const type = headers["content-type"] ?? "";
  if (status < 400 && (status >= 300 || /html/i.test(type))) {
    const what = headers.location ? `a redirect to ${headers.location}` : type || "no Content-Type";
    return (
      `${baseUrl} does not look like the service: it responds to GET /v1/disbursements/… with ${status}, ${what}. ` +
      "Check the base URL. It must include everything before /v1."
    );
  }
  if (status !== 404 || !(await hasNoEndpoint(target, response))) return undefined;
  return (
    `Wrong base URL? ${baseUrl}/v1/disbursements/… returns 404 with and without the key, like any unknown path. ` +
    "Give everything before /v1 and nothing after it. Is a path such as /api missing before /v1, " +
    "does the path contain a part too many, or is this the address of another service?"
  );
}

/** Returns the environment that /healthz reports; undefined if it reports neither sandbox nor live. */
function environmentOf({ status, json }: TargetResponse): RunOptions["environment"] {
  const named = (json as { environment?: unknown } | undefined)?.environment;
  return status === 200 && (named === "sandbox" || named === "live") ? named : undefined;
}

const withoutPrefix = (secret: string) => secret.replace(/^whsec_/, "");

/** Compares WEBHOOK_SECRET with the secret that a sandbox returns. The point shows neither secret. */
function examineSecret(given: string, response: TargetResponse): Point {
  const { secret } = dataOf(response);
  const name = "secret";
  if (response.status !== 200 || typeof secret !== "string") return ok(name, "the target does not show its own");
  if (withoutPrefix(secret) === withoutPrefix(given)) return ok(name, "WEBHOOK_SECRET is the merchant's");
  return fix(
    name,
    "WEBHOOK_SECRET differs from the merchant's secret in GET /sandbox/webhook-secret. " +
      "Use the secret of the sandbox, or leave WEBHOOK_SECRET unset: the suite reads the secret of a sandbox itself.",
  );
}

/** Says whether the payout in `--payout` can be read. A reference that was mistyped is no fault of the service. */
function examinePayout(payout: string, response: TargetResponse): Point {
  const { reference } = dataOf(response);
  const isOther = typeof reference === "string" && reference !== payout;
  if (isAccepted(response) && !isOther) return ok("payout", `${payout} can be read`);
  const found = isOther ? `the payout ${reference}` : describeResponse(response);
  const advice = "Give the service's reference (data.reference), not your own, of a payout that this key made.";
  return fix("payout", `--payout: GET /v1/disbursements/${payout} returns ${found}. ${advice}`);
}

/**
 * Examines address, base path, keys and secret. Ends early if a point makes the rest meaningless.
 * @param note is called with each point
 * @returns the response to the lookup of an unknown record, whether it shows that the key is accepted, and the
 * environment that the target reports; undefined if the service was not reached
 */
export async function examineTarget(
  { baseUrl, payout, secondKey, webhookSecret }: CertifyOptions,
  target: Target,
  note: (point: Point) => void,
) {
  const lookup = { method: "GET", path: `/v1/disbursements/${target.merchant.unknown}` } as const;
  const response = await target.send(lookup);
  const address = await addressObstacle(baseUrl, response);
  if (address !== undefined) return void note(fix("address", `${baseUrl}: ${address}`));
  note(ok("address", `it responds in ${response.exchange.durationMs} ms`));
  const path = isRefused(response) ? undefined : await pathObstacle(target, response);
  if (path !== undefined) return void note(fix("base path", path));
  note(ok("base path", `${baseUrl}/v1/disbursements/… looks like the service`));
  const isKnown = !isRefused(response);
  const advice = "Set a valid key in API_KEY or --api-key-file.";
  const rejected = `${baseUrl} rejects the key with ${response.status}. ${advice}`;
  note(isKnown ? ok("API_KEY", "accepted") : fix("API_KEY", rejected));
  if (payout !== undefined && isKnown)
    note(
      examinePayout(payout, await target.send({ ...lookup, path: `/v1/disbursements/${encodeURIComponent(payout)}` })),
    );
  const health = await target.send({ method: "GET", path: "/healthz", key: "none" });
  const second = secondKey === undefined ? undefined : await target.send({ ...lookup, key: "second" });
  const name = "API_KEY_2";
  if (second && isRefused(second))
    note(fix(name, `${name} is rejected with ${second.status}. Set a second merchant's valid key, or leave it unset.`));
  else
    note(ok(name, second ? "accepted" : "not set. Set another merchant's key to judge what needs a second merchant"));
  const environment = environmentOf(health);
  if (webhookSecret !== undefined && environment !== "live")
    note(examineSecret(webhookSecret, await target.send({ method: "GET", path: "/sandbox/webhook-secret" })));
  return { response, isAccepted: isKnown, environment };
}
