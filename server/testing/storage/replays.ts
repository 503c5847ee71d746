import { expect, test } from "vitest";
import type { NewReplay } from "../../domain/replays.ts";
import type { Current } from "./current.ts";
import {
  ACTOR,
  addDelivery,
  addMerchant,
  attempted,
  claimAll,
  concurrently,
  MINUTE,
  nextId,
  replayAll,
  SECOND,
  START,
  ATTEMPT,
} from "./fixtures.ts";

const newReplay = (merchantId: string, changes: Partial<NewReplay> = {}): NewReplay => ({
  id: nextId(),
  merchantId,
  filter: { status: "failed" },
  pace: 100,
  ...changes,
});

export function replayByFilterTests(storage: Current): void {
  const start = (merchantId: string, changes: Partial<NewReplay> = {}) =>
    storage().startReplay(newReplay(merchantId, changes), ACTOR);
  /** Makes failed deliveries and returns their ids, the oldest first. */
  async function failed(merchantId: string, count: number) {
    await concurrently(count, () => addDelivery(storage(), merchantId));
    for (const claimed of await claimAll(storage(), { merchantId })) {
      await storage().recordAttempt(claimed, ATTEMPT, { status: "exhausted", step: 10 });
    }
    const query = { merchantId, status: "failed", direction: "newer", limit: 100 } as const;
    return (await storage().listDeliveries(query)).items.map(({ id }) => id);
  }
  const find = async (merchantId: string, id: string) => (await storage().findReplay(merchantId, id))!;
  const readyIds = async () => (await claimAll(storage())).map(({ event }) => event.id);

  test("makes what the filter finds ready, also what waits for a retry, and leaves alone what is ready or being attempted", async () => {
    const { id: merchantId } = await addMerchant(storage());
    const b = { webhookURL: "https://b.example/" };
    await attempted(storage(), merchantId, "ended");
    const wanted = [
      await attempted(storage(), merchantId, "ended", b),
      await attempted(storage(), merchantId, "delivered", b),
      await attempted(storage(), merchantId, "exhausted", b),
      await attempted(storage(), merchantId, "pending", b),
    ];
    const ready = await attempted(storage(), merchantId, "delivered", b);
    const underway = await attempted(storage(), merchantId, "delivered", b);
    await storage().requestReplay(merchantId, underway.id, ACTOR);
    await claimAll(storage());
    const filter = { host: "b.example" };
    const replay = (await start(merchantId, { filter, expected: 4 }))!;
    expect(replay).toEqual({
      id: replay.id,
      merchantId,
      filter,
      pace: 100,
      expected: 4,
      startedAt: START,
      startedBy: ACTOR,
      replayed: 0,
      skipped: 0,
      state: "running",
    });
    const later = await attempted(storage(), merchantId, "ended", b);
    await storage().requestReplay(merchantId, ready.id, ACTOR);

    await replayAll(storage(), storage.clock());
    expect(await find(merchantId, replay.id)).toEqual({
      ...replay,
      replayed: 4,
      skipped: 2,
      state: "done",
      endedAt: expect.any(Number),
    });
    const claimed = await claimAll(storage());
    expect(claimed.map(({ event }) => event.id).toSorted()).toEqual([...wanted, ready].map(({ id }) => id).toSorted());
    for (const each of claimed) expect(each).toMatchObject({ step: 0, dueAt: START });
    expect(await storage().promoteDue(10)).toBe(0);
    expect(await storage().findDelivery(merchantId, later.id)).toMatchObject({ status: "ended" });
  });

  test("makes the retries of one receiver due earlier, those first that are due first, and counts no attempt", async () => {
    const { id: merchantId } = await addMerchant(storage());
    const host = "b.example";
    for (let made = 0; made < 4; made += 1) {
      await attempted(storage(), merchantId, "pending", { webhookURL: "https://b.example/" });
      storage.clock().advance(1);
    }
    await attempted(storage(), merchantId, "pending");
    const advance = (least: number, limit: number) => storage().advanceRetries({ merchantId, host }, { least, limit });
    expect(await advance(5, 10)).toBe(0);
    expect(await advance(4, 3)).toBe(3);
    const claimed = await claimAll(storage());
    expect(claimed.map(({ step, dueAt, url }) => [step, dueAt, url])).toEqual(
      Array.from({ length: 3 }, () => [0, START + 4, "https://b.example/"]),
    );
    expect([await advance(1, 10), await advance(1, 10)]).toEqual([1, 0]);
    expect(await storage().advanceRetries({ merchantId: "nobody", host }, { least: 1, limit: 1 })).toBe(0);
  });

  test("keeps its pace", async () => {
    const { id: merchantId } = await addMerchant(storage());
    await failed(merchantId, 50);
    const { id } = (await start(merchantId, { pace: 10 }))!;
    for (let seconds = 1; seconds <= 4; seconds += 1) {
      for (let passed = 0; passed < SECOND; passed += 10) {
        while ((await storage().advanceReplay()) !== undefined);
        storage.clock().advance(10);
      }
      const { replayed } = await find(merchantId, id);
      expect(replayed).toBeGreaterThanOrEqual(10 * seconds);
      expect(replayed).toBeLessThanOrEqual(10 * seconds + 3);
    }
  });

  test("one replay of a merchant runs at a time", async () => {
    const [ada, kofi] = [await addMerchant(storage()), await addMerchant(storage())];
    for (const { id } of [ada, kofi]) await failed(id, 2);
    const started = (await concurrently(5, () => start(ada.id))).filter((replay) => replay !== undefined);
    expect(started).toHaveLength(1);
    expect(await start(kofi.id)).toBeDefined();
    await replayAll(storage(), storage.clock());
    expect(await readyIds()).toHaveLength(4);
    expect(await start(ada.id)).toBeDefined();
  });

  test("several processes at once make each delivery ready once", async () => {
    const { id: merchantId } = await addMerchant(storage());
    const ids = await failed(merchantId, 60);
    const { id } = (await start(merchantId, { pace: 40 }))!;
    const ready: string[] = [];
    while ((await find(merchantId, id)).state === "running") {
      const results = await concurrently(4, () => storage().advanceReplay());
      if (results.every((result) => result === undefined)) storage.clock().advance(50);
      ready.push(...(await readyIds()));
    }
    expect(ready).toEqual(ids);
    expect(await find(merchantId, id)).toMatchObject({ replayed: 60, skipped: 0 });
  });

  test("a stopped replay makes nothing more ready", async () => {
    const [ada, kofi] = [await addMerchant(storage()), await addMerchant(storage())];
    await failed(ada.id, 10);
    const { id } = (await start(ada.id, { pace: 4 }))!;
    expect(await storage().advanceReplay()).toBe(1);
    for (const [merchantId, replayId] of [
      [kofi.id, id],
      [ada.id, "nothing"],
    ] as const) {
      expect(await storage().stopReplay(merchantId, replayId, ACTOR)).toBe(false);
      expect(await storage().findReplay(merchantId, replayId)).toBeUndefined();
    }
    storage.clock().advance(MINUTE);
    expect(await storage().stopReplay(ada.id, id, ACTOR)).toBe(true);
    expect(await storage().stopReplay(ada.id, id, ACTOR)).toBe(false);
    expect(await storage().advanceReplay()).toBeUndefined();
    expect(await readyIds()).toHaveLength(1);
    const stopped = { state: "stopped", replayed: 1, endedAt: START + MINUTE, stoppedBy: ACTOR };
    expect(await find(ada.id, id)).toMatchObject(stopped);
    expect(await storage().listReplays(kofi.id, 10)).toEqual([]);
    const next = (await start(ada.id))!;
    expect((await storage().listReplays(ada.id, 10)).map((replay) => replay.id)).toEqual([next.id, id]);
    expect((await storage().listReplays(ada.id, 1)).map((replay) => replay.id)).toEqual([next.id]);
  });

  test("a stop or a reset during a step lets it happen wholly or not at all", async () => {
    const { id: merchantId } = await addMerchant(storage());
    for (const end of [
      (id: string) => storage().stopReplay(merchantId, id, ACTOR),
      () => storage().reset(merchantId),
    ]) {
      await failed(merchantId, 6);
      const { id } = (await start(merchantId, { pace: 20 }))!;
      await Promise.all([storage().advanceReplay(), end(id)]);
      const { replayed, state } = await find(merchantId, id);
      expect(state).toBe("stopped");
      expect([0, 5]).toContain(replayed);
    }
  });

  test("replays a period, and is exact also after a move of the clock", async () => {
    const { id: merchantId } = await addMerchant(storage());
    const before = await attempted(storage(), merchantId, "ended");
    await storage().moveClock(merchantId, { by: MINUTE }, START + 10 * MINUTE);
    const during = await attempted(storage(), merchantId, "ended");
    storage.clock().advance(MINUTE);
    await attempted(storage(), merchantId, "ended");
    const filter = { createdAfter: START, createdBefore: START + 2 * MINUTE };
    expect(await storage().countDeliveries(merchantId, filter)).toMatchObject({ count: 2, isExact: true });
    await start(merchantId, { filter });
    await replayAll(storage(), storage.clock());
    expect((await readyIds()).toSorted()).toEqual([before.id, during.id].toSorted());
  });

  test("counts what would be replayed, by receiver", async () => {
    const { id: merchantId } = await addMerchant(storage());
    const b = { webhookURL: "https://b.example/" };
    await attempted(storage(), merchantId, "ended");
    for (const status of ["ended", "delivered"] as const) await attempted(storage(), merchantId, status, b);
    const count = (filter: NewReplay["filter"]) => storage().countDeliveries(merchantId, filter);
    expect(await count({ createdAfter: START })).toEqual({
      count: 3,
      isExact: true,
      hosts: [
        { host: "b.example", count: 2 },
        { host: "merchant.example", count: 1 },
      ],
    });
    expect(await count({ status: "failed", host: "b.example" })).toMatchObject({ count: 1 });
    expect(await count({ status: "failed", createdBefore: START })).toEqual({ count: 0, isExact: true, hosts: [] });
    expect(await storage().countDeliveries("nobody", {})).toMatchObject({ count: 0 });
  });

  test("the audit trail names who started and stopped a replay, and which", async () => {
    const { id: merchantId } = await addMerchant(storage());
    const filter = { status: "failed", host: "b.example", createdAfter: START } as const;
    const { id } = (await start(merchantId, { filter, pace: 7, expected: 3 }))!;
    await start(merchantId);
    await storage().stopReplay(merchantId, id, "dashboard Kofi");
    const { items } = await storage().listAudit({ merchantId, limit: 10 });
    expect(items.slice(0, -1).toReversed()).toEqual([
      {
        at: START,
        actor: ACTOR,
        action: "replay.start",
        merchantId,
        details: {
          replay: id,
          status: "failed",
          host: "b.example",
          createdAfter: "2026-11-20T09:30:00.000Z",
          pace: "7 per second",
          deliveries: "3",
        },
      },
      { at: START, actor: "dashboard Kofi", action: "replay.stop", merchantId, details: { replay: id } },
    ]);
  });
}
