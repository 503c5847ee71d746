import { expect, onTestFinished, test } from "vitest";
import type { RequestOptions } from "./http.ts";
import { startServer, type TestServer, type TestServerOptions } from "./server.ts";

/** Starts a server until the end of the test, which also ends connections and requests in progress. */
export async function start(options?: TestServerOptions): Promise<TestServer> {
  const server = await startServer(options);
  onTestFinished(async () => {
    const closed = server.close();
    server.clock.advance(10_000);
    await closed;
  });
  return server;
}

/** A request: its method and path, or also what else is sent. */
type Sent = string | (RequestOptions & { to?: string });

/** A request, and what the server returns: its status, and what its JSON contains or how its message reads. */
export type Row = [name: string, sent: Sent | (() => Sent), status: number, contains?: object | RegExp];

/**
 * Tests each row of a table of requests.
 * @param to the method and path of rows that name none
 */
export function table(server: () => TestServer, to: string, rows: readonly Row[]): void {
  test.each(rows)("%s", async (_name, sent, status, contains = {}) => {
    const given = typeof sent === "function" ? sent() : sent;
    const { to: request = to, ...options } = typeof given === "string" ? { to: given } : given;
    const [method, path] = request.split(/ (.*)/, 2) as [string, string];
    const response = await server().request(method, path, options);
    const expected = contains instanceof RegExp ? { message: expect.stringMatching(contains) } : contains;
    expect({ status: response.status, body: response.body ?? {} }).toMatchObject({ status, body: expected });
  });
}
