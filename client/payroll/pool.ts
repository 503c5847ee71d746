import { abortedBy } from "../attempt.ts";
import { ensure } from "../options.ts";

/** What createAll reads: an array, a generator, a stream, … */
export type Source<Item> = Iterable<Item> | AsyncIterable<Item>;

/** What runAll does for an item. `fail` ends the run without losing the item's result. */
type Work<Item, R> = (item: Item, index: number, fail: (error: unknown) => void) => Promise<R>;

/**
 * Runs `work` for each item and returns the results as they become ready. Takes an item only when a place is free. At most
 * `concurrency` items are in work or have a result that nobody has read, so that memory stays bounded.
 *
 * If the source or `work` fails or the signal is aborted, takes no further items, finishes the items in work, returns
 * their results, and then throws.
 */
export async function* runAll<Item, R>(
  source: Source<Item>,
  concurrency = 16,
  signal: AbortSignal | undefined,
  work: Work<Item, R>,
): AsyncGenerator<R, void> {
  ensure(concurrency >= 1, "concurrency must be at least 1.");
  const ready: R[] = [];
  const waiting: (() => void)[] = [];
  let index = 0;
  let inWork = 0;
  let ended = false;
  const failures: unknown[] = [];

  const change = () => new Promise<void>((resolve) => void waiting.push(resolve));
  const announce = () => waiting.splice(0).forEach((resume) => resume());
  const end = () => {
    ended = true;
    announce();
  };
  const fail = (error: unknown) => {
    failures.push(error);
    end();
  };
  const abort = () => fail(abortedBy(signal!));
  const run = async (item: Item) => {
    inWork++;
    await work(item, index++, fail).then((result) => ready.push(result), fail);
    inWork--;
    announce();
  };
  const takeAll = async () => {
    for await (const item of source) {
      if (!ended) void run(item);
      while (!ended && inWork + ready.length >= concurrency) await change();
      if (ended) break;
    }
  };

  signal?.addEventListener("abort", abort);
  if (signal?.aborted) abort();
  else takeAll().then(end, fail);
  try {
    while (!ended || inWork + ready.length > 0) {
      if (ready.length > 0) {
        // The caller reads a result, which frees its place.
        announce();
        yield ready.shift()!;
      } else {
        await change();
      }
    }
    if (failures.length > 0) throw failures[0];
  } finally {
    end();
    while (inWork > 0) await change();
    signal?.removeEventListener("abort", abort);
  }
}
