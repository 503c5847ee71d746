// For each operation: while a merchant floods the operation, another merchant's single create is served next.
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import openapi from "../../generated/openapi.json" with { type: "json" };
import { createFakeClock } from "../testing/clock.ts";
import { aPayout, startServer, type TestServer } from "../testing/server.ts";
import { openSqlite } from "../storage/sqlite/index.ts";

const METHODS = new Set(["get", "post", "put", "patch", "delete"]);
const OPERATIONS = Object.entries(openapi.paths).flatMap(([path, item]) =>
  Object.entries(item as Record<string, { operationId: string; requestBody?: object }>)
    .filter(([method]) => METHODS.has(method))
    .map(([method, { operationId, requestBody }]) => ({
      method,
      path,
      operationId,
      hasBody: requestBody !== undefined,
    })),
);
const FLOOD = 20;

/** Turns that begin when the test says so. */
function heldTurns() {
  let held: (() => void)[] | undefined;
  const defer = (callback: () => void) => (held ? void held.push(callback) : void setImmediate(callback));
  return {
    defer,
    hold: () => (held = []),
    waiting: () => held!.length,
    release() {
      const callbacks = held ?? [];
      held = undefined;
      for (const callback of callbacks) setImmediate(callback);
    },
  };
}

describe("while a merchant floods an operation", () => {
  const turns = heldTurns();
  let server: TestServer;
  let other: string;
  beforeAll(async () => {
    server = await startServer({ defer: turns.defer });
    other = (await server.addMerchant("Kofi & Sons")).key;
  });
  afterAll(() => server.close());

  test.each(OPERATIONS)("$operationId, another's create is next", async ({ method, path, hasBody }) => {
    const address = path.replaceAll(/\{\w+\}/g, "unknown");
    const send = () => server.request(method.toUpperCase(), address, hasBody ? { body: {} } : {});
    turns.hold();
    onTestFinished(turns.release);
    // The first request uses up the time of a turn.
    await send();
    server.clock.advance(4);
    let served = 0;
    const flood = Array.from({ length: FLOOD }, () => send().finally(() => (served += 1)));
    await expect.poll(() => turns.waiting()).toBe(1 + FLOOD);
    // The other merchant has used less time, so its create does not wait.
    expect((await server.createPayout(aPayout(), { key: other })).status).toBe(200);
    expect(served).toBe(0);
    turns.release();
    const responses = await Promise.all(flood);
    expect(responses.filter(({ status }) => status === 429 || status >= 500)).toEqual([]);
  });
});

test("a list that waits too long for the merchant's other lists gets 429 with a time to retry; another's is served", async () => {
  const clock = createFakeClock();
  const ends: (() => void)[] = [];
  const lists: string[] = [];
  const server = await startServer({
    clock,
    openStorage: (how) => {
      const storage = openSqlite(":memory:", how);
      return {
        ...storage,
        async listDisbursements(query) {
          lists.push(query.merchantId);
          if (query.merchantId === server.merchant.id) await new Promise<void>((resolve) => ends.push(resolve));
          return storage.listDisbursements(query);
        },
      };
    },
  });
  onTestFinished(server.close);
  const { key, merchant } = await server.addMerchant("Kofi & Sons");
  const list = (of?: string) => server.request("GET", "/v1/disbursements", of === undefined ? {} : { key: of });
  const running = [list(), list()];
  await expect.poll(() => lists).toHaveLength(2);
  const late = list();
  expect((await list(key)).status).toBe(200);
  expect(lists).toEqual([server.merchant.id, server.merchant.id, merchant.id]);
  let isAnswered = false;
  void late.finally(() => (isAnswered = true));
  while (!isAnswered) {
    clock.advance(5_000);
    await new Promise((resolve) => setImmediate(resolve));
  }
  const { status, headers, body } = await late;
  expect([status, headers["retry-after"], body.code]).toEqual([429, "1", "rate_limited"]);
  for (const end of ends) end();
  expect((await Promise.all(running)).map((response) => response.status)).toEqual([200, 200]);
});
