import { Agent as HttpAgent, request as httpRequest, type IncomingHttpHeaders } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { brotliDecompressSync, gunzipSync, inflateSync } from "node:zlib";
import { isIP, type LookupFunction } from "node:net";
import { setImmediate as turn } from "node:timers/promises";
import { describeError, type HttpFailure } from "./failures.ts";
import { tlsContext, type TlsCertificates } from "./tls.ts";

export type { HttpFailure } from "./failures.ts";

export type HttpResponse = {
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
  /** Set if a 100 Continue came first, for which the request did not ask. */
  continued?: true;
};

/** Shorter than the keep-alive of servers: a server could close an idle connection just when a request reuses it. */
const idleMs = 1000;

const tickMs = 100;
const largestResponse = 4 * 1024 * 1024;

/**
 * Calls `end` after `limitMs`. Returns a function that cancels the call. A pause of this process counts as one tick,
 * however long it is: if the machine is that busy, a target on it had no chance to respond either.
 */
function deadline(limitMs: number, end: () => void): () => void {
  let leftMs = limitMs;
  const timer = setInterval(
    () => {
      leftMs -= tickMs;
      if (leftMs <= 0) end();
    },
    Math.min(tickMs, limitMs),
  );
  return () => clearInterval(timer);
}

/** Closes connections that were idle for longer than `idleMs`. On a busy machine the agent's timers may be late. */
function closeIdle({ freeSockets }: HttpAgent, freedAt: WeakMap<object, number>) {
  const oldest = performance.now() - idleMs;
  for (const socket of Object.values(freeSockets).flat())
    if (socket && (freedAt.get(socket) ?? 0) < oldest) socket.destroy();
}

const decoders = new Map<string, typeof gunzipSync>([
  ["gzip", gunzipSync],
  ["deflate", inflateSync],
  ["br", brotliDecompressSync],
]);

/** Returns the decompressed body. The suite sends the headers of common clients, which ask for compression. */
export function decoded(body: Buffer, encoding: string | undefined): Buffer {
  const decode = decoders.get(encoding?.toLowerCase() ?? "");
  return decode && body.length > 0 ? decode(body, { maxOutputLength: largestResponse }) : body;
}

export type HttpClient = {
  /** Sends one request exactly as given, also its path, and does not follow redirects. */
  send(request: {
    origin: URL;
    path: string;
    method: string;
    headers: Record<string, string | string[]>;
    body?: Buffer;
    timeoutMs: number;
    /** True for a page of another origin, of which only the public part is kept (foreign.ts). */
    isForeign?: true;
    /** The address to connect to, if the caller has checked it. Otherwise the name is resolved. */
    address?: string | undefined;
    /** Called when all bytes of the request but the last are sent. The last byte waits for the result. */
    beforeLastByte?: (() => Promise<void>) | undefined;
  }): Promise<HttpResponse | HttpFailure>;
  /** Closes every connection. From then on nothing is sent, and no further call of `send` gets a result. */
  close(): void;
};

/** Returns a lookup that knows one address, so that a name cannot change its meaning after it was checked. */
const pinned =
  (address: string): LookupFunction =>
  (_name, { all }, callback) => {
    const family = isIP(address);
    if (all) callback(null, [{ address, family }]);
    else callback(null, address, family);
  };

/** @param identity the only origin to which the client certificate of `tls` is shown */
export function createHttpClient(tls: TlsCertificates = {}, identity?: string): HttpClient {
  const keepAlive = { keepAlive: true, timeout: idleMs };
  const http = new HttpAgent(keepAlive);
  const identified = new HttpsAgent({ ...keepAlive, secureContext: tlsContext(tls) });
  const anonymous = new HttpsAgent({
    ...keepAlive,
    secureContext: tlsContext(tls.ca === undefined ? {} : { ca: tls.ca }),
  });
  const agents = [http, identified, anonymous];
  const freedAt = new WeakMap<object, number>();
  for (const agent of agents) agent.on("free", (socket: object) => freedAt.set(socket, performance.now()));
  let isClosed = false;
  return {
    async send({ origin, path, method, headers, body, timeoutMs, address, beforeLastByte }) {
      // Let Node notice which connections the target has closed before it reuses one, even if this process was blocked:
      // timers and sockets are processed before the second turn.
      await turn();
      await turn();
      return new Promise((resolve) => {
        if (isClosed) return;
        const secure = origin.protocol === "https:";
        const hostname = origin.hostname.replace(/^\[(.*)\]$/, "$1");
        const https = origin.origin === identity ? identified : anonymous;
        const agent = secure ? https : http;
        closeIdle(agent, freedAt);
        const lookup = address === undefined ? undefined : pinned(address);
        const target = { lookup, hostname, port: origin.port, path, method, headers, agent };
        const request = (secure ? httpsRequest : httpRequest)(target);
        const cancel = deadline(timeoutMs, () =>
          request.destroy(new Error(`no complete response within ${timeoutMs} ms`)),
        );
        const settle = (result: HttpResponse | HttpFailure) => {
          cancel();
          resolve(result);
        };
        let interim: { continued?: true } = {};
        if (!request.hasHeader("expect")) request.on("continue", () => (interim = { continued: true }));
        request.on("error", (error) => settle(describeError(error, origin)));
        // After a 101 there is neither a response nor an error.
        request.on("upgrade", (_, socket) => {
          socket.destroy();
          settle({ failure: "the connection was switched to another protocol", unreachable: false });
        });
        request.on("response", (response) => {
          const chunks: Buffer[] = [];
          let size = 0;
          response.on("data", (chunk: Buffer) => {
            size += chunk.length;
            if (size > largestResponse)
              request.destroy(new Error(`the response has more than ${largestResponse} bytes`));
            chunks.push(chunk);
          });
          response.on("error", (error) => settle(describeError(error, origin)));
          response.on("end", () => {
            const { statusCode: status = 0, headers: received } = response;
            try {
              const content = decoded(Buffer.concat(chunks), received["content-encoding"]);
              settle({ status, headers: received, body: content, ...interim });
            } catch (error) {
              settle(describeError(error as Error, origin));
            }
          });
        });
        if (beforeLastByte && body) {
          const last = body.length - 1;
          request.write(
            body.subarray(0, last),
            () => void beforeLastByte().then(() => request.end(body.subarray(last))),
          );
        } else request.end(body);
      });
    },
    close() {
      isClosed = true;
      for (const agent of agents) agent.destroy();
    },
  };
}
