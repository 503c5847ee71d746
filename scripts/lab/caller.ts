import { setTimeout as sleep } from "node:timers/promises";
import { createHttpClient, type RequestOptions } from "../../server/testing/http.ts";

export type Caller = ReturnType<typeof createCaller>;

interface CallerOptions {
  /** The ports of the processes, which get requests in turn. */
  ports: readonly number[];
  key: string;
  /** False for a live service. */
  sandbox?: boolean;
  /** Every request must get a response, or a closed connection, within this time. */
  deadlineMs: number;
  violate(what: string): void;
}

export function createCaller({ ports, key, sandbox = true, deadlineMs: usual, violate }: CallerOptions) {
  const clients = ports.map((port) => createHttpClient({ port, key, sandbox }));
  let turn = 0;

  /** Returns undefined if the connection ended without a response. A response that violates the contract is a violation. */
  async function send(
    method: string,
    path: string,
    { deadlineMs = usual, ...options }: RequestOptions & { deadlineMs?: number } = {},
  ) {
    turn += 1;
    const client = clients[turn % clients.length]!;
    const overdue = new AbortController();
    const deadline = sleep(deadlineMs, "overdue" as const, { signal: overdue.signal }).catch(() => undefined);
    const response = await Promise.race([client.request(method, path, options).catch(lost), deadline]);
    overdue.abort();
    if (response !== "overdue") return response;
    violate(`${method} ${path} got no response within ${deadlineMs} ms`);
    return undefined;
  }

  /** A connection error has a code. An error without a code says that the response violates the contract. */
  function lost(error: NodeJS.ErrnoException): undefined {
    if (error.code === undefined && error.message !== "aborted") violate(error.message);
  }

  /** Sends a read until it succeeds. */
  async function read(path: string): Promise<any> {
    for (let tries = 0; tries < 200; tries += 1) {
      const response = await send("GET", path);
      if (response?.status === 200) return response.body.data;
      if (response && response.status < 500) throw new Error(`GET ${path} returned ${response.status}`);
      await sleep(100);
    }
    throw new Error(`GET ${path} did not succeed within 200 attempts`);
  }

  return {
    send,
    read,
    /** Reads a list, page by page. */
    async *list(path: string): AsyncGenerator<any> {
      for (let cursor = ""; ;) {
        const { items, nextCursor } = await read(`${path}?limit=100${cursor}`);
        yield* items;
        if (!nextCursor) return;
        cursor = `&cursor=${encodeURIComponent(nextCursor)}`;
      }
    },
  };
}
