// The only module that imports openapi-fetch. Its author has stopped maintaining it; to replace it, change this module.
import createFetchClient, { type Client } from "openapi-fetch";
import type { paths } from "../generated/openapi.ts";
import { UnexpectedAnswerError } from "./errors.ts";
import type { Fetch } from "./options.ts";
import { parse } from "./text.ts";

/** The plain openapi-fetch client, typed by the contract. */
export type RawClient = Client<paths>;

/** The path that creates records of a kind, and under which they are read by reference, or the path of a list. */
export type Path = Extract<keyof paths, "/v1/disbursements" | "/v1/checkouts" | "/v1/balances" | "/v1/statements">;

/** A request: a create has a body, and a list a query. */
export interface Message {
  path: Path;
  body?: unknown;
  /** The filters and the cursor. */
  query?: object;
  /** The merchant's reference for a create, the service's reference for a verify. */
  reference?: string | undefined;
}

/** A response that was read completely. `body` is parsed JSON; that of an unsuccessful response may be text instead. */
export interface Reply {
  body: unknown;
  response: Response;
}

interface TransportOptions {
  baseUrl: string;
  fetch: Fetch;
}

// openapi-fetch builds a Request, which fetch would then copy. This stand-in only holds the arguments for fetch, so
// that neither the Request nor its copy is created.
type Carrier = { url: string; init: RequestInit };
const Carrier = function (url: string, init: RequestInit): Carrier {
  return { url, init };
} as unknown as typeof Request;

/** Sends a request. Calls `onSend` immediately before. */
export type Transport = (
  message: Message,
  options: { headers: Record<string, string>; signal: AbortSignal },
  onSend: () => void,
) => Promise<Reply>;

/**
 * What every request has. Following a redirect could send the key to another host, and turns a POST into a GET; the mode
 * is not "error", because Workers do not support that mode. Next.js 14 caches reads for ever without `no-store`. Older
 * Workers refuse the field `cache`; their `Request` lacks it.
 */
const always = (baseUrl: string) => ({
  baseUrl,
  redirect: "manual" as const,
  ...("cache" in Request.prototype && { cache: "no-store" as const }),
});

/** Creates the plain openapi-fetch client, which adds the key and does not follow redirects. */
export function createRawClient({
  baseUrl,
  fetch,
  apiKey,
}: TransportOptions & { apiKey: () => Promise<string> }): RawClient {
  return createFetchClient<paths>({
    ...always(baseUrl),
    async fetch(request) {
      request.headers.set("x-api-key", await apiKey());
      return fetch(request).then(limitBody);
    },
  });
}

/**
 * Creates the transport of the typed calls. Typed calls do not use the raw client, because middleware that a caller
 * adds to the raw client could alter responses.
 */
export function createTransport({ baseUrl, fetch }: TransportOptions): Transport {
  const raw = createFetchClient<paths>(always(baseUrl));
  return async ({ path, body, query, reference }, options, onSend) => {
    const request = {
      ...options,
      Request: Carrier,
      fetch: async ({ url, init }: Carrier) => {
        onSend();
        return fetch(url, init).then(limitBody);
      },
      parseAs: "text",
      body,
      params: { query, path: { reference } },
    };
    const at = (body || query ? path : `${path}/{reference}`) as "/v1/checkouts";
    const { data, error, response } = await raw[(body ? "POST" : "GET") as "GET"](at, request as never);
    return { body: response.ok ? parse(data as unknown as string) : error, response };
  };
}

// The largest response that is read, in bytes. A list of 100 records has less than a tenth of it.
const largestBody = 8 * 1024 ** 2;

/**
 * Makes text() and json() of a response fail if the body is too large, so that an endless body does not fill the
 * memory. The limit is on the decompressed body.
 */
function limitBody(response: Response): Response {
  response.text = async () => {
    const decoder = new TextDecoder();
    let [text, left] = ["", largestBody];
    for await (const chunk of (response.body ?? []) as unknown as AsyncIterable<Uint8Array<ArrayBuffer>>) {
      left -= chunk.length;
      if (left < 0) throw new UnexpectedAnswerError(`The response has more than ${largestBody} bytes.`);
      text += decoder.decode(chunk, { stream: true });
    }
    return text;
  };
  response.json = () => response.text().then(JSON.parse);
  return response;
}
