import type { Context, Data, Job, Kind, Listed, Trace } from "./job.ts";
import { complete, demand, ensure, resolveOptions } from "./options.ts";
import type { CallOptions, Settings } from "./options.ts";
import { isRecord } from "./outcome.ts";
import { sendWithRetries } from "./retry.ts";
import type { CallOutcome } from "./retry.ts";
import { isText } from "./text.ts";
import type { Checkout, CheckoutStatus, Disbursement, DisbursementStatus, StatementEntry } from "./types.ts";

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
  pageSize?: number | undefined;
}

/** Selects the payouts of `disbursements.list`. */
export type DisbursementFilters = ListFilters<DisbursementStatus>;
/** Selects the checkouts of `checkouts.list`. */
export type CheckoutFilters = ListFilters<CheckoutStatus>;

const noFilters = {
  merchantsReference: undefined,
  status: undefined,
  createdAfter: undefined as unknown,
  createdBefore: undefined as unknown,
  pageSize: undefined,
};

const noPeriod = { from: undefined as unknown, to: undefined as unknown, pageSize: undefined };

/** Selects the entries of a statement. */
export interface StatementFilters {
  /** Only entries at or after this time. A string is in ISO 8601 with a time zone. */
  from?: Date | string | undefined;
  /** Only entries before this time. */
  to?: Date | string | undefined;
  /** How many entries one request reads, from 1 to 100. It does not limit the statement. */
  pageSize?: number | undefined;
}

/** One page of a list. */
export interface ListPage<R> {
  items: R[];
  /** Pass it to `page` to read the next page. Missing on the last page. */
  nextCursor?: string | null | undefined;
}

export type Page = ListPage<Data>;

/** Records, the newest first. Iterate over all of them, or read one page. */
export interface List<R> extends AsyncIterable<R> {
  /** Reads the first page, or the page at a cursor of an earlier page with the same filters. */
  page(cursor?: string | null): Promise<ListPage<R>>;
}

/** A list of payouts. */
export interface DisbursementList extends List<Disbursement> {}
/** A list of checkouts. */
export interface CheckoutList extends List<Checkout> {}
/** Changes of balances. */
export interface Statement extends List<StatementEntry> {}

/** Returns the records of a list. Requests a page only when the previous page is used up. */
export function list(
  context: Context,
  kind: Listed,
  filters: object | undefined,
  options: CallOptions | undefined,
  base: Settings,
): List<Data> {
  const page = async (cursor?: string | null) => {
    const { pageSize: limit, ...query }: Record<string, unknown> = complete(
      filters,
      kind.name === "Statement" ? noPeriod : noFilters,
    );
    for (const [filter, value] of Object.entries(query)) {
      if (value instanceof Date) ensure((query[filter] = value.toJSON()), `${filter} must be a valid date.`);
    }
    const { error, data } = await readPage(context, kind, { ...query, limit, cursor }, resolveOptions(options, base));
    if (error) throw error;
    return data as unknown as Page;
  };
  return {
    page,
    async *[Symbol.asyncIterator]() {
      let cursor: string | null | undefined;
      do {
        const { items, nextCursor } = await page(cursor);
        yield* items;
        cursor = nextCursor;
      } while (cursor);
    },
  };
}

/** Finds the record with the merchant's own reference, and reads it, because a list may leave fields out. */
export async function find(
  context: Context,
  kind: Kind,
  merchantsReference: string,
  options: CallOptions | undefined,
  base: Settings,
): Promise<Data | undefined> {
  demand(merchantsReference, isText(merchantsReference), "merchantsReference", "a text of your own");
  const { items } = await list(context, kind, { merchantsReference }, options, base).page();
  const found = items.find((record: Data | null) => record?.merchantsReference === merchantsReference);
  return found && (await verify(context, kind, found.reference, resolveOptions(options, base))).data;
}

/** Reads one page of a list. With `until`, polls until `until(page)` is true. */
export async function readPage(
  context: Context,
  { name, path }: Listed,
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

/** What a call ends with: the record, and its response. */
export interface Received {
  data: Data;
  response?: Response | undefined;
}

/** Reads a record by the service's reference. With `until`, polls until `until(record)` is true. */
export async function verify(
  context: Context,
  kind: Kind,
  reference: string,
  settings: Settings,
  until?: (data: Data) => boolean,
  trace?: Trace,
): Promise<Received> {
  // `..`, a slash or an empty string would reach another path.
  const isSegment = typeof reference === "string" && /^(?!\.\.?$)[^/\\]+$/.test(reference);
  demand(reference, isSegment, "reference", "one that create returned");
  const matches = (data: Data | undefined) => isRecord(data) && data.reference === reference;
  const job: Job = { operation: `verify${kind.name}`, path: kind.path, reference, matches, until };
  const { error, data, response } = await sendWithRetries(context, job, settings, trace);
  if (error) throw error;
  return { data, response };
}
