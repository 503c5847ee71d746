// The only module that knows openapi-fetch: whoever replaces it (its author maintains it no further) starts here.
import createFetchClient, { type Client } from "openapi-fetch";
import type { paths } from "../generated/openapi.ts";
import type { Fetch } from "./options.ts";

/** openapi-fetch itself, typed by the contract. */
export type RawClient = Client<paths>;

/** Where records of a kind are made and, under their reference, looked up. */
export type Path = Extract<keyof paths, "/v1/disbursements" | "/v1/checkouts">;

/** What a request is about: a create has a body, a verify the service's reference. */
interface Message {
  path: Path;
  body?: unknown;
  reference?: string | undefined;
}

/** How it is sent. */
interface Sending {
  headers: Record<string, string>;
  signal: AbortSignal;
}

/** An answer whose body has been read to its end: the text of a success, the parsed body of anything else. */
export interface Reply {
  data?: string | undefined;
  error?: unknown;
  response: Response;
}

/** Where requests go, by what, and with which key. */
interface Service {
  baseUrl: string;
  fetch: Fetch;
  giveKey: () => Promise<string>;
}

// openapi-fetch makes a Request, of which fetch makes another. This carries the two arguments to fetch, at no cost.
type Carrier = { url: string; init: RequestInit };
const Carrier = function (url: string, init: RequestInit): Carrier {
  return { url, init };
} as unknown as typeof Request;

export type Transport = (message: Message, sending: Sending, fetch: Fetch) => Promise<Reply>;

/** openapi-fetch as it comes, but for the key it sends and the redirects it does not follow. */
export function createRawClient({ baseUrl, fetch, giveKey }: Service): RawClient {
  return createFetchClient<paths>({
    baseUrl,
    // A redirect could lead elsewhere with the key, and turns a POST into a GET. Workers know no "error" here.
    redirect: "manual",
    async fetch(request) {
      request.headers.set("x-api-key", await giveKey());
      return fetch(request);
    },
  });
}

/** What the paying calls go through: not the raw client, whose middleware could change what they are told. */
export function createTransport(baseUrl: string): Transport {
  const raw = createFetchClient<paths>({ baseUrl, redirect: "manual" });
  return ({ path, body, reference = "" }, sending, fetch) => {
    const send = (carrier: unknown) => {
      const { url, init } = carrier as Carrier;
      return fetch(url, init);
    };
    const init = { ...sending, Request: Carrier, fetch: send, parseAs: "text" } as const;
    if (body) return raw.POST(path, { ...init, body: body as never });
    return raw.GET(`${path}/{reference}`, { ...init, params: { path: { reference } } });
  };
}
