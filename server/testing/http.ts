import { once } from "node:events";
import { Agent, request as httpRequest } from "node:http";
import type { IncomingHttpHeaders, IncomingMessage, OutgoingHttpHeaders } from "node:http";
import { buffer } from "node:stream/consumers";
import { checkResponse } from "./contract.ts";

export interface HttpResponse {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
  /** The parsed JSON; undefined if the body is not JSON. */
  body: any;
}

export interface RequestOptions {
  /** Sent as `x-api-key`; null sends none. */
  key?: string | null;
  /** Strings and bytes are sent unchanged, anything else as JSON. */
  body?: unknown;
  /** `content-type` defaults to `application/json` if there is a body; set it to undefined to omit it. */
  headers?: OutgoingHttpHeaders;
  /** Sends the body in chunks, without a `content-length`. */
  chunked?: boolean;
}

interface Options {
  port: number;
  /** The default API key. */
  key: string;
  sandbox: boolean;
}

export type HttpClient = ReturnType<typeof createHttpClient>;

/**
 * A client for a server on this machine, which sends requests unchanged: paths are not normalised and redirects not
 * followed. Every response is checked against the contract (`checkResponse`).
 */
export function createHttpClient({ port, key: defaultKey, sandbox }: Options) {
  const agent = new Agent({ keepAlive: true });

  const inProgress = new Set<Promise<unknown>>();

  async function send(method: string, path: string, options: RequestOptions): Promise<HttpResponse> {
    const { key = defaultKey, body, chunked = false } = options;
    const bytes = body === undefined ? undefined : toBytes(body);
    const headers: OutgoingHttpHeaders = { "content-type": bytes && "application/json", ...options.headers };
    if (key !== null) headers["x-api-key"] = key;
    if (bytes && !chunked) headers["content-length"] = bytes.length;
    for (const [name, value] of Object.entries(headers)) if (value === undefined) delete headers[name];

    const sent = httpRequest({ host: "127.0.0.1", port, method, path, headers, agent });
    if (bytes && chunked) for (let at = 0; at < bytes.length; at += 1_000) sent.write(bytes.subarray(at, at + 1_000));
    sent.end(chunked ? undefined : bytes);
    const [incoming] = (await once(sent, "response")) as [IncomingMessage];
    const text = (await buffer(incoming)).toString();
    const response = { status: incoming.statusCode!, headers: incoming.headers, text, body: parsed(text) };
    checkResponse({ method, path, ...response, sandbox });
    return response;
  }

  return {
    /** Rejects if the connection ends without a response, or the response violates the contract. */
    request(method: string, path: string, options: RequestOptions = {}): Promise<HttpResponse> {
      const response = send(method, path, options);
      inProgress.add(response);
      void response.catch(() => undefined).then(() => inProgress.delete(response));
      return response;
    },
    /** Resolves when all requests in progress have ended. */
    async close() {
      await Promise.allSettled(inProgress);
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
