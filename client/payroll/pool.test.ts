import { describe, expect, test } from "vitest";
import { AbortedError } from "../index.ts";
import { runAll } from "./pool.ts";

const idle = () => new Promise(setImmediate);
async function* endlessAfterOne() {
  yield 0;
  await new Promise(() => {});
}

/** Work that a test finishes by hand. */
function heldWork() {
  const held = new Map<number, { finish: () => void }>();
  const work = (item: number) =>
    new Promise<number>((resolve) => {
      const finish = () => {
        held.delete(item);
        resolve(item);
      };
      held.set(item, { finish });
    });
  return { held, work };
}

/** Reads a run in the background. */
function collect<R>(run: AsyncIterable<R>) {
  const state = { results: [] as R[], error: undefined as unknown, ended: false };
  void (async () => {
    try {
      for await (const result of run) state.results.push(result);
    } catch (error) {
      state.error = error;
    }
    state.ended = true;
  })();
  return state;
}

/** A source that records what is taken from it and whether it was closed. */
function countingSource(count: number) {
  const state = { taken: 0, closed: false };
  async function* items() {
    try {
      for (; state.taken < count;) yield state.taken++;
    } finally {
      state.closed = true;
    }
  }
  return { state, source: items() };
}

describe("runAll", () => {
  test("returns results as they become ready, with at most `concurrency` items in work", async () => {
    const { held, work } = heldWork();
    const { state, source } = countingSource(4);
    const run = collect(runAll(source, 2, undefined, work));
    await idle();
    expect([...held.keys()]).toEqual([0, 1]);
    expect(state.taken).toBe(2);
    held.get(1)!.finish();
    await idle();
    expect(run.results).toEqual([1]);
    expect([...held.keys()]).toEqual([0, 2]);
    for (const item of [2, 0, 3]) {
      held.get(item)!.finish();
      await idle();
    }
    expect(run).toEqual({ results: [1, 2, 0, 3], error: undefined, ended: true });
    expect(state.closed).toBe(true);
  });

  test("takes no more items than it has places for while results are not read", async () => {
    const { state, source } = countingSource(1_000_000);
    const run = runAll(source, 3, undefined, async (item) => item);
    expect(state.taken).toBe(0);
    for (let read = 1; read <= 5; read++) {
      expect(await run.next()).toEqual({ done: false, value: read - 1 });
      await idle();
      expect(state.taken).toBeLessThanOrEqual(read + 3);
    }
    await run.return();
    await idle();
    expect(state.closed).toBe(true);
  });

  test("finishes the items in work when the reader leaves, and takes no other", async () => {
    const { held, work } = heldWork();
    const { state, source } = countingSource(10);
    const run = runAll(source, 3, undefined, work);
    const first = run.next();
    await idle();
    held.get(1)!.finish();
    await first;
    const left = collect({ [Symbol.asyncIterator]: () => ({ next: () => run.return() }) });
    await idle();
    expect(left.ended).toBe(false);
    for (const { finish } of held.values()) finish();
    await idle();
    expect(left.ended).toBe(true);
    expect(state).toEqual({ taken: 4, closed: true });
  });

  test.each(["the source", "work", "fail"])("returns the other results before an error of %s", async (origin) => {
    const problem = new Error("broken");
    const { held, work } = heldWork();
    async function* source() {
      yield 0;
      yield 1;
      if (origin === "the source") throw problem;
      yield 2;
    }
    const run = collect(
      runAll(source(), 2, undefined, async (item, _index, fail) => {
        const result = await work(item);
        if (item === 0 && origin === "work") throw problem;
        if (item === 0 && origin === "fail") fail(problem);
        return result;
      }),
    );
    await idle();
    held.get(0)!.finish();
    await idle();
    expect(run.ended).toBe(false);
    expect([...held.keys()]).toEqual([1]);
    held.get(1)!.finish();
    await idle();
    expect(run).toEqual({ results: origin === "work" ? [1] : [0, 1], error: problem, ended: true });
  });

  test("an abort ends a wait for the source, lets the work end, and is thrown with its reason", async () => {
    const controller = new AbortController();
    const { held, work } = heldWork();
    const run = collect(runAll(endlessAfterOne(), 2, controller.signal, work));
    await idle();
    controller.abort("stop now");
    held.get(0)!.finish();
    await idle();
    expect(run).toMatchObject({ results: [0], ended: true, error: { cause: "stop now" } });
    expect(run.error).toBeInstanceOf(AbortedError);
  });
});
