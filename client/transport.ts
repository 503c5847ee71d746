// The only module that knows openapi-fetch: whoever replaces it (its author maintains it no further) starts here.
import createFetchClient, { type Client } from "openapi-fetch";
import type { paths } from "../generated/openapi.ts";
import type { Fetch } from "./options.ts";
import type { OperationId } from "./types.ts";

/** openapi-fetch itself, typed by the contract. */
export type RawClient = Client<paths>;

/** What a request is about. */
interface Message {
  operation: OperationId;
  /** For verify: the service's reference. */
  reference?: string | undefined;
  /** For create. */
  body?: unknown;
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

export type Transport = (message: Message, sending: Sending, fetch: Fetch) => Promise<Reply>;

// openapi-fetch makes a Request, of which fetch makes another. This carries the two arguments to fetch, at no cost.
class Carrier {
  readonly url: string;
  readonly init: RequestInit;

  constructor(url: string, init: RequestInit) {
    this.url = url;
    this.init = init;
  }
}

// A redirect could lead elsewhere with the key, and turns a POST into a GET. Workers know no "error" here.
const redirect = "manual";

type Body<Path extends "/v1/disbursements" | "/v1/checkouts"> =
  paths[Path]["post"]["requestBody"]["content"]["application/json"];

export function createTransport(baseUrl: string): Transport {
  const api = createFetchClient<paths>({ baseUrl, redirect, Request: Carrier as unknown as typeof Request });
  return ({ operation, reference = "", body }, sending, fetch) => {
    const send = (carrier: unknown) => fetch((carrier as Carrier).url, (carrier as Carrier).init);
    const init = { ...sending, fetch: send, parseAs: "text" } as const;
    const params = { path: { reference } };
    switch (operation) {
      case "createDisbursement":
        return api.POST("/v1/disbursements", { ...init, body: body as Body<"/v1/disbursements"> });
      case "verifyDisbursement":
        return api.GET("/v1/disbursements/{reference}", { ...init, params });
      case "createCheckout":
        return api.POST("/v1/checkouts", { ...init, body: body as Body<"/v1/checkouts"> });
      case "verifyCheckout":
        return api.GET("/v1/checkouts/{reference}", { ...init, params });
    }
  };
}

/** The plain client, which sends the key and follows no redirect, and does nothing else. */
export function createRawClient(baseUrl: string, fetch: Fetch, giveKey: () => string | Promise<string>): RawClient {
  const raw = createFetchClient<paths>({
    baseUrl,
    redirect,
    fetch: (request) => fetch(request),
  });
  raw.use({
    async onRequest({ request }) {
      request.headers.set("x-api-key", await giveKey());
    },
  });
  return raw;
}
