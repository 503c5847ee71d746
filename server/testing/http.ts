import { once } from "node:events";
import { Agent, request as httpRequest } from "node:http";
import type { IncomingHttpHeaders, IncomingMessage, OutgoingHttpHeaders } from "node:http";
import { buffer } from "node:stream/consumers";
import { checkAnswer } from "./contract.ts";

export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
  /** The parsed JSON; undefined when there is none. */
  body: any;
}

export interface RequestOptions {
  /** Sent as `x-api-key`; null sends none. */
  key?: string | null;
  /** Text and bytes are sent as they are, anything else as JSON. */
  body?: unknown;
  /** `content-type` is `application/json` with a body, unless it is given or undefined here. */
  headers?: OutgoingHttpHeaders;
  /** Sends the body in pieces, without a `content-length`. */
  chunked?: boolean;
}

/** Sends requests as they are given: no path is tidied up, no redirect followed. */
export interface HttpClient {
  /** Rejects when the connection ends without an answer, or with an answer that breaks the contract. */
  request(method: string, path: string, options?: RequestOptions): Promise<Answer>;
  /** Resolves when what was sent is over. */
  close(): Promise<void>;
}

interface Options {
  port: number;
  /** For requests that name none. */
  key: string;
  sandbox: boolean;
}

/** A client for a server on this machine. Every answer is held against the contract (`checkAnswer`). */
export function createHttpClient({ port, key: defaultKey, sandbox }: Options): HttpClient {
  const agent = new Agent({ keepAlive: true });

  const underWay = new Set<Promise<unknown>>();

  async function send(method: string, path: string, options: RequestOptions): Promise<Answer> {
    const { key = defaultKey, body, chunked = false } = options;
    const bytes = body === undefined ? undefined : toBytes(body);
    const headers: OutgoingHttpHeaders = { "content-type": bytes && "application/json", ...options.headers };
    if (key !== null) headers["x-api-key"] = key;
    if (bytes && !chunked) headers["content-length"] = bytes.length;
    for (const [name, value] of Object.entries(headers)) if (value === undefined) delete headers[name];

    const sent = httpRequest({ host: "127.0.0.1", port, method, path, headers, agent });
    if (bytes && chunked) for (let at = 0; at < bytes.length; at += 1_000) sent.write(bytes.subarray(at, at + 1_000));
    sent.end(chunked ? undefined : bytes);
    const [response] = (await once(sent, "response")) as [IncomingMessage];
    const text = (await buffer(response)).toString();
    const answer = { status: response.statusCode!, headers: response.headers, text, body: parsed(text) };
    checkAnswer({ method, path, ...answer, sandbox });
    return answer;
  }

  return {
    request(method, path, options = {}) {
      const answered = send(method, path, options);
      underWay.add(answered);
      void answered.catch(() => undefined).then(() => underWay.delete(answered));
      return answered;
    },
    async close() {
      await Promise.allSettled(underWay);
      agent.destroy();
    },
  };
}

function toBytes(body: unknown): Uint8Array {
  if (body instanceof Uint8Array) return body;
  return Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
