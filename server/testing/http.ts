// HTTP on this machine: a client that checks responses, raw bytes, and a server of the test.
import { once } from "node:events";
import { Agent, createServer, request as httpRequest, type RequestListener } from "node:http";
import type { IncomingHttpHeaders, IncomingMessage, OutgoingHttpHeaders } from "node:http";
import { connect, type AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import type { components } from "../../generated/openapi.ts";
import { checkResponse } from "./contract.ts";

type Schemas = components["schemas"];

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

  function request(method: string, path: string, options: RequestOptions = {}): Promise<HttpResponse> {
    const response = send(method, path, options);
    inProgress.add(response);
    void response.catch(() => undefined).then(() => inProgress.delete(response));
    return response;
  }
  return {
    /** Rejects if the connection ends without a response, or the response violates the contract. */
    request,
    createPayout: (changes?: Partial<Schemas["DisbursementRequest"]>, sent?: RequestOptions) =>
      request("POST", "/v1/disbursements", { body: aPayout(changes), ...sent }),
    createCheckout: (changes?: Partial<Schemas["CheckoutRequest"]>, sent?: RequestOptions) =>
      request("POST", "/v1/checkouts", { body: aCheckout(changes), ...sent }),
    /** Resolves when all requests in progress have ended. */
    async close() {
      await Promise.allSettled(inProgress);
      agent.destroy();
    },
  };
}

let made = 0;

/** A valid payout request. Each call uses a new reference. */
export function aPayout(changes: Partial<Schemas["DisbursementRequest"]> = {}): Schemas["DisbursementRequest"] {
  made += 1;
  const reference = `payout-${made}`;
  return { reference, amount: 10_000, phoneNumber: "2257038102473", country: "CI", currency: "XOF", ...changes };
}

/** A valid checkout request. */
export function aCheckout(changes: Partial<Schemas["CheckoutRequest"]> = {}): Partial<Schemas["CheckoutRequest"]> {
  return { amount: 2_500_000, currency: "XOF", country: "CI", ...changes };
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

/**
 * Sends bytes to a server on this machine, half-closes the connection, and reads until the server closes it.
 * Rejects if an error response violates the contract.
 * @returns all responses in order; each must have a content-length
 */
export async function exchange(port: number, bytes: string | Uint8Array): Promise<HttpResponse[]> {
  const socket = connect(port, "127.0.0.1");
  const chunks: Buffer[] = [];
  socket.on("data", (chunk) => chunks.push(chunk));
  // The server may close the connection before it has read everything.
  socket.on("error", () => undefined);
  socket.end(bytes);
  await once(socket, "close");
  return parseResponses(Buffer.concat(chunks));
}

function parseResponses(bytes: Buffer): HttpResponse[] {
  const responses: HttpResponse[] = [];
  for (let rest = bytes; rest.length > 0;) {
    const end = rest.indexOf("\r\n\r\n");
    if (end < 0) throw new Error(`Not HTTP: ${rest.toString()}`);
    const [line = "", ...fields] = rest.subarray(0, end).toString().split("\r\n");
    const headers = Object.fromEntries(
      fields.map((field) => [field.split(":", 1)[0]!.toLowerCase(), field.slice(field.indexOf(":") + 1).trim()]),
    );
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(line)?.[1]);
    const begin = end + 4;
    const length = Number(headers["content-length"] ?? 0);
    const text = rest.subarray(begin, begin + length).toString();
    rest = rest.subarray(begin + length);
    if (status === 100) continue;
    if (status >= 400) checkResponse({ method: "", path: "", status, headers, text });
    responses.push({ status, headers, text, body: text === "" ? undefined : JSON.parse(text) });
  }
  return responses;
}

const CONNECTIONS = 8;
const REQUESTS_EACH = 1_000;

/** Sends as many requests as make the server log more than a pipe and the buffers at both of its ends can hold. */
export async function fillLog(port: number): Promise<void> {
  const requests = "GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n".repeat(REQUESTS_EACH);
  const responses = await Promise.all(Array.from({ length: CONNECTIONS }, () => exchange(port, requests)));
  const responded = responses.flat().filter(({ status }) => status === 200).length;
  if (responded !== CONNECTIONS * REQUESTS_EACH) throw new Error(`only ${responded} requests got a response`);
}

/** Starts an HTTP server on a free port of this machine. */
export async function serve(handle: RequestListener) {
  // Without the second listener, Node responds to unknown expectations itself.
  const server = createServer(handle).on("checkExpectation", handle);
  await once(server.listen(0, "127.0.0.1"), "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    disconnect: () => server.closeAllConnections(),
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
