import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openPostgres } from "../storage/postgres/index.ts";
import { openSqlite } from "../storage/sqlite/index.ts";
import { createFakeClock, type FakeClock } from "../testing/clock.ts";
import { createTestDatabase, POSTGRES_SERVERS, type TestDatabase } from "../testing/postgres.ts";
import { startServer } from "../testing/server.ts";
import type { Storage } from "../domain/storage.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase(await POSTGRES_SERVERS.PostgreSQL!());
});
afterAll(() => database.drop());

/** Opens a server whose storage counts its probes. The next probes wait for `gate`, or fail with `fault`. */
async function open(opened: Storage, clock: FakeClock) {
  const state = { probes: 0, gate: undefined as Promise<void> | undefined, fault: undefined as Error | undefined };
  const { ping } = opened;
  opened.ping = async () => {
    state.probes += 1;
    await state.gate;
    if (state.fault) throw state.fault;
    await ping.call(opened);
  };
  const server = await startServer({ clock, openStorage: () => opened });
  const ready = async () => (await server.request("GET", "/readyz", { key: null })).status;
  return { server, state, ready };
}

describe.each<[string, (clock: FakeClock) => Promise<Storage>]>([
  ["SQLite", async (clock) => openSqlite(":memory:", { clock, server: true })],
  [
    "PostgreSQL",
    async (clock) => {
      await database.empty();
      return openPostgres(database.url, { clock, server: true, time: "process" });
    },
  ],
])("/readyz on %s", (_, openStorage) => {
  test("asks the storage at most once a second, however often and by how many it is called", async () => {
    const clock = createFakeClock();
    const { server, state, ready } = await open(await openStorage(clock), clock);
    for (let call = 0; call < 60; call += 1) expect(await ready()).toBe(200);
    expect(state.probes).toBe(1);
    clock.advance(999);
    expect([await ready(), state.probes]).toEqual([200, 1]);
    clock.advance(1);
    const calls = Array.from({ length: 20 }, ready);
    expect(new Set(await Promise.all(calls))).toEqual(new Set([200]));
    expect(state.probes).toBe(2);
    await server.close();
  });

  test("lets calls share a probe that takes long, and keeps a failure at most a second", async () => {
    const clock = createFakeClock();
    const { server, state, ready } = await open(await openStorage(clock), clock);
    let release!: () => void;
    state.gate = new Promise((resolve) => (release = resolve));
    state.fault = new Error("no space in /secret/place");
    const calls = [ready()];
    await expect.poll(() => state.probes).toBe(1);
    clock.advance(10_000);
    calls.push(ready(), ready());
    // These calls are in progress when another request has been served.
    await server.request("GET", "/healthz", { key: null });
    release();
    expect(await Promise.all(calls)).toEqual([503, 503, 503]);
    state.fault = undefined;
    expect([await ready(), state.probes]).toEqual([503, 1]);
    expect(server.logged().filter(({ msg }) => msg === "not ready")).toHaveLength(1);
    clock.advance(1_000);
    expect([await ready(), state.probes]).toEqual([200, 2]);
    await server.close();
  });
});
