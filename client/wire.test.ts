// With the real clock, the global fetch and a real server.
import type { IncomingMessage, RequestListener } from "node:http";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { serve } from "../server/testing/http.ts";
import { buildClient } from "./client.ts";
import { createClient } from "./index.ts";
import { system } from "./runtime.ts";
import { disbursementCreated, disbursementRequest, key, record, rejectionOf } from "./testing/fakes.ts";

let listener: RequestListener;
let seen: IncomingMessage[];
let server: Awaited<ReturnType<typeof serve>>;
beforeEach(async () => {
  seen = [];
  server = await serve((request, response) => {
    seen.push(request);
    listener(request, response);
  });
});
afterEach(async () => {
  vi.unstubAllGlobals();
  await server.close();
});

const connect = (options: object = {}) =>
  createClient({ baseUrl: server.url, apiKey: key, retry: { tries: 1 }, ...options });

test.each([true, false])("a read bypasses caches if requests have the field `cache`: %s", async (isKnown) => {
  // As in older Workers, which refuse the field.
  if (!isKnown) vi.stubGlobal("Request", { prototype: {} });
  const inits: unknown[] = [];
  const fetch = async (_: string, init: object) => {
    inits.push(init);
    return Response.json({ statusCode: 200, data: record });
  };
  await connect({ fetch }).disbursements.verify(record.reference);
  expect(inits.map((init) => (init as RequestInit).cache)).toEqual([isKnown ? "no-store" : undefined]);
  expect("cache" in (inits[0] as object)).toBe(isKnown);
});

test("a create is one JSON POST with the key", async () => {
  listener = (_, response) => response.end(JSON.stringify({ statusCode: 200, data: disbursementCreated }));
  const created = { ...disbursementCreated, recovered: false };
  expect(await connect().disbursements.create(disbursementRequest)).toEqual(created);
  expect(seen.map(({ method, url }) => `${method} ${url}`)).toEqual(["POST /v1/disbursements"]);
  expect(seen[0]!.headers).toMatchObject({ "x-api-key": key, "content-type": "application/json" });
});

test("a redirect is not followed, so the key goes nowhere else", async () => {
  listener = ({ url }, response) => response.writeHead(url === "/caught" ? 200 : 307, { location: "/caught" }).end();
  const { disbursements } = connect();
  expect(await rejectionOf(disbursements.verify("DSB1"))).toMatchObject({ name: "UnexpectedAnswerError" });
  expect(await disbursements.create(disbursementRequest).result()).toMatchObject({ outcome: "unknown" });
  expect(seen.map(({ url }) => url)).not.toContain("/caught");
});

describe("the plain openapi-fetch client", () => {
  const read = (options: object) =>
    connect(options).raw.GET("/v1/disbursements/{reference}", { params: { path: { reference: "DSB1" } } });

  test("sends the key, bypasses caches, and follows no redirect", async () => {
    listener = (_, response) => response.writeHead(307, { location: "/caught" }).end();
    const fetch = vi.fn<typeof globalThis.fetch>(globalThis.fetch);
    expect((await read({ apiKey: async () => key, fetch })).response.status).toBe(307);
    expect(fetch.mock.calls.map(([request]) => (request as Request).cache)).toEqual(["no-store"]);
    expect(seen.map(({ url, headers }) => [url, headers["x-api-key"]])).toEqual([["/v1/disbursements/DSB1", key]]);
  });

  test("sends no key that is invalid in a header", async () => {
    expect(await rejectionOf(read({ apiKey: () => `${key}\n` }))).toMatchObject({ name: "UsageError" });
    expect(seen).toEqual([]);
  });

  test("has middleware that does not affect a create", async () => {
    listener = (_, response) => void response.destroy();
    const { raw, disbursements } = connect();
    raw.use({ onError: () => Response.json({ statusCode: 422, error: "Refused" }, { status: 422 }) });
    expect(await disbursements.create(disbursementRequest).result()).toMatchObject({ outcome: "unknown" });
  });
});

test("a timeout closes the connection", async () => {
  const closed = Promise.withResolvers<void>();
  let timeOut!: () => void;
  listener = (_, response) => {
    response.on("close", closed.resolve);
    timeOut();
  };
  // The time-out comes when the request has arrived, however busy this machine is.
  const after = (_delay: number, action: () => void) => {
    timeOut = action;
    return () => {};
  };
  const client = buildClient({ baseUrl: server.url, apiKey: key, retry: { tries: 1 } }, { ...system, after });
  expect(await rejectionOf(client.disbursements.verify("DSB1"))).toMatchObject({ name: "TimeoutError" });
  await closed.promise;
});

test("a refused connection is a definite failure, a broken one is not, and is retried", async () => {
  listener = (_, response) => void response.destroy();
  const { disbursements } = connect({ retry: { tries: 2, minDelay: 1 } });
  expect(await disbursements.create(disbursementRequest).result()).toMatchObject({ outcome: "unknown" });
  expect(seen).toHaveLength(2);
  const stopped = await serve(listener);
  await stopped.close();
  const other = await connect({ baseUrl: stopped.url }).disbursements.create(disbursementRequest).result();
  expect(other).toMatchObject({ outcome: "refused", error: { name: "ConnectionError" } });
});
