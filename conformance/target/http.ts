import { Agent as HttpAgent, request as httpRequest, type IncomingHttpHeaders } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";

export type HttpResponse = { status: number; headers: IncomingHttpHeaders; body: Buffer };
export type HttpFailure = {
  failure: string;
  /** True if no connection was established. The request then cannot have reached the target. */
  unreachable: boolean;
};

const neverConnected = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ERR_TLS_CERT_ALTNAME_INVALID",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "CERT_HAS_EXPIRED",
]);

/**
 * The time for which an idle connection is kept. It is shorter than the keep-alive timeouts of servers. A server could
 * otherwise close a connection at the moment when a request reuses it.
 */
const idleMs = 1000;
const largestResponse = 4 * 1024 * 1024;

export type HttpClient = {
  /**
   * Sends one request exactly as given and does not follow redirects.
   * @param path the request target, which is sent without normalisation
   * @param timeoutMs the time limit for the complete response
   */
  send(request: {
    origin: URL;
    path: string;
    method: string;
    headers: Record<string, string | string[]>;
    body?: Buffer;
    timeoutMs: number;
  }): Promise<HttpResponse | HttpFailure>;
  close(): void;
};

function failureOf(error: NodeJS.ErrnoException): HttpFailure {
  const code = error.code ?? "";
  // If a host has several addresses, Node reports an AggregateError with one error per address.
  const inner = error instanceof AggregateError ? (error.errors[0] as NodeJS.ErrnoException) : error;
  if (code === "ECONNRESET" || error.message === "socket hang up") {
    return { failure: "the connection was closed without a response", unreachable: false };
  }
  const unreachable = neverConnected.has(inner.code ?? code);
  return { failure: inner.message || code, unreachable };
}

/** Creates an HTTP/1.1 client that follows no redirects, does not retry and does not normalise requests. */
export function createHttpClient(): HttpClient {
  const http = new HttpAgent({ keepAlive: true, timeout: idleMs });
  const https = new HttpsAgent({ keepAlive: true, timeout: idleMs });
  return {
    send: ({ origin, path, method, headers, body, timeoutMs }) =>
      new Promise((resolve) => {
        const secure = origin.protocol === "https:";
        const hostname = origin.hostname.replace(/^\[(.*)\]$/, "$1");
        const target = { hostname, port: origin.port, path, method, headers, agent: secure ? https : http };
        const request = (secure ? httpsRequest : httpRequest)(target);
        const deadline = setTimeout(
          () => request.destroy(new Error(`no complete response within ${timeoutMs} ms`)),
          timeoutMs,
        );
        const settle = (result: HttpResponse | HttpFailure) => {
          clearTimeout(deadline);
          resolve(result);
        };
        request.on("error", (error) => settle(failureOf(error)));
        request.on("response", (response) => {
          const chunks: Buffer[] = [];
          let size = 0;
          response.on("data", (chunk: Buffer) => {
            size += chunk.length;
            if (size > largestResponse)
              request.destroy(new Error(`the response has more than ${largestResponse} bytes`));
            chunks.push(chunk);
          });
          response.on("error", (error) => settle(failureOf(error)));
          response.on("end", () =>
            settle({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) }),
          );
        });
        request.end(body);
      }),
    close() {
      http.destroy();
      https.destroy();
    },
  };
}
