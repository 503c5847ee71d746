import { expect, test } from "vitest";
import type { NewReplay, Replay } from "../../domain/webhooks.ts";
import { ACTOR, ADA, concurrently, KOFI, LATEST, MINUTE, nextId, SECOND, START, type Current } from "./fixtures.ts";

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
    const became = { waiting: 4, again: 0, delivered: 0, failed: 0 };
    expect(await storage.countReplayed(ADA, replay.id)).toEqual(became);
    const results = ["delivered", "ended", "exhausted"] as const;
    const replayed = claimed.filter(({ event }) => event.id !== ready.id);
    for (const [index, status] of results.entries()) await report(replayed[index]!, { status, step: 1 });
    await report(replayed[3]!, { status: "pending", step: 1, nextAttemptAt: LATEST });
    const ended = { waiting: 1, again: 1, delivered: 1, failed: 2 };
    expect(await storage.countReplayed(ADA, replay.id)).toEqual(ended);
    expect(await storage.findDelivery(ADA, later.id)).toMatchObject({ status: "ended" });
  });

  test("makes the retries of one receiver due earlier, those first that are due first, and counts no attempt", async () => {
    const host = "b.example";
    for (let made = 0; made < 4; made += 1) {
      await attempted(ADA, "pending", B);
      pass(1);
    }
    await attempted(ADA, "pending");
    const advance = (least: number, limit: number, merchantId = ADA) =>
      storage.advanceRetries({ merchantId, host }, { least, limit });
    expect([await advance(5, 10), await advance(4, 3)]).toEqual([0, 3]);
    const claimed = (await claims()).map(({ step, dueAt, url }) => [step, dueAt, url]);
    expect(claimed).toEqual(Array.from({ length: 3 }, () => [0, START + 4, B.webhookURL]));
    expect([await advance(1, 10), await advance(1, 10), await advance(1, 1, "nobody")]).toEqual([1, 0, 0]);
  });

  test("several workers at once keep its pace, and make each delivery ready once", async () => {
    const ids = await failed(50);
    const { id } = (await start({ pace: 10 }))!;
    const ready: string[] = [];
    for (let seconds = 1; seconds <= 5; seconds += 1) {
      for (let passed = 0; passed < SECOND; passed += 50) {
        await concurrently(4, () => storage.advanceReplay());
        pass(50);
      }
      ready.push(...(await readyIds()));
      expect(ready.length).toBeGreaterThanOrEqual(10 * seconds);
      expect(ready.length).toBeLessThanOrEqual(10 * seconds + 3);
    }
    expect(ready).toEqual(ids);
    expect(await find(id)).toMatchObject({ replayed: 50, skipped: 0, state: "done" });
  });

  test("one replay of a merchant runs at a time; a stopped one makes nothing more ready, and only its own merchant stops it", async () => {
    await failed(10);
    const started = await concurrently(5, () => start({ pace: 4 }));
    const [{ id }, ...others] = started.filter((replay) => replay !== undefined) as [Replay];
    expect([others, (await start({ merchantId: KOFI }))?.state]).toEqual([[], "running"]);
    expect([await storage.advanceReplay(), await storage.advanceReplay()].toSorted()).toEqual([0, 1]);
    const stops: boolean[] = [];
    pass(MINUTE);
    for (const merchantId of [KOFI, ADA, ADA]) stops.push(await storage.stopReplay(merchantId, id, ACTOR));
    expect(stops).toEqual([false, true, false]);
    expect([await storage.advanceReplay(), (await readyIds()).length]).toEqual([undefined, 1]);
    const stopped = { state: "stopped", replayed: 1, endedAt: START + MINUTE, stoppedBy: ACTOR };
    expect(await find(id)).toMatchObject(stopped);
    expect(await storage.findReplay(KOFI, id)).toBeUndefined();
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
