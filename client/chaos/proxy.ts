// A proxy between client and service that does what bad networks do, each request drawn from a seeded sequence.
import { once } from "node:events";
import { createServer, request as httpRequest } from "node:http";
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** Numbers from 0 up to 1, the same for the same seed (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

interface Exchange {
  forward(): Promise<Answer>;
  answer(answer: Answer): void;
  response: ServerResponse;
  random(): number;
}

const page = Buffer.from("<html><body>Something went wrong</body></html>");
const html = { "content-type": "text/html" };
// A 429 promises that nothing was done, so it is only given instead of forwarding.
const pages: Answer[] = [
  ...[500, 502, 503, 504, 200, 404, 400, 520].map((status) => ({ status, headers: html, body: page })),
  { status: 302, headers: { ...html, location: "https://elsewhere.invalid/" }, body: page },
  { status: 503, headers: { ...html, "retry-after": "1" }, body: page },
  { status: 200, headers: { "content-type": "application/json" }, body: Buffer.from("{}") },
  { status: 204, headers: {}, body: Buffer.alloc(0) },
];
const slowDown: Answer = { status: 429, headers: { ...html, "retry-after": "1" }, body: page };

const drawn = <T>(from: T[], random: () => number) => from[Math.floor(random() * from.length)]!;
const wait = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms).unref());

/** What can go wrong, by name. Everything else is passed on unharmed. */
const faults: Record<string, (exchange: Exchange, delay: number) => Promise<void> | void> = {
  dropRequest: ({ response }) => void response.destroy(),
  async dropAnswer({ forward, response }) {
    await forward();
    response.destroy();
  },
  async delayRequest({ forward, answer }, delay) {
    await wait(delay);
    answer(await forward());
  },
  async delayAnswer({ forward, answer }, delay) {
    const given = await forward();
    await wait(delay);
    answer(given);
  },
  async truncateAnswer({ forward, response, random }) {
    const { status, headers, body } = await forward();
    response.writeHead(status, { ...headers, "content-length": body.length });
    response.write(body.subarray(0, Math.floor(body.length * random())), () => response.destroy());
  },
  async closeEarly({ forward, response, random }) {
    const { status, headers, body } = await forward();
    // Without a length the end of the connection is the end of the body, however early it comes.
    response.writeHead(status, { ...without(headers, "content-length"), connection: "close" });
    response.useChunkedEncodingByDefault = false;
    response.end(body.subarray(0, Math.floor(body.length * random())));
  },
  async duplicateRequest({ forward, answer, random }) {
    const answers = await Promise.all([forward(), forward()]);
    answer(drawn(answers, random));
  },
  answerAtRandom: ({ answer, random }) => answer(drawn([...pages, slowDown], random)),
  async answerAtRandomAfterwards({ forward, answer, random }) {
    await forward();
    answer(drawn(pages, random));
  },
};

export interface ChaosProxy {
  baseUrl: string;
  /** How often each fault was done, and how often none (`passed`). */
  counts: Record<string, number>;
  stop(): Promise<void>;
}

/**
 * @param rate Part of the requests that something is done to; every fault is equally likely.
 * @param delay Longest delay, in ms.
 */
export async function startProxy(target: string, { seed = 1, rate = 0.3, delay = 1500 } = {}): Promise<ChaosProxy> {
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
    const forward = () => send(target, incoming, body);
    const answer = (given: Answer) => {
      if (!response.destroyed) response.writeHead(given.status, given.headers).end(given.body);
    };
    const fault = faults[name];
    if (fault) await fault({ forward, answer, response, random }, random() * delay);
    else answer(await forward());
  }

  server.listen(0, "127.0.0.1");
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

/** Sends a request on and reads the answer to its end; fails when the service breaks the connection. */
async function send(target: string, { method, url, headers }: IncomingMessage, body: Buffer): Promise<Answer> {
  const options = { method, headers: { ...without(headers, "host"), "content-length": body.length } };
  const outgoing = httpRequest(new URL(url!, target), options).end(body);
  const [answer] = (await once(outgoing, "response")) as [IncomingMessage];
  return { status: answer.statusCode!, headers: without(answer.headers), body: Buffer.concat(await answer.toArray()) };
}

/** Headers that belong to the message, not to the connection. */
function without(headers: IncomingHttpHeaders, ...names: string[]): IncomingHttpHeaders {
  const left = new Set(["connection", "transfer-encoding", ...names]);
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !left.has(name)));
}
