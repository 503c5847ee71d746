// What has to be known of a target before a run: that it is there, that it takes the key, and what it is.
import { randomBytes } from "node:crypto";
import { RunStopped } from "./ledger.ts";
import { openTarget } from "./open.ts";
import type { CertifyOptions, RunOptions } from "./options.ts";

/** The suite cannot do its work; the message says why and what to do. */
export class CannotRun extends Error {}

const isLoopback = (host: string) => /^(localhost|.+\.localhost|127(\.\d+){3}|\[::1\])$/.test(host);

async function ask(options: CertifyOptions, runId: string) {
  const { target, close } = openTarget({ ...options, effects: "none" });
  try {
    const health = await target.send({ method: "GET", path: "/healthz", key: "none" });
    const unknown = await target.send({ method: "GET", path: `/v1/disbursements/${runId}-none` });
    return { health, unknown };
  } catch (error) {
    if (error instanceof RunStopped) throw new CannotRun(`${options.baseUrl}: ${error.message}. Is it running?`);
    throw error;
  } finally {
    close();
  }
}

/**
 * Asks the target what it is, and decides what the options left open (effects, receiver, failing recipient).
 * @throws CannotRun when there is no target, or it refuses the key
 */
export async function probe(options: CertifyOptions): Promise<RunOptions> {
  const runId = randomBytes(6).toString("hex");
  const { health, unknown } = await ask(options, runId);
  if (unknown.status === undefined) {
    throw new CannotRun(`${options.baseUrl} does not answer: ${unknown.exchange.failure}.`);
  }
  if (unknown.status === 401 || unknown.status === 403) {
    throw new CannotRun(
      `${options.baseUrl} refuses the key with ${unknown.status}. Give a valid one in API_KEY or --api-key-file.`,
    );
  }
  const type = unknown.headers["content-type"] ?? "";
  if (unknown.status < 400 && (unknown.status >= 300 || /html/i.test(type))) {
    const what = unknown.headers.location ? `a redirect to ${unknown.headers.location}` : type || "no Content-Type";
    throw new CannotRun(
      `${options.baseUrl} does not look like the service: it answers GET /v1/disbursements/… with ${unknown.status}, ${what}. ` +
        "Is it the base URL, with everything in front of /v1?",
    );
  }
  const named = (health.json as { environment?: unknown } | undefined)?.environment;
  const environment = health.status === 200 && (named === "sandbox" || named === "live") ? named : undefined;
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
