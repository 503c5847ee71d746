import { notify } from "./attempt.ts";
import type { Context } from "./attempt.ts";
import { ensure, ignore, resolveOptions } from "./options.ts";
import type { CallOptions, Settings } from "./options.ts";
import { isText } from "./outcome.ts";
import { runAll } from "./pool.ts";
import type { Source } from "./pool.ts";
import { create, disbursement, verify } from "./recovery.ts";
import type { Kind } from "./recovery.ts";
import { createStatuses, toCall, verifyStatuses } from "./result.ts";
import type { Result } from "./result.ts";
import type { CreatedDisbursement, Disbursement, DisbursementCreated, DisbursementRequest } from "./types.ts";

/** What a journal knows about a payout from an earlier run. */
export interface JournalEntry {
  /** The payout, if it is known to exist. Without it, the earlier run may or may not have sent the request. */
  payout?: DisbursementCreated | undefined;
}

/**
 * Remembers the payouts of a payroll, so that a run which was killed can be continued. `fileJournal` is one; a table in your
 * database can be another. If a method rejects, the run stops with that error.
 */
export interface Journal {
  /**
   * Called before the first request for a payout is sent. Must have stored durably that it may be sent before it resolves.
   *
   * Resolves with what an earlier run stored about the reference, or with undefined. Must reject if that was about another
   * amount, recipient, country or currency.
   */
  before(request: DisbursementRequest): Promise<JournalEntry | undefined>;
  /**
   * Called when the outcome is certain: with the payout, or without one if nothing was recorded for this request. Then the
   * reference counts as unused again, and the request may be corrected. Not called for an unknown outcome.
   *
   * A recovered payout includes the recipient. A journal only needs the fields of {@link DisbursementCreated}.
   */
  after(request: DisbursementRequest, payout?: DisbursementCreated): Promise<void>;
  /**
   * The requests per second that the service accepts, as far as it is known. The run reads it at the start and sets it as it
   * learns. Infinity means that no request was refused. A journal that stores it lets the next run start at this rate.
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
  /** True if `data` is from the journal and no request was sent. Its `status` is the one of that time. */
  fromJournal: boolean;
} & Result<"createDisbursement", CreatedDisbursement, Disbursement>;

/** The result of one reference of `verifyAll`: as `verify(…).result()` returns it, and which reference it belongs to. */
export type VerifyResult<Op extends "verifyDisbursement" | "verifyCheckout", R> = Position<string> & Result<Op, R, R>;

/** Creates a payout for each entry. See {@link Disbursements.createAll}. */
export async function* createAll(
  context: Context,
  base: Settings,
  input: Source<DisbursementRequest>,
  options?: CreateAllOptions,
): AsyncGenerator<PayoutResult, void> {
  const { concurrency, journal, onProgress = ignore, ...rest } = options ?? {};
  const settings = resolveOptions(rest, base);
  const { limiter } = context;
  const references = new Set<string>();
  const progress: Progress = { done: 0, ok: 0, failed: 0, unknown: 0 };
  try {
    yield* runAll(input, concurrency, settings.signal, async (entry, index, signal, fail) => {
      const request = { ...entry };
      const { reference = "" } = request;
      // Without a reference, create refuses the request.
      const isValid = isText(reference);
      const isRepeated = isValid && references.size === references.add(reference).size;
      const book = isValid && !isRepeated ? journal : undefined;
      const known = await book?.before(request);
      const payout = known?.payout;
      if (book?.rate && limiter.rate === Infinity) limiter.rate = book.rate;
      const result = (await toCall(createStatuses, async () => {
        ensure(!isRepeated, `The input repeats the reference "${reference}". Not sent again.`);
        if (payout) return { ...payout, recovered: false };
        const prior = { ifExists: "return", inDoubt: !!known } as const;
        return create(context, disbursement, request, { ...settings, signal }, prior);
      }).result()) as Result<"createDisbursement", CreatedDisbursement, Disbursement>;
      // A duplicate whose record cannot be read may be this very payout.
      const isUnknown = result.status === "unknown" || (result.status === 409 && result.error.matches === undefined);
      if (!payout && !isUnknown) await book?.after(request, result.ok ? result.data : undefined).catch(fail);
      if (book) book.rate = limiter.rate;
      progress.done++;
      progress[isUnknown ? "unknown" : result.ok ? "ok" : "failed"]++;
      notify(onProgress, { ...progress });
      return { index, input: entry, reference, fromJournal: !!payout, ...result };
    });
  } finally {
    await journal?.close?.();
  }
}

/** Reads the record of each reference. See {@link Disbursements.verifyAll}. */
export function verifyAll(
  context: Context,
  kind: Kind,
  base: Settings,
  references: Source<string>,
  options?: ManyOptions,
) {
  const { concurrency, ...rest } = options ?? {};
  const settings = resolveOptions(rest, base);
  return runAll(references, concurrency, settings.signal, async (reference, index, signal) => {
    const call = toCall(verifyStatuses, () => verify(context, kind, reference, { ...settings, signal }));
    return { index, input: reference, reference, ...(await call.result()) };
  });
}
