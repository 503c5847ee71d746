import { expect, test } from "vitest";
import type { RequestOptions } from "./http.ts";
import type { TestServer } from "./server.ts";

/** A request, and what the server returns: its status, and what its JSON contains or how its message reads. */
export type Row = [
  name: string,
  /** Method and path. */
  request: string,
  options: RequestOptions | (() => RequestOptions),
  status: number,
  contains?: object | RegExp,
];

/** Tests each row of a table of requests. */
export function table(server: () => TestServer, rows: readonly Row[]): void {
  test.each(rows)("%s", async (_name, request, options, status, contains = {}) => {
    const [method, path] = request.split(/ (.*)/, 2) as [string, string];
    const response = await server().request(method, path, typeof options === "function" ? options() : options);
    const expected = contains instanceof RegExp ? { message: expect.stringMatching(contains) } : contains;
    expect({ status: response.status, body: response.body ?? {} }).toMatchObject({ status, body: expected });
  });
}
