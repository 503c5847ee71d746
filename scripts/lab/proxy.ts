// A network between two programs that loses, delays, repeats and breaks requests and responses.
import { once } from "node:events";
import { request, type IncomingMessage, type ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { serve } from "../../server/testing/http.ts";
import { seededRandom } from "../../server/testing/random.ts";

interface Reply {
  status: number;
  headers: Record<string, string>;
  body: Buffer;
}

interface Exchange {
  incoming: IncomingMessage;
  response: ServerResponse;
  /** Passes the request on. Rejects if the service closes the connection without a response. */
  forward(): Promise<Reply>;
  respond(reply: Reply): void;
  pause(): Promise<unknown>;
  /** A random number from 0 to 1. */
  chance: number;
  /** A random reply that is not the service's, but for example a gateway's. */
  page: Reply;
}

const reply = (status: number, type: string, text: string, headers: Record<string, string> = {}): Reply => ({
  status,
  headers: { ...(type && { "content-type": type }), ...headers },
  body: Buffer.from(text),
});
const html = (status: number, headers?: Record<string, string>) =>
  reply(status, "text/html", "<html><body>Something went wrong</body></html>", headers);
const json = (status: number, body: object) => reply(status, "application/json", JSON.stringify(body));

export const BAD_GATEWAY: readonly Reply[] = [html(502)];
// No 429 is among them: it promises that nothing was recorded. A gateway's 401 or 403 promises nothing.
const PAGES: readonly Reply[] = [
  ...[500, 502, 503, 504, 200, 404, 400, 520].map((status) => html(status)),
  html(302, { location: "https://elsewhere.invalid/" }),
  html(503, { "retry-after": "1" }),
  json(200, {}),
  reply(204, "", ""),
  ...[401, 403].flatMap((status) => [
    html(status),
    reply(status, "", ""),
    json(status, { error: "Forbidden", message: "Forbidden" }),
  ]),
];

/** What happens to a request, by the name of the fault. */
const FAULTS = {
  "request lost": ({ response }) => response.destroy(),
  async "response lost"({ forward, response }) {
    await forward();
    response.destroy();
  },
  async "request delayed"({ forward, respond, pause }) {
    await pause();
    respond(await forward());
  },
  async "response delayed"({ forward, respond, pause }) {
    const passed = await forward();
    await pause();
    respond(passed);
  },
  async "response cut"({ forward, response, chance }) {
    const { status, headers, body } = await forward();
    response.writeHead(status, { ...headers, "content-length": body.length });
    response.write(body.subarray(0, Math.floor(body.length * chance)), () => response.destroy());
  },
  async "response cut without a length"({ forward, response, chance }) {
    const { status, headers, body } = await forward();
    // Without a content-length the closed connection marks the end of the body, so the loss cannot be detected.
    const { "content-length": _, ...others } = headers;
    response.writeHead(status, { ...others, connection: "close" });
    response.useChunkedEncodingByDefault = false;
    response.end(body.subarray(0, Math.floor(body.length * chance)));
  },
  async "request repeated"({ forward, respond, chance }) {
    const passed = await Promise.all([forward(), forward()]);
    respond(passed[Math.floor(chance * 2)]!);
  },
  "page instead of the request": ({ respond, page }) => respond(page),
  "told to slow down": ({ respond }) => respond(html(429, { "retry-after": "1" })),
  async "page instead of the response"({ forward, respond, page }) {
    await forward();
    respond(page);
  },
  /** Responds like a replica of the service that does not have the record yet. */
  async lag({ incoming, forward, respond }) {
    if (incoming.method !== "GET") return respond(await forward());
    if (incoming.url!.includes("?")) respond(json(200, { statusCode: 200, data: { items: [] } }));
    else respond(json(404, { statusCode: 404, error: "Not Found" }));
  },
} satisfies Record<string, (exchange: Exchange) => unknown>;

export type NetworkFault = keyof typeof FAULTS;

export type Proxy = Awaited<ReturnType<typeof startProxy>>;

export interface ProxyOptions {
  /** The ports of this machine to which requests are passed in turn. */
  ports: readonly number[];
  seed: number;
  /** The share of requests with a fault, from 0 to 1. All faults are equally likely. */
  share: number;
  /** The longest delay of a request or response, in milliseconds. */
  delayMs: number;
  /** By default all. */
  faults?: readonly NetworkFault[];
  pages?: readonly Reply[];
}

/** Starts the network. Requests and responses without a fault pass unchanged. */
export async function startProxy(options: ProxyOptions) {
  const { ports, seed, share, delayMs, pages = PAGES } = options;
  const faults = options.faults ?? (Object.keys(FAULTS) as NetworkFault[]);
  const random = seededRandom(seed);
  const counts: Record<string, number> = {};
  const closing = new AbortController();
  let isHealthy = false;
  let turn = 0;

  async function forward({ method, url: path, headers }: IncomingMessage, body: Buffer): Promise<Reply> {
    turn += 1;
    const port = ports[turn % ports.length]!;
    const { host: _, "transfer-encoding": __, ...others } = headers;
    const sent = request({
      host: "127.0.0.1",
      port,
      method,
      path,
      headers: { ...others, "content-length": body.length },
    });
    // The service may also be killed after its response has begun.
    sent.on("error", () => undefined).end(body);
    const [passed] = (await once(sent, "response")) as [IncomingMessage];
    const { connection: ___, "transfer-encoding": ____, ...back } = passed.headers;
    return { status: passed.statusCode!, headers: back as Record<string, string>, body: await buffer(passed) };
  }

  async function handle(incoming: IncomingMessage, response: ServerResponse) {
    const body = await buffer(incoming);
    const name = !isHealthy && random.next() < share ? random.pick(faults) : undefined;
    const exchange: Exchange = {
      incoming,
      response,
      forward: () => forward(incoming, body),
      respond: ({ status, headers, body: text }) => {
        if (!response.destroyed) response.writeHead(status, headers).end(text);
      },
      pause: () => sleep(random.below(delayMs), undefined, { signal: closing.signal }),
      chance: random.next(),
      page: random.pick(pages),
    };
    if (name === undefined) return exchange.respond(await exchange.forward());
    counts[name] = (counts[name] ?? 0) + 1;
    await FAULTS[name](exchange);
  }

  const { url, close } = await serve((incoming, response) => {
    response.on("error", () => undefined);
    // The service behind the network was killed, or the network is being closed.
    handle(incoming, response).catch(() => response.destroy());
  });
  return {
    url,
    /** How often each fault occurred. */
    counts,
    /** Passes everything on unchanged from now on. */
    heal: () => void (isHealthy = true),
    async close() {
      closing.abort();
      await close();
    },
  };
}
