// Sends requests exactly as scenarios write them: doubled headers, headers in odd case, slow and unfinished bodies.
import { request as overHttp, type ClientRequest, type IncomingHttpHeaders, type IncomingMessage } from "node:http";
import { request as overHttps } from "node:https";
import { setTimeout as sleep } from "node:timers/promises";

export type Header = readonly [name: string, value: string];

export type WebhookRequest = {
  method: string;
  /** In the order in which they are sent. A name may occur twice. */
  headers: readonly Header[];
  body: Buffer;
  /** Sends the body in this many pieces, with this much time before each. */
  slowly?: { pieces: number; delayMs: number };
  /** Holds the last byte of the body back until this resolves. */
  beforeLastByte?: () => Promise<void>;
  /** Sends only this many bytes of the body, at least one. */
  only?: number;
  /** Called when the bytes are sent. Closes the connection when it resolves. */
  until?: () => Promise<unknown>;
};

/** A response, or the reason why there was no response. */
export type Outcome = { status?: number; headers: IncomingHttpHeaders; body: string; failure?: string };

export const isSuccess = ({ status }: Outcome) => status !== undefined && status >= 200 && status <= 299;
export const isRefusal = ({ status }: Outcome) => status !== undefined && status >= 400 && status <= 499;
/** True if the service does not send the event again. */
export const isFinal = (outcome: Outcome) => isSuccess(outcome) || outcome.status === 410;
export const describe = ({ status, failure }: Outcome) => failure ?? `status ${status}`;

/** The largest part of a response that is read. */
const longestBody = 64 * 1024;

/** Writes the first bytes of the body. Resolves when they were handed to the network. */
async function writeBody(request: ClientRequest, { body, slowly }: WebhookRequest, end: number): Promise<void> {
  const size = Math.max(1, Math.ceil(end / (slowly?.pieces ?? 1)));
  for (let at = 0; at < end && !request.destroyed; at += size) {
    if (slowly) await sleep(slowly.delayMs);
    const piece = body.subarray(at, Math.min(at + size, end));
    await new Promise<void>((resolve) => request.write(piece, () => resolve()));
  }
}

/** Reads a response up to the limit. A response that breaks off counts as far as it was received. */
async function readResponse(response: IncomingMessage): Promise<Partial<Outcome>> {
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
  const { statusCode: status, headers } = response;
  return { ...(status === undefined ? {} : { status }), headers, body: Buffer.concat(chunks).toString("utf8") };
}

/**
 * Sends one request over a connection of its own. Never rejects.
 * @param timeoutMs how long the response may take, from the end of the request
 */
export function send(url: string, webhook: WebhookRequest, timeoutMs: number): Promise<Outcome> {
  const { method, headers, body, beforeLastByte, only = body.length, until } = webhook;
  const target = new URL(url);
  const open = target.protocol === "https:" ? overHttps : overHttp;
  const raw = [["host", target.host], ...headers, ["content-length", String(body.length)], ["connection", "close"]];
  return new Promise((resolve) => {
    const request = open(target, { method, agent: false, headers: raw.flat() });
    let timer: NodeJS.Timeout | undefined;
    const finish = (outcome: Partial<Outcome>) => {
      clearTimeout(timer);
      resolve({ headers: {}, body: "", ...outcome });
      request.destroy();
    };
    request.on("error", (error) => finish({ failure: error.message }));
    request.on("response", (response) => void readResponse(response).then(finish));
    const write = async () => {
      await writeBody(request, webhook, beforeLastByte ? body.length - 1 : only);
      if (beforeLastByte) {
        await beforeLastByte();
        request.write(body.subarray(-1));
      }
      void until?.().then(() => finish({ failure: "the suite closed the connection on purpose" }));
      if (only < body.length) return;
      if (!until) timer = setTimeout(() => finish({ failure: `no response within ${timeoutMs} ms` }), timeoutMs);
      request.end();
    };
    void write();
  });
}
