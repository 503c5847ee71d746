import type { Context, Data } from "./attempt.ts";
import { NotFoundError } from "./errors.ts";
import { complete, ensure } from "./options.ts";
import type { Settings } from "./options.ts";
import type { Kind } from "./recovery.ts";
import { sendWithRetries } from "./retry.ts";
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

interface Page {
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

/** Reads the records of a list, page by page. Requests a page when the one before is used up. */
export async function* list(
  context: Context,
  { name, path }: Kind,
  filters: object | undefined,
  settings: Settings,
): AsyncGenerator<Data, void> {
  const query: Record<string, unknown> = complete(filters, noFilters);
  for (const filter of ["createdAfter", "createdBefore"]) {
    const time = query[filter];
    if (time instanceof Date) ensure((query[filter] = time.toJSON()), `${filter} must be a valid date.`);
  }
  do {
    const job = {
      operation: `list${name}s`,
      path,
      reference: undefined,
      query,
      // A service that repeats a cursor would make the list endless.
      matches: (page: unknown) => {
        const { items, nextCursor } = (page ?? {}) as Partial<Page>;
        return Array.isArray(items) && !(nextCursor && nextCursor === query["cursor"]);
      },
    } as const;
    const { error, data } = await sendWithRetries(context, job, settings);
    if (error?.status === 404 || error?.status === 405) {
      throw new NotFoundError(`The service has no list: ${error.status} for ${path}.`, error);
    }
    if (error) throw error;
    const { items, nextCursor } = data as unknown as Page;
    yield* items;
    query["cursor"] = nextCursor;
  } while (query["cursor"]);
}
