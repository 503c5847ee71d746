// Freezes a real PostgreSQL server while a real process creates payouts in it.
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { startOwnPostgres, type OwnPostgres } from "./testing/own-postgres.ts";
import { startProcess, type ServerProcess } from "./testing/process.ts";
import type { HttpResponse } from "./testing/http.ts";
import { aPayout } from "./testing/server.ts";

const KEY = "a-key-for-tests-of-overload";
const CALLERS = 60;
const PATH = "/v1/disbursements";

let postgres: OwnPostgres;
let server: ServerProcess;

beforeAll(async () => {
  postgres = await startOwnPostgres();
  server = await startProcess({ DATABASE_URL: postgres.url, SANDBOX_API_KEY: KEY });
});
afterAll(async () => {
  postgres.thaw();
  server.kill("SIGTERM");
  await server.ended;
  await postgres.close();
});

interface Created {
  body: ReturnType<typeof aPayout>;
  response: HttpResponse;
  tookMs: number;
}

/** Creates payouts with many callers until the returned function ends this. The test uses each reference once. */
function startLoad() {
  const { request, close } = server.client(KEY);
  const results: Created[] = [];
  let isEnded = false;
  async function call() {
    while (!isEnded) {
      const body = aPayout();
      const began = performance.now();
      const response = await request("POST", PATH, { body });
      results.push({ body, response, tookMs: performance.now() - began });
    }
  }
  const calling = Promise.all(Array.from({ length: CALLERS }, call));
  return {
    request,
    with: (status: number) => results.filter(({ response }) => response.status === status),
    results,
    async end() {
      isEnded = true;
      await calling;
      await close();
    },
  };
}

test("a frozen database refuses creates in time, loses none and is used again when it reacts", async () => {
  const load = startLoad();
  onTestFinished(load.end);
  const count = (status: number) => load.with(status).length;
  await expect.poll(() => count(200)).toBeGreaterThan(CALLERS);
  await postgres.freeze();
  // Every caller has been refused, and is waiting again.
  await expect.poll(() => count(503) + count(500)).toBeGreaterThan(2 * CALLERS);
  const before = count(200);
  postgres.thaw();
  await expect.poll(() => count(200)).toBeGreaterThan(before);
  await load.end();

  const { results, request } = load;
  // Ten seconds, and a margin for a very busy machine.
  expect(Math.max(...results.map(({ tookMs }) => tookMs))).toBeLessThan(25_000);
  expect([...new Set(results.map(({ response }) => response.status))].toSorted()).toEqual(
    expect.arrayContaining([200, 503]),
  );
  for (const { response } of load.with(503)) {
    expect(response.body.code).toBe("unavailable");
    expect(Number(response.headers["retry-after"])).toBeGreaterThan(0);
  }
  const rows = await postgres.run("SELECT merchants_reference FROM disbursements");
  const stored = new Set(rows.map((row) => row.merchants_reference));
  const referencesOf = (status: number) => load.with(status).map(({ body }) => body.reference);
  expect(referencesOf(200).filter((reference) => !stored.has(reference))).toEqual([]);
  expect(referencesOf(503).filter((reference) => stored.has(reference))).toEqual([]);
  // 500 means that the outcome is unknown. A repeated request shows the outcome: 200 if the payout was not recorded,
  // otherwise 409.
  for (const { body } of load.with(500)) {
    const again = await request("POST", PATH, { body });
    expect(again.status).toBe(stored.has(body.reference) ? 409 : 200);
    if (again.status === 409) expect((await request("GET", again.headers.location!)).status).toBe(200);
  }
});
