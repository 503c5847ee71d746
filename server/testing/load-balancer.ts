import { Agent, request, type RequestListener } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { serve } from "./http.ts";

const POLL_EVERY_MS = 100;

/**
 * A load balancer that passes requests in turn to the servers whose `/readyz` responds with 200. It never retries, and
 * closes the connection of a request that gets no response.
 */
export async function startLoadBalancer() {
  const agent = new Agent({ keepAlive: true });
  /** Whether each server was ready when it was last asked. */
  const servers = new Map<number, boolean>();
  let isClosed = false;
  let turn = 0;

  function nextPort(): number | undefined {
    const ready = [...servers].filter(([, isReady]) => isReady).map(([port]) => port);
    turn += 1;
    return ready[turn % ready.length];
  }

  const polling = (async () => {
    while (!isClosed) {
      for (const port of servers.keys()) {
        const isReady = await isReadyAt(port);
        if (servers.has(port)) servers.set(port, isReady);
      }
      await sleep(POLL_EVERY_MS);
    }
  })();

  const pass: RequestListener = (incoming, response) => {
    const { method, url, headers } = incoming;
    const port = nextPort();
    if (port === undefined) return void response.destroy();
    const upstream = request({ host: "127.0.0.1", port, method, path: url, agent, headers }, (answer) => {
      const { connection: _, ...passed } = answer.headers;
      response.writeHead(answer.statusCode!, passed);
      answer.pipe(response);
    });
    upstream.on("error", () => response.destroy());
    incoming.pipe(upstream);
  };
  const { url, close } = await serve(pass);
  return {
    port: Number(new URL(url).port),
    /** Adds a server. Resolves when it gets requests. */
    async add(port: number) {
      servers.set(port, false);
      while (!servers.get(port)) await sleep(POLL_EVERY_MS);
    },
    remove: (port: number) => void servers.delete(port),
    async close() {
      isClosed = true;
      await polling;
      await close();
      agent.destroy();
    },
  };
}

async function isReadyAt(port: number): Promise<boolean> {
  const response = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined);
  await response?.arrayBuffer();
  return response?.status === 200;
}
