import { expect, test } from "vitest";
import type { Replay } from "../../domain/webhooks.ts";
import { ACTOR, ADA, concurrently, KOFI, MINUTE, SECOND, START, type Current } from "./fixtures.ts";

const B = { webhookURL: "https://b.example/" };

export function replayByFilterTests(current: Current): void {
  const { storage, pass, delivery, attempted, claims, report } = current;
  const replay = (changes: Partial<Replay> = {}) =>
    storage.replayAll({ merchantId: ADA, filter: { status: "failed" }, pace: 100, ...changes }, ACTOR);
  /** Makes failed deliveries and returns their ids, the oldest first. */
  async function failed(count: number) {
    await concurrently(count, () => delivery(ADA));
    for (const claimed of await claims({ merchantId: ADA })) await report(claimed, { status: "exhausted", step: 10 });
    const { items } = await storage.listDeliveries({ merchantId: ADA, status: "failed", limit: 100 });
    return items.map(({ id }) => id).toReversed();
  }
  const readyIds = async () => (await claims()).map(({ event }) => event.id);

  test("makes due what the filter finds, also what waits for a retry, and leaves alone what is ready or being attempted", async () => {
    const other = await attempted(ADA, "ended");
    const wanted: string[] = [];
    for (const status of ["ended", "delivered", "exhausted", "pending"] as const)
      wanted.push((await attempted(ADA, status, B)).id);
    const [underway, ready] = [await attempted(ADA, "delivered", B), await attempted(ADA, "delivered", B)];
    await storage.requestReplay(ADA, underway.id, ACTOR);
    await claims();
    await storage.requestReplay(ADA, ready.id, ACTOR);

    expect(await replay({ filter: { host: "b.example" } })).toBe(4);
    pass(SECOND);
    const due = (await claims()).map(({ event, step, dueAt }) => [event.id, step, dueAt - START]);
    const expected = wanted.map((id, index) => [id, 0, 10 * index]);
    expect(new Set(due)).toEqual(new Set([...expected, [ready.id, 0, 0]]));
    expect(await storage.findDelivery(ADA, other.id)).toMatchObject({ status: "ended" });
  });

  test("keeps its pace, the oldest first", async () => {
    const ids = await failed(50);
    expect(await replay({ pace: 10 })).toBe(50);
    for (let seconds = 1; seconds <= 5; seconds += 1) {
      pass(SECOND - 1);
      expect(await readyIds()).toEqual(ids.slice(10 * (seconds - 1), 10 * seconds));
      pass(1);
    }
  });

  test("several replays at once make each delivery due once", async () => {
    const ids = await failed(60);
    const counts = await concurrently(4, () => replay());
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(60);
    pass(SECOND);
    expect((await readyIds()).toSorted()).toEqual(ids.toSorted());
  });

  test("a reset meanwhile ends it", async () => {
    await failed(6);
    await Promise.all([replay(), storage.reset(ADA)]);
    pass(MINUTE);
    expect([await readyIds(), await current.events(ADA)]).toEqual([[], []]);
  });

  test("replays a period of one merchant, and is exact also after a move of the clock", async () => {
    const before = await attempted(ADA, "ended");
    await attempted(KOFI, "ended");
    await storage.moveClock(ADA, { by: MINUTE }, START + 10 * MINUTE);
    const during = await attempted(ADA, "ended");
    pass(MINUTE);
    await attempted(ADA, "ended");
    const filter = { createdAfter: START, createdBefore: START + 2 * MINUTE };
    const hosts = [{ host: "merchant.example", count: 2 }];
    expect(await storage.countDeliveries(ADA, filter)).toEqual({ count: 2, isExact: true, hosts });
    expect(await replay({ filter })).toBe(2);
    pass(SECOND);
    expect((await readyIds()).toSorted()).toEqual([before.id, during.id].toSorted());
  });
}
