// Repeats steps: for several items at a time, until a condition is met, and for the records of the run.
import type { Context } from "../check.ts";
import { type History, isFinal } from "../history/history.ts";
import { get } from "./requests.ts";

/**
 * Returns how many invalid requests may be in transit. With `--effects reject`, the first accepted request ends the
 * run, so no other request may be in transit.
 */
export const invalidAtOnce = ({ options }: Context): number => (options.effects === "money" ? 10 : 1);

/**
 * Does the same for each item, several at a time, and returns the results in order. If one call throws, waits for the
 * calls in progress first, so that nothing happens after the check.
 */
export async function several<Item, Result>(
  items: readonly Item[],
  atOnce: number,
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  for (let start = 0; start < items.length; start += atOnce) {
    const settled = await Promise.allSettled(items.slice(start, start + atOnce).map(work));
    for (const each of settled) {
      if (each.status === "rejected") throw each.reason;
      results.push(each.value);
    }
  }
  return results;
}

/**
 * Waits until a condition is met, at most this long. Returns true if it is met. A pause counts for at most twice its
 * planned length: if it took longer, this process did not run, because the machine was busy. A target on the same
 * machine then had no chance to run either.
 */
export async function eventually(
  context: Context,
  isMet: () => boolean | Promise<boolean>,
  withinMs: number,
  pauseMs = 100,
): Promise<boolean> {
  let end = context.now().getTime() + withinMs;
  for (;;) {
    if (await isMet()) return true;
    const time = context.now().getTime();
    if (time >= end) return false;
    await context.sleep(pauseMs);
    end += Math.max(0, context.now().getTime() - time - 2 * pauseMs);
  }
}

const looksAtOnce = 16;

/** Returns the histories of the records that a run can retrieve. The interface does not define records of checkouts. */
export const retrievable = ({ facts, options }: Context): History[] =>
  facts.histories.all.filter(({ kind }) => kind === "disbursement" || options.profile === "extended");

/** Retrieves these records, some of them concurrently. */
export async function lookAt(context: Context, histories: readonly History[]) {
  await several(histories, looksAtOnce, ({ kind, reference, merchant: key }) =>
    get(context, `/v1/${kind}s/${encodeURIComponent(reference)}`, { key }),
  );
}

/** Retrieves the records whose final state is not known yet. */
export const lookAtOpen = (context: Context) =>
  lookAt(
    context,
    retrievable(context).filter(({ record }) => !isFinal(record?.["status"])),
  );
