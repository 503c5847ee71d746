import { expect, test } from "vitest";
import { withBudget, withinBudget } from "../../domain/time-budget.ts";
import { createBatcher, type BatcherOptions } from "./batcher.ts";

const options: BatcherOptions = { concurrency: 1, largest: 3, capacity: 5, patienceMs: 60_000 };
const unavailable = { code: "unavailable", details: { retryAfterSeconds: 1 } };

/** A batcher whose batches wait until the test finishes them. */
function heldBatcher(changes: Partial<BatcherOptions> = {}) {
  const batches: { items: number[]; finish(error?: Error): void }[] = [];
  const batcher = createBatcher(
    (items: number[]) => {
      const { promise, resolve, reject } = Promise.withResolvers<number[]>();
      batches.push({
        items,
        finish: (error) => (error ? reject(error) : resolve(items.map((item) => item * 10))),
      });
      return promise;
    },
    { ...options, ...changes },
  );
  return { batcher, batches };
}
const nextTurn = () => new Promise(setImmediate);

test("items of one turn share a batch; those that arrive meanwhile share the next ones", async () => {
  const { batcher, batches } = heldBatcher();
  const results = [1, 2].map(batcher.add);
  await nextTurn();
  results.push(...[3, 4, 5, 6].map(batcher.add));
  batches[0]!.finish();
  await results[0];
  await nextTurn();
  batches[1]!.finish();
  await results[2];
  await nextTurn();
  batches[2]!.finish();
  expect(await Promise.all(results)).toEqual([10, 20, 30, 40, 50, 60]);
  expect(batches.map(({ items }) => items)).toEqual([[1, 2], [3, 4, 5], [6]]);
  await batcher.idle();
});

test("an item that fails does not fail the others of its batch", async () => {
  const batcher = createBatcher(async (items: number[]) => {
    if (items.includes(2)) throw new Error("two");
    return items;
  }, options);
  const results = await Promise.allSettled([1, 2, 3].map(batcher.add));
  expect(results).toMatchObject([{ value: 1 }, { reason: { message: "two" } }, { value: 3 }]);
});

test("refuses items beyond its capacity", async () => {
  const { batcher, batches } = heldBatcher();
  const first = batcher.add(0);
  await nextTurn();
  const waiting = [1, 2, 3, 4, 5].map(batcher.add);
  await expect(batcher.add(6)).rejects.toMatchObject(unavailable);
  for (let index = 0; index < 3; index += 1) {
    batches[index]!.finish();
    await nextTurn();
  }
  expect(await Promise.all([first, ...waiting])).toEqual([0, 10, 20, 30, 40, 50]);
});

test("refuses items that wait for too long while a batch does not end", async () => {
  const { batcher, batches } = heldBatcher({ patienceMs: 20 });
  const first = batcher.add(0);
  await nextTurn();
  const waiting = [1, 2].map(batcher.add);
  for (const each of waiting) await expect(each).rejects.toMatchObject(unavailable);
  batches[0]!.finish();
  expect(await first).toBe(0);
  expect(batches).toHaveLength(1);
});

test("refuses items that have waited for too long", async () => {
  const { batcher, batches } = heldBatcher({ patienceMs: -1 });
  await expect(batcher.add(1)).rejects.toMatchObject(unavailable);
  expect(batches).toEqual([]);
  await batcher.idle();
});

test("does not begin an item whose request has too little time left", async () => {
  const { batcher, batches } = heldBatcher({});
  const late = withBudget({ leftMs: 1_000 }, () => batcher.add(1));
  await expect(late).rejects.toMatchObject(unavailable);
  expect(batches).toEqual([]);
});

test("takes the time of an item, its wait included, from its own request's budget", async () => {
  const [long, longer] = [{ leftMs: 20_000 }, { leftMs: 50_000 }];
  const limits: number[] = [];
  const batcher = createBatcher(
    async (items: number[]) => {
      await withinBudget(async (deadline) => void limits.push(deadline - performance.now()));
      return items;
    },
    { concurrency: 1, largest: 8, capacity: 10, patienceMs: 1_000 },
  );
  await Promise.all([withBudget(longer, () => batcher.add(1)), withBudget(long, () => batcher.add(2))]);
  expect(limits).toHaveLength(1);
  expect(limits[0]).toBeGreaterThan(15_000);
  expect(limits[0]).toBeLessThanOrEqual(20_000);
  expect([long.leftMs < 20_000, longer.leftMs < 50_000, longer.leftMs > 40_000]).toEqual([true, true, true]);
  // A batch that was begun for one request does not limit a later request.
  await batcher.add(3);
  expect(limits[1]).toBe(Infinity);
});
