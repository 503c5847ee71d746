// A proxy that simulates a bad network. A seeded sequence selects the fault for each request.
import { once } from "node:events";
import { createServer, request as httpRequest } from "node:http";
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** Random numbers from 0 up to but not including 1, reproducible from the seed (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

interface BufferedResponse {
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

interface Exchange {
  incoming: IncomingMessage;
  forward(): Promise<BufferedResponse>;
  respond(response: BufferedResponse): void;
  response: ServerResponse;
  random(): number;
}

const page = Buffer.from("<html><body>Something went wrong</body></html>");
const html = { "content-type": "text/html" };
const json = { "content-type": "application/json" };
// No 429 is among them: it promises that nothing was recorded, so the proxy sends it only for a request that it drops.
const pages: BufferedResponse[] = [
  ...[500, 502, 503, 504, 200, 404, 400, 520].map((status) => ({ status, headers: html, body: page })),
  { status: 302, headers: { ...html, location: "https://elsewhere.invalid/" }, body: page },
  { status: 503, headers: { ...html, "retry-after": "1" }, body: page },
  { status: 200, headers: { "content-type": "application/json" }, body: Buffer.from("{}") },
  { status: 204, headers: {}, body: Buffer.alloc(0) },
  // A gateway's refusal proves nothing: the request may have been recorded.
  ...[401, 403].flatMap((status) => [
    { status, headers: html, body: page },
    { status, headers: {}, body: Buffer.alloc(0) },
    { status, headers: json, body: Buffer.from(JSON.stringify({ error: "Forbidden", message: "Forbidden" })) },
  ]),
];
const slowDown: BufferedResponse = { status: 429, headers: { ...html, "retry-after": "1" }, body: page };

const drawn = <T>(from: T[], random: () => number) => from[Math.floor(random() * from.length)]!;
const wait = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms).unref());

/** The faults by name. */
const faults: Record<string, (exchange: Exchange, delay: number) => Promise<void> | void> = {
  dropRequest: ({ response }) => void response.destroy(),
  async dropResponse({ forward, response }) {
    await forward();
    response.destroy();
  },
  async delayRequest({ forward, respond }, delay) {
    await wait(delay);
    respond(await forward());
  },
  async delayResponse({ forward, respond }, delay) {
    const buffered = await forward();
    await wait(delay);
    respond(buffered);
  },
  async truncateResponse({ forward, response, random }) {
    const { status, headers, body } = await forward();
    response.writeHead(status, { ...headers, "content-length": body.length });
    response.write(body.subarray(0, Math.floor(body.length * random())), () => response.destroy());
  },
  async closeEarly({ forward, response, random }) {
    const { status, headers, body } = await forward();
    // Without a content-length the closed connection marks the end of the body, so the client cannot detect the loss.
    response.writeHead(status, { ...without(headers, "content-length"), connection: "close" });
    response.useChunkedEncodingByDefault = false;
    response.end(body.subarray(0, Math.floor(body.length * random())));
  },
  async duplicateRequest({ forward, respond, random }) {
    const responses = await Promise.all([forward(), forward()]);
    respond(drawn(responses, random));
  },
  respondAtRandom: ({ respond, random }) => respond(drawn([...pages, slowDown], random)),
  // Responds like a replica of the service that does not have the record yet.
  async lag({ incoming, forward, respond }) {
    if (incoming.method !== "GET") return respond(await forward());
    const isList = incoming.url!.includes("?");
    const body = isList ? { statusCode: 200, data: { items: [] } } : { statusCode: 404, error: "Not Found" };
    respond({ status: body.statusCode, headers: json, body: Buffer.from(JSON.stringify(body)) });
  },
  async respondAtRandomAfterwards({ forward, respond, random }) {
    await forward();
    respond(drawn(pages, random));
  },
};

export interface ChaosProxy {
  baseUrl: string;
  /** The number of requests by fault; `passed` counts requests without a fault. */
  counts: Record<string, number>;
  stop(): Promise<void>;
}

/**
 * Starts a proxy in front of the service at `target`.
 *
 * @param rate Share of requests with a fault; all faults are equally likely.
 * @param delay Longest delay, in ms.
 */
export async function startProxy(
  target: string,
  { seed = 1, rate = 0.3, delay = 1500, port = 0 } = {},
): Promise<ChaosProxy> {
  const random = seeded(seed);
  const counts: Record<string, number> = { passed: 0 };
  const names = Object.keys(faults);
  const server = createServer((incoming, response) => {
    const name = random() < rate ? drawn(names, random) : "passed";
    counts[name] = (counts[name] ?? 0) + 1;
    void handle(name, incoming, response).catch(() => response.destroy());
  });

  async function handle(name: string, incoming: IncomingMessage, response: ServerResponse) {
    const body = Buffer.concat(await incoming.toArray());
    const forward = () => forwardTo(target, incoming, body);
    const respond = (buffered: BufferedResponse) => {
      if (!response.destroyed) response.writeHead(buffered.status, buffered.headers).end(buffered.body);
    };
    const fault = faults[name];
    if (fault) await fault({ incoming, forward, respond, response, random }, random() * delay);
    else respond(await forward());
  }

  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    counts,
    async stop() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

/** Forwards a request and reads the whole response. Fails if the service breaks the connection. */
async function forwardTo(
  target: string,
  { method, url, headers }: IncomingMessage,
  body: Buffer,
): Promise<BufferedResponse> {
  const options = { method, headers: { ...without(headers, "host"), "content-length": body.length } };
  const outgoing = httpRequest(new URL(url!, target), options).end(body);
  const [response] = (await once(outgoing, "response")) as [IncomingMessage];
  return {
    status: response.statusCode!,
    headers: without(response.headers),
    body: Buffer.concat(await response.toArray()),
  };
}

/** Returns the headers without the hop-by-hop ones and without `names`. */
function without(headers: IncomingHttpHeaders, ...names: string[]): IncomingHttpHeaders {
  const omitted = new Set(["connection", "transfer-encoding", ...names]);
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !omitted.has(name)));
}
