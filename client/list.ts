import type { Context, Data, Job, Trace } from "./job.ts";
import type { Kind } from "./kind.ts";
import { complete, ensure } from "./options.ts";
import type { Settings } from "./options.ts";
import { sendWithRetries } from "./retry.ts";
import type { CallOutcome } from "./retry.ts";
import type { operations } from "../generated/openapi.ts";

type Query<Op extends "listDisbursements" | "listCheckouts"> = NonNullable<operations[Op]["parameters"]["query"]>;

/** Selects the records of a list. A record must pass every filter that is given. */
interface ListFilters<Status> {
  /** Your own reference, compared exactly. At most one record has it. */
  merchantsReference?: string | undefined;
  status?: Status | undefined;
  /** Only records created at or after this time. A string is in ISO 8601 with a time zone. */
  createdAfter?: Date | string | undefined;
  /** Only records created before this time. */
  createdBefore?: Date | string | undefined;
  /** How many records one request reads, from 1 to 100. It does not limit the whole list. */
  limit?: number | undefined;
}

/** Selects the payouts of `disbursements.list`. */
export type DisbursementFilters = ListFilters<Query<"listDisbursements">["status"]>;
/** Selects the checkouts of `checkouts.list`. */
export type CheckoutFilters = ListFilters<Query<"listCheckouts">["status"]>;

export interface Page {
  items: Data[];
  nextCursor?: string | null;
}

const noFilters = {
  merchantsReference: undefined,
  status: undefined,
  createdAfter: undefined as unknown,
  createdBefore: undefined as unknown,
  limit: undefined,
};

/** Reads the records of a list, page by page. Requests a page when the previous page is used up. */
export async function* list(
  context: Context,
  kind: Kind,
  filters: object | undefined,
  settings: Settings,
): AsyncGenerator<Data, void> {
  const query: Record<string, unknown> = complete(filters, noFilters);
  for (const [filter, value] of Object.entries(query)) {
    if (value instanceof Date) ensure((query[filter] = value.toJSON()), `${filter} must be a valid date.`);
  }
  do {
    const { error, data } = await readPage(context, kind, query, settings);
    if (error) throw error;
    const { items, nextCursor } = data as unknown as Page;
    yield* items;
    query["cursor"] = nextCursor;
  } while (query["cursor"]);
}

/** Reads one page of a list. With `until`, polls until `until(page)` is true. */
export async function readPage(
  context: Context,
  { name, path }: Kind,
  query: Record<string, unknown>,
  settings: Settings,
  until?: (page: Page) => boolean,
  trace?: Trace,
): Promise<CallOutcome> {
  const matches = (page: Partial<Page> | undefined) =>
    // A service that repeats a cursor would make the list endless.
    Array.isArray(page?.items) && !(page.nextCursor && page.nextCursor === query["cursor"]);
  const reference = query["merchantsReference"];
  const job = { operation: `list${name}s`, path, reference, query, matches, until };
  return sendWithRetries(context, job as unknown as Job, settings, trace);
}
