// What has to be known of a target before a run: that it is there, that it takes the key, and what it is.
import { randomBytes } from "node:crypto";
import { RunStopped } from "../target/ledger.ts";
import { openTarget } from "../run/open.ts";
import type { CertifyOptions } from "./options.ts";
import type { RunOptions } from "../run-options.ts";
import type { TargetResponse } from "../target/exchange.ts";

/** The suite cannot do its work; the message says why and what to do. */
export class CannotRun extends Error {}

const isLoopback = (host: string) => /^(localhost|.+\.localhost|127(\.\d+){3}|\[::1\])$/.test(host);

async function askTarget(options: CertifyOptions, runId: string) {
  const { target, close } = openTarget({ ...options, effects: "none" });
  try {
    const health = await target.send({ method: "GET", path: "/healthz", key: "none" });
    const look = { method: "GET", path: `/v1/disbursements/${runId}-none` } as const;
    const unknown = await target.send(look);
    const second = options.secondKey === undefined ? undefined : await target.send({ ...look, key: "second" });
    // The sandbox tells the secret that it signs with.
    const secret =
      options.webhookSecret !== undefined && environmentOf(health) === "sandbox"
        ? await target.send({ method: "GET", path: "/sandbox/webhook-secret" })
        : undefined;
    return { health, unknown, second, secret };
  } catch (error) {
    if (error instanceof RunStopped) throw new CannotRun(`${options.baseUrl}: ${error.message}. Is it running?`);
    throw error;
  } finally {
    close();
  }
}

const isRefused = ({ status }: TargetResponse) => status === 401 || status === 403;

/** What /healthz says the target is; undefined when it says nothing. */
function environmentOf({ status, json }: TargetResponse) {
  const named = (json as { environment?: unknown } | undefined)?.environment;
  return status === 200 && (named === "sandbox" || named === "live") ? named : undefined;
}

const bare = (secret: string) => secret.replace(/^whsec_/, "");

/** Throws `CannotRun` when the sandbox signs with another secret than was given; neither is shown. */
function compareSecrets(given: string, told: TargetResponse) {
  const { secret } = (told.json as { data?: { secret?: unknown } } | undefined)?.data ?? {};
  if (told.status !== 200 || typeof secret !== "string") return;
  if (bare(secret) === bare(given)) return;
  throw new CannotRun(
    "WEBHOOK_SECRET is not the secret that GET /sandbox/webhook-secret tells of this merchant. " +
      "Give that one, or leave WEBHOOK_SECRET out: a sandbox is asked for it.",
  );
}

/** Throws `CannotRun` when the answer about a record that is none does not look like that of a service which takes the key. */
function demandService({ baseUrl }: CertifyOptions, unknown: TargetResponse) {
  if (unknown.status === undefined) {
    throw new CannotRun(`${baseUrl} does not answer: ${unknown.exchange.failure}.`);
  }
  if (isRefused(unknown)) {
    throw new CannotRun(
      `${baseUrl} refuses the key with ${unknown.status}. Give a valid one in API_KEY or --api-key-file.`,
    );
  }
  const type = unknown.headers["content-type"] ?? "";
  if (unknown.status < 400 && (unknown.status >= 300 || /html/i.test(type))) {
    const what = unknown.headers.location ? `a redirect to ${unknown.headers.location}` : type || "no Content-Type";
    throw new CannotRun(
      `${baseUrl} does not look like the service: it answers GET /v1/disbursements/… with ${unknown.status}, ${what}. ` +
        "Is it the base URL, with everything in front of /v1?",
    );
  }
}

/**
 * Asks the target what it is, and decides what the options left open (effects, receiver, failing recipient).
 * @throws CannotRun when there is no target, it refuses a key, or its sandbox has another webhook secret than was given
 */
export async function probe(options: CertifyOptions): Promise<RunOptions> {
  const runId = randomBytes(6).toString("hex");
  const { health, unknown, second, secret } = await askTarget(options, runId);
  demandService(options, unknown);
  if (second && isRefused(second)) {
    throw new CannotRun(
      `${options.baseUrl}: API_KEY_2 is refused with ${second.status}. Give another merchant's valid key, or leave it out.`,
    );
  }
  if (secret && options.webhookSecret !== undefined) compareSecrets(options.webhookSecret, secret);
  const environment = environmentOf(health);
  const loopback = isLoopback(new URL(options.baseUrl).hostname);
  const sandbox = environment === "sandbox";
  const { reporting: _, yes: __, throughPrism: ___, ...rest } = options;
  return {
    ...rest,
    effects: options.effects ?? (loopback && sandbox ? "money" : "none"),
    failingRecipient: options.failingRecipient ?? (sandbox ? "2250000000089" : undefined),
    webhookListen: options.webhookListen ?? (loopback ? { host: "127.0.0.1", port: 0 } : undefined),
    runId: `${runId}`,
    loopback,
    environment,
  };
}
