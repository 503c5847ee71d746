// Sends requests exactly as scenarios write them: doubled headers, headers in odd case, slow and unfinished bodies.
import { request as overHttp, type IncomingMessage } from "node:http";
import { request as overHttps } from "node:https";
import type { Outcome } from "../exchange.ts";

export type Header = readonly [name: string, value: string];

/** How a request is held up. */
export type Hold = {
  /** The number of bytes of the body that are sent before the wait; by default all. */
  at?: number;
  /** Called when the bytes are sent. When it resolves, the rest is sent, or the connection is closed. */
  until: () => Promise<unknown>;
  closes?: true;
};

export type WebhookRequest = {
  method: string;
  /** In the order in which they are sent. A name may occur twice. */
  headers: readonly Header[];
  body: Buffer;
  hold?: Hold;
};

export const isSuccess = ({ status }: Outcome) => status !== undefined && status >= 200 && status <= 299;
export const isRefusal = ({ status }: Outcome) => status !== undefined && status >= 400 && status <= 499;
/** True if the service does not send the event again. */
export const isFinal = (outcome: Outcome) => isSuccess(outcome) || outcome.status === 410;
export const describe = ({ status, failure }: Outcome) => failure ?? `status ${status}`;

/** The largest part of a response that is read. */
const longestBody = 64 * 1024;

/** Reads a response up to the limit. A response that breaks off counts as far as it was received. */
async function readResponse(response: IncomingMessage): Promise<Outcome> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      if ((size += chunk.length) > longestBody) break;
    }
  } catch {
    // The status was received, and only the status counts.
  }
  return { status: response.statusCode, headers: response.headers, body: Buffer.concat(chunks).toString("utf8") };
}

/**
 * Sends one request over a connection of its own. Never rejects.
 * @param timeoutMs how long the response may take, from the end of the request
 */
export function send(url: string, webhook: WebhookRequest, timeoutMs: number): Promise<Outcome> {
  const { method, headers, body, hold } = webhook;
  const { at = body.length, until, closes } = hold ?? {};
  const target = new URL(url);
  const open = target.protocol === "https:" ? overHttps : overHttp;
  const raw = [["host", target.host], ...headers, ["content-length", String(body.length)], ["connection", "close"]];
  return new Promise((resolve) => {
    const request = open(target, { method, agent: false, headers: raw.flat() });
    let timer: NodeJS.Timeout | undefined;
    const finish = (outcome: Outcome) => {
      clearTimeout(timer);
      resolve(outcome);
      request.destroy();
    };
    request.on("error", (error) => finish({ failure: error.message }));
    request.on("response", (response) => void readResponse(response).then(finish));
    const write = async () => {
      if (at > 0) await new Promise<void>((written) => request.write(body.subarray(0, at), () => written()));
      if (at === body.length) request.end();
      await until?.();
      if (closes || request.destroyed) return finish({ failure: "the suite closed the connection on purpose" });
      timer = setTimeout(() => finish({ failure: `no response within ${timeoutMs} ms` }), timeoutMs);
      if (at < body.length) request.end(body.subarray(at));
    };
    void write();
  });
}
