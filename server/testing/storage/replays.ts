import { expect, test } from "vitest";
import type { NewReplay } from "../../domain/webhooks.ts";
import { ACTOR, ADA, concurrently, KOFI, MINUTE, nextId, SECOND, START, type Current } from "./fixtures.ts";

const B = { webhookURL: "https://b.example/" };

/** Takes all steps of the replays in progress, for as long as they need. */
async function replayAll({ storage, pass }: Current): Promise<void> {
  for (let waited = 0; waited < 10; waited += 1) {
    while ((await storage.advanceReplay()) !== undefined) waited = 0;
    pass(SECOND);
  }
}

export function replayByFilterTests(current: Current): void {
  const { storage, pass, delivery, attempted, claims, report } = current;
  const start = (changes: Partial<NewReplay> = {}) =>
    storage.startReplay({ id: nextId(), merchantId: ADA, filter: { status: "failed" }, pace: 100, ...changes }, ACTOR);
  /** Makes failed deliveries and returns their ids, the oldest first. */
  async function failed(count: number, merchantId = ADA) {
    await concurrently(count, () => delivery(merchantId));
    for (const claimed of await claims({ merchantId })) await report(claimed, { status: "exhausted", step: 10 });
    const { items } = await storage.listDeliveries({ merchantId, status: "failed", limit: 100 });
    return items.map(({ id }) => id).toReversed();
  }
  const find = async (id: string) => (await storage.findReplay(ADA, id))!;
  const readyIds = async () => (await claims()).map(({ event }) => event.id);

  test("makes what the filter finds ready, also what waits for a retry, and leaves alone what is ready or being attempted", async () => {
    await attempted(ADA, "ended");
    const wanted = [];
    for (const status of ["ended", "delivered", "exhausted", "pending"] as const)
      wanted.push(await attempted(ADA, status, B));
    const [ready, underway] = [await attempted(ADA, "delivered", B), await attempted(ADA, "delivered", B)];
    await storage.requestReplay(ADA, underway.id, ACTOR);
    await claims();
    const made = { filter: { host: "b.example" }, expected: 4 };
    const replay = (await start(made))!;
    const running = { replayed: 0, skipped: 0, state: "running" };
    const began = { id: replay.id, merchantId: ADA, pace: 100, startedAt: START, startedBy: ACTOR };
    expect(replay).toEqual({ ...began, ...made, ...running });
    const later = await attempted(ADA, "ended", B);
    await storage.requestReplay(ADA, ready.id, ACTOR);

    await replayAll(current);
    const done = { replayed: 4, skipped: 2, state: "done", endedAt: expect.any(Number) };
    expect(await find(replay.id)).toEqual({ ...replay, ...done });
    const claimed = await claims();
    expect(claimed.map(({ event }) => event.id).toSorted()).toEqual([...wanted, ready].map(({ id }) => id).toSorted());
    for (const each of claimed) expect(each).toMatchObject({ step: 0, dueAt: START });
    expect(await storage.promoteDue(10)).toBe(0);
    expect(await storage.findDelivery(ADA, later.id)).toMatchObject({ status: "ended" });
  });

  test("makes the retries of one receiver due earlier, those first that are due first, and counts no attempt", async () => {
    for (let made = 0; made < 4; made += 1) {
      await attempted(ADA, "pending", B);
      pass(1);
    }
    await attempted(ADA, "pending");
    const lane = { merchantId: ADA, host: "b.example" };
    expect(await storage.advanceRetries(lane, 3)).toBe(3);
    const claimed = (await claims()).map(({ step, dueAt, url }) => [step, dueAt, url]);
    expect(claimed).toEqual(Array.from({ length: 3 }, () => [0, START + 4, B.webhookURL]));
    expect(await storage.advanceRetries({ ...lane, merchantId: KOFI }, 1)).toBe(0);
    expect([await storage.advanceRetries(lane, 10), await storage.advanceRetries(lane, 10)]).toEqual([1, 0]);
  });

  test("keeps its pace", async () => {
    await failed(50);
    const { id } = (await start({ pace: 10 }))!;
    for (let seconds = 1; seconds <= 4; seconds += 1) {
      for (let passed = 0; passed < SECOND; passed += 10) {
        while ((await storage.advanceReplay()) !== undefined);
        pass(10);
      }
      const { replayed } = await find(id);
      expect(replayed).toBeGreaterThanOrEqual(10 * seconds);
      expect(replayed).toBeLessThanOrEqual(10 * seconds + 3);
    }
  });

  test("one replay of a merchant runs at a time", async () => {
    for (const id of [ADA, KOFI]) await failed(2, id);
    const started = await concurrently(5, () => start());
    expect(started.filter((replay) => replay !== undefined)).toHaveLength(1);
    expect(await start({ merchantId: KOFI })).toBeDefined();
    await replayAll(current);
    expect(await readyIds()).toHaveLength(4);
    expect(await start()).toBeDefined();
  });

  test("several workers at once make each delivery ready once", async () => {
    const ids = await failed(60);
    const { id } = (await start({ pace: 40 }))!;
    const ready: string[] = [];
    while ((await find(id)).state === "running") {
      const results = await concurrently(4, () => storage.advanceReplay());
      if (results.every((result) => result === undefined)) pass(50);
      ready.push(...(await readyIds()));
    }
    expect(ready).toEqual(ids);
    expect(await find(id)).toMatchObject({ replayed: 60, skipped: 0 });
  });

  test("a stopped replay makes nothing more ready, and only its own merchant stops it", async () => {
    await failed(10);
    const { id } = (await start({ pace: 4 }))!;
    expect(await storage.advanceReplay()).toBe(1);
    const stops: boolean[] = [];
    pass(MINUTE);
    for (const merchantId of [KOFI, ADA, ADA]) stops.push(await storage.stopReplay(merchantId, id, ACTOR));
    expect(stops).toEqual([false, true, false]);
    expect([await storage.advanceReplay(), (await readyIds()).length]).toEqual([undefined, 1]);
    const stopped = { state: "stopped", replayed: 1, endedAt: START + MINUTE, stoppedBy: ACTOR };
    expect(await find(id)).toMatchObject(stopped);
    expect([await storage.findReplay(KOFI, id), await storage.listReplays(KOFI, 10)]).toEqual([undefined, []]);
    const next = (await start())!;
    for (const limit of [10, 1])
      expect((await storage.listReplays(ADA, limit)).map((replay) => replay.id)).toEqual([next.id, id].slice(0, limit));
  });

  test("a stop or a reset during a step lets it happen wholly or not at all", async () => {
    for (const end of [(id: string) => storage.stopReplay(ADA, id, ACTOR), () => storage.reset(ADA)]) {
      await failed(6);
      const { id } = (await start({ pace: 20 }))!;
      await Promise.all([storage.advanceReplay(), end(id)]);
      const { replayed, state } = await find(id);
      expect(state).toBe("stopped");
      expect([0, 5]).toContain(replayed);
    }
  });

  test("replays a period, and is exact also after a move of the clock", async () => {
    const before = await attempted(ADA, "ended");
    await storage.moveClock(ADA, { by: MINUTE }, START + 10 * MINUTE);
    const during = await attempted(ADA, "ended");
    pass(MINUTE);
    await attempted(ADA, "ended");
    const filter = { createdAfter: START, createdBefore: START + 2 * MINUTE };
    const hosts = [{ host: "merchant.example", count: 2 }];
    expect(await storage.countDeliveries(ADA, filter)).toEqual({ count: 2, isExact: true, hosts });
    await start({ filter });
    await replayAll(current);
    expect((await readyIds()).toSorted()).toEqual([before.id, during.id].toSorted());
  });
}
