import { once } from "node:events";
import { request, type IncomingMessage, type ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { serve } from "../../server/testing/http.ts";
import type { SeededRandom } from "../../server/testing/random.ts";

/** A network between two services that loses, delays and breaks requests and responses. */
export interface HostileNetwork {
  url: string;
  /** Passes everything on unchanged from now on. */
  heal(): void;
  /** How often each fault occurred. */
  done: ReadonlyMap<string, number>;
  close(): Promise<void>;
}

interface Passing {
  incoming: IncomingMessage;
  body: Buffer;
  response: ServerResponse;
}
interface Answer {
  status: number;
  headers: Record<string, string>;
  body: Buffer;
}

interface Options {
  random: SeededRandom;
  /** The share of requests with a fault, from 0 to 1. */
  share: number;
  /** How long a request hangs, in milliseconds. */
  hangMs: number;
  /** The ports to which requests are passed in turn. */
  ports: readonly number[];
}

const PAGE = "<html><body><h1>502 Bad Gateway</h1></body></html>";

const respond = ({ response }: Passing, { status, headers, body }: Answer) =>
  void response.writeHead(status, headers).end(body);
const page = ({ response }: Passing) => void response.writeHead(502, { "content-type": "text/html" }).end(PAGE);

/** Starts the network. Requests and responses without a fault pass unchanged. */
export async function startHostileNetwork({ random, share, hangMs, ports }: Options): Promise<HostileNetwork> {
  const done = new Map<string, number>();
  const ending = new AbortController();
  let isHealthy = false;
  let turn = 0;

  async function forward({ incoming, body }: Passing): Promise<Answer> {
    turn += 1;
    const port = ports[turn % ports.length]!;
    const { method, url: path, headers } = incoming;
    const sent = request({ host: "127.0.0.1", port, method, path, headers }).end(body);
    // The service may also be killed after its response has begun.
    sent.on("error", () => undefined);
    const [answer] = (await once(sent, "response")) as [IncomingMessage];
    const { connection: _, "transfer-encoding": __, ...passed } = answer.headers;
    return { status: answer.statusCode!, headers: passed as Record<string, string>, body: await buffer(answer) };
  }

  const pause = (milliseconds: number) => sleep(milliseconds, undefined, { signal: ending.signal });

  const HARMS: Record<string, (passing: Passing) => Promise<unknown>> = {
    "request lost": async ({ response }) => response.destroy(),
    async "response lost"(passing) {
      await forward(passing);
      passing.response.destroy();
    },
    async "request delayed"(passing) {
      await pause(random.below(3_000));
      respond(passing, await forward(passing));
    },
    async "response delayed"(passing) {
      const answer = await forward(passing);
      await pause(random.below(3_000));
      respond(passing, answer);
    },
    async "response cut"(passing) {
      const { status, headers, body } = await forward(passing);
      passing.response.writeHead(status, headers).write(body.subarray(0, body.length / 2));
      await pause(10);
      passing.response.destroy();
    },
    async "request repeated"(passing) {
      const [answer] = await Promise.all([forward(passing), forward(passing)]);
      respond(passing, answer);
    },
    async hangs(passing) {
      await pause(hangMs);
      respond(passing, await forward(passing));
    },
    "page instead of the request": async (passing) => page(passing),
    async "page instead of the response"(passing) {
      await forward(passing);
      page(passing);
    },
  };
  const NAMES = Object.keys(HARMS);

  async function handle(incoming: IncomingMessage, response: ServerResponse) {
    response.on("error", () => undefined);
    try {
      const passing = { incoming, response, body: await buffer(incoming) };
      if (isHealthy || random.next() >= share) return respond(passing, await forward(passing));
      const name = random.pick(NAMES);
      done.set(name, (done.get(name) ?? 0) + 1);
      await HARMS[name]!(passing);
    } catch {
      // The service behind the network was killed, or the network is being closed.
      response.destroy();
    }
    return undefined;
  }

  const { url, close } = await serve((incoming, response) => void handle(incoming, response));
  return {
    url,
    done,
    heal: () => void (isHealthy = true),
    async close() {
      ending.abort();
      await close();
    },
  };
}
