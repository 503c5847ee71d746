// Retrieves the records of the run again.
import type { Context } from "../check.ts";
import type { History } from "../observer/history.ts";
import { get } from "./requests.ts";

const concurrency = 10;

/** Returns the histories of the records that a run can retrieve. The interface does not define those of checkouts. */
export const retrievable = ({ facts, options }: Context): History[] =>
  facts.histories.all.filter(({ kind }) => kind === "disbursement" || options.profile === "extended");

/** Retrieves these records, some of them concurrently. */
export async function lookAt(context: Context, histories: readonly History[]) {
  for (let start = 0; start < histories.length; start += concurrency) {
    const some = histories.slice(start, start + concurrency).map(({ kind, reference, merchant: key }) => {
      const path = `/v1/${kind}s/${encodeURIComponent(reference)}`;
      return get(context, path, { key });
    });
    await Promise.all(some);
  }
}
