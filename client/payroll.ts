// `@disbursement-checkout/client/payroll`: many payouts at once. Uses only the public interface of a client.
import { notify } from "./attempt.ts";
import type { DisbursementClient } from "./client.ts";
import { AbortedError, UsageError } from "./errors.ts";
import { defaults, ignore, resolveOptions } from "./options.ts";
import type { CallOptions } from "./options.ts";
import { isText } from "./outcome.ts";
import { runAll } from "./pool.ts";
import type { Source } from "./pool.ts";
import type { Call, Result } from "./result.ts";
import type { CreatedDisbursement, Disbursement, DisbursementCreated, DisbursementRequest } from "./types.ts";

/** What a journal knows about a payout from an earlier run. */
export interface JournalEntry {
  /** The payout, if it is known to exist. Without it, the earlier run may or may not have sent the request. */
  payout?: DisbursementCreated | undefined;
}

/**
 * Remembers the payouts of a payroll, so that a run which was killed can be continued. Use `fileJournal`, or write one
 * that uses a table in your database. If a method rejects, the run stops with that error.
 */
export interface Journal {
  /**
   * Called before the first request for a payout. Must resolve only when the request is stored durably.
   *
   * Resolves with what an earlier run stored about the reference, or with undefined. Must reject if the stored payout
   * has another amount, recipient, country or currency.
   */
  before(request: DisbursementRequest): Promise<JournalEntry | undefined>;
  /**
   * Called when the outcome is certain, not for an unknown outcome. Without `payout`, nothing was recorded for this
   * request: the reference counts as unused again, and the request may be corrected.
   *
   * A recovered payout includes the recipient. A journal only needs the fields of {@link DisbursementCreated}.
   */
  after(request: DisbursementRequest, payout?: DisbursementCreated): Promise<void>;
  /**
   * The requests per second that the service accepts; Infinity if it has refused no request. The run reads the rate at
   * the start and updates it. Store the rate, so that the next run starts with it.
   */
  rate?: number | undefined;
  /** Called at the end of the run. */
  close?(): Promise<void>;
}

/** How many payouts of a payroll have a result so far. */
export interface Progress {
  /** All results: `ok`, `failed` and `unknown` together. */
  done: number;
  /** Payouts that exist, also those from the journal. */
  ok: number;
  /** Entries for which nothing was paid. */
  failed: number;
  /** Entries that may have been paid. Run the payroll again. */
  unknown: number;
}

/** Options of `createAll` and `verifyAll`: those of a call, and how many calls to make at the same time. */
export interface ManyOptions extends CallOptions {
  /** How many calls may be in progress at the same time. Default 16. */
  concurrency?: number;
}

/** Options of `createAll`. */
export interface CreateAllOptions extends ManyOptions {
  /** Remembers what was paid, so that a killed run can be continued. */
  journal?: Journal | undefined;
  /** Called after each result. Not awaited, and its errors are ignored. */
  onProgress?(progress: Progress): void;
}

/** Which item of the input a result belongs to. */
interface Position<Item> {
  /** The item's place in the input; the first is 0. */
  index: number;
  /** The item itself. */
  input: Item;
  /** The merchant's reference in createAll, the service's reference in verifyAll. Empty if the item has none. */
  reference: string;
}

/** The result of one entry of `createAll`: as `create(…).result()` returns it, and which entry it belongs to. */
export type PayoutResult = Position<DisbursementRequest> & {
  /** True if `data` is from the journal and no request was sent. Its `status` is as of the earlier run. */
  fromJournal: boolean;
} & Result<"createDisbursement", CreatedDisbursement, Disbursement>;

/** The result of one reference of `verifyAll`: as `verify(…).result()` returns it, and which reference it belongs to. */
export type VerifyResult<Op extends "verifyDisbursement" | "verifyCheckout", R> = Position<string> & Result<Op, R, R>;

/**
 * Creates many payouts, for example a payroll: at most once each, within the service's rate limit.
 *
 * Returns one result per entry, in the order in which they become ready. A payout that fails is a result, not an
 * exception. A payout that exists already and matches its entry counts as created, so the same payroll can be run again
 * after a crash. With a `journal`, the second run sends no request for a payout that the journal has.
 *
 * Reads the input only as fast as payouts are made and results are read. Keeps all references in memory, to find
 * duplicates, and nothing else of finished entries. To stop early, leave the loop: the payouts in progress are finished
 * first.
 *
 * @throws {UsageError} An option is invalid, or the journal belongs to another input.
 * @throws {AbortedError} The signal was aborted. The results of the payouts in progress are returned before.
 */
export async function* createAll(
  { disbursements, limiter }: DisbursementClient,
  input: Source<DisbursementRequest>,
  options?: CreateAllOptions,
): AsyncGenerator<PayoutResult, void> {
  const { journal, onProgress = ignore, ...others } = options ?? {};
  const references = new Set<string>();
  const progress: Progress = { done: 0, ok: 0, failed: 0, unknown: 0 };
  try {
    yield* callAll(input, others, async (entry, callOptions, fail) => {
      const request = { ...entry };
      const { reference = "" } = request;
      // Without a reference, create refuses the request.
      const isValid = isText(reference);
      const isRepeated = isValid && references.size === references.add(reference).size;
      const book = isValid && !isRepeated ? journal : undefined;
      const known = await book?.before(request);
      const payout = known?.payout;
      if (book?.rate && limiter.rate === Infinity) limiter.rate = book.rate;
      const result = isRepeated
        ? repeated(reference)
        : payout
          ? paid(payout)
          : await disbursements.create(request, { ...callOptions, ifExists: "return", inDoubt: !!known }).result();
      // A duplicate whose record cannot be read may be this very payout.
      const isUnknown = result.status === "unknown" || (result.status === 409 && result.error.matches === undefined);
      if (!payout && !isUnknown) await book?.after(request, result.ok ? result.data : undefined).catch(fail);
      if (book) book.rate = limiter.rate;
      progress.done++;
      progress[isUnknown ? "unknown" : result.ok ? "ok" : "failed"]++;
      notify(onProgress, { ...progress });
      return { reference, fromJournal: !!payout, ...result };
    });
  } finally {
    await journal?.close?.();
  }
}

type CreateResult = Result<"createDisbursement", CreatedDisbursement, Disbursement>;

function paid(payout: DisbursementCreated): CreateResult {
  return { ok: true, status: 200, data: { ...payout, recovered: false } };
}

function repeated(reference: string): CreateResult {
  const error = new UsageError(`The input repeats the reference "${reference}". Not sent again.`);
  return { ok: false, status: "no-answer", error };
}

/** `client.disbursements` or `client.checkouts`. */
interface Readable<Op extends "verifyDisbursement" | "verifyCheckout", R> {
  verify(reference: string, options?: CallOptions): Call<Op, R, R>;
}

/**
 * Reads many records. Returns one result per reference, in the order in which they become ready.
 *
 * @param records `client.disbursements` or `client.checkouts`.
 * @param references The service's references, as returned by create.
 * @throws {UsageError} An option is invalid.
 * @throws {AbortedError} The signal was aborted.
 */
export function verifyAll<Op extends "verifyDisbursement" | "verifyCheckout", R>(
  records: Readable<Op, R>,
  references: Source<string>,
  options: ManyOptions = {},
): AsyncGenerator<VerifyResult<Op, R>, void> {
  return callAll(references, options, async (reference, callOptions) => {
    return { reference, ...(await records.verify(reference, callOptions).result()) };
  });
}

/** Makes a call for each item of the input and adds to its result which item it is. */
function callAll<Item, R extends object>(
  input: Source<Item>,
  { concurrency, ...options }: ManyOptions,
  call: (item: Item, options: CallOptions, fail: (error: unknown) => void) => Promise<R>,
) {
  // An invalid option throws here, instead of failing each item.
  const { signal } = resolveOptions(options, defaults);
  return runAll(input, concurrency, signal, async (item, index, itemSignal, fail) => {
    const result: R & { error?: Error } = await call(item, { ...options, signal: itemSignal }, fail);
    // The client's own signal ends the run too.
    const aborted = [result.error, result.error?.cause].find((error) => error instanceof AbortedError);
    if (aborted) fail(aborted);
    return { index, input: item, ...result };
  });
}
