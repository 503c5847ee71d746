import { expect, test } from "vitest";
import { openSqlite } from "../storage/sqlite/index.ts";
import { createFakeClock } from "../testing/clock.ts";
import { startServer } from "../testing/server.ts";

test("/readyz asks the storage at most once a second, shares a slow answer, and shows no details of a failure", async () => {
  const clock = createFakeClock();
  const storage = openSqlite(":memory:", { clock, server: true });
  const { ping } = storage;
  let [probes, gate] = [0, Promise.resolve()];
  let fault: Error | undefined;
  storage.ping = async () => {
    probes += 1;
    await gate;
    if (fault) throw fault;
    await ping.call(storage);
  };
  const server = await startServer({ clock, openStorage: () => storage });
  const ready = async () => (await server.request("GET", "/readyz", { key: null })).status;
  for (let call = 0; call < 60; call += 1) expect(await ready()).toBe(200);
  clock.advance(999);
  expect([await ready(), probes]).toEqual([200, 1]);
  clock.advance(1);
  expect([await ready(), probes]).toEqual([200, 2]);

  const { promise, resolve } = Promise.withResolvers<void>();
  [gate, fault] = [promise, new Error("no space in /secret/place")];
  clock.advance(1_000);
  const calls = [ready()];
  await expect.poll(() => probes).toBe(3);
  clock.advance(10_000);
  calls.push(ready(), ready());
  // These calls are in progress when another request has been served.
  expect((await server.request("GET", "/healthz", { key: null })).status).toBe(200);
  resolve();
  expect(await Promise.all(calls)).toEqual([503, 503, 503]);
  expect((await server.request("GET", "/readyz", { key: null })).text).not.toContain("space");
  expect(server.logged().filter(({ msg, err }) => msg === "not ready" && err.message === fault?.message)).toHaveLength(
    1,
  );
  fault = undefined;
  expect([await ready(), probes]).toEqual([503, 3]);
  clock.advance(1_000);
  expect([await ready(), probes]).toEqual([200, 4]);
  await server.close();
});
