// Retrieves the records of the run again.
import type { Context } from "../check.ts";
import { type History, isFinal } from "../history/history.ts";
import { get } from "./requests.ts";
import { several } from "./several.ts";

const concurrency = 16;

/** Returns the histories of the records that a run can retrieve. The interface does not define records of checkouts. */
export const retrievable = ({ facts, options }: Context): History[] =>
  facts.histories.all.filter(({ kind }) => kind === "disbursement" || options.profile === "extended");

/** Retrieves these records, some of them concurrently. */
export async function lookAt(context: Context, histories: readonly History[]) {
  await several(histories, concurrency, ({ kind, reference, merchant: key }) =>
    get(context, `/v1/${kind}s/${encodeURIComponent(reference)}`, { key }),
  );
}

/** Retrieves the records whose final state is not known yet. */
export const lookAtOpen = (context: Context) =>
  lookAt(
    context,
    retrievable(context).filter(({ record }) => !isFinal(record?.["status"])),
  );
