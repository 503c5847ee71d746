// `@disbursement-checkout/client/payroll`: many payouts at once. Uses only the public interface of a client.
import { refusedFields } from "../../generated/payout-rules.ts";
import { notify } from "../attempt.ts";
import type { DisbursementClient } from "../client.ts";
import { AbortedError, UsageError } from "../errors.ts";
import { defaults, ensure, ignore, resolveOptions } from "../options.ts";
import type { CallOptions } from "../options.ts";
import { isText } from "../text.ts";
import { runAll } from "./pool.ts";
import type { Source } from "./pool.ts";
import type { DisbursementResult } from "../result.ts";
import type { DisbursementCreated, DisbursementRequest } from "../types.ts";

/** A payout as a journal keeps it. */
export interface JournaledPayout extends DisbursementCreated {
  /** True if the payout existed before this request, or a response was lost: it stays `existed` in later runs. */
  recovered?: boolean | undefined;
}

/** What a journal knows about a payout from an earlier run. */
export interface JournalEntry {
  /** The payout, if it is known to exist. Without it, the earlier run may or may not have sent the request. */
  payout?: JournaledPayout | undefined;
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
   * has another amount, recipient, country or currency, or is of another service: a payout in the sandbox pays nobody.
   *
   * @param service The client's `baseUrl`.
   */
  before(request: DisbursementRequest, service?: string): Promise<JournalEntry | undefined>;
  /**
   * Called when the outcome is certain, not for an unknown outcome. Without `payout`, nothing was recorded for this
   * request: the reference counts as unused again, and the request may be corrected.
   *
   * A recovered payout includes the recipient. A journal only needs the fields of {@link JournaledPayout}.
   */
  after(request: DisbursementRequest, payout?: JournaledPayout): Promise<void>;
  /** Called at the end of the run. */
  close?(): Promise<void>;
}

/** How many entries of a payroll have a result so far, by outcome. */
export interface Progress {
  /** All results together. */
  done: number;
  /** Payouts that this payroll created, in this run or in an earlier run of its journal. */
  created: number;
  /**
   * Payouts that were found, not created: a response was lost, or another run created them. If no response was
   * lost, the input may have the entries of last month.
   */
  existed: number;
  /** Entries for which certainly nothing was paid. */
  refused: number;
  /** Entries that may have been paid. Run the payroll again with its journal. */
  unknown: number;
  /** Entries with the reference of an earlier entry of the same input. They were not sent. */
  repeated: number;
}

/** Options of `createAll`: the options of a call, and those of the payroll. */
export interface CreateAllOptions extends CallOptions {
  /** How many calls may be in progress at the same time. Default 16. */
  concurrency?: number;
  /** Remembers what was paid, so that a killed run can be continued. */
  journal?: Journal | undefined;
  /** Called after each result. Not awaited, and its errors are ignored. */
  onProgress?(progress: Progress): void;
}

/** Which entry of the input a result belongs to. */
interface Position {
  /** The entry's place in the input; the first is 0. */
  index: number;
  /** The entry itself. */
  input: DisbursementRequest;
  /** The merchant's reference. Empty if the entry has none. */
  reference: string;
}

/** A payout that an earlier run put into the journal. No request was sent, and `status` is as of the earlier run. */
interface FromJournal {
  fromJournal: true;
  outcome: "created" | "existed";
  status: JournaledPayout["status"];
  data: JournaledPayout;
  error?: undefined;
}

/**
 * An entry with the reference of an earlier entry. If both are the same payment, the result of the earlier entry tells
 * whether it was paid. If not, this payment was not made: it needs a reference of its own.
 */
interface Repeated {
  outcome: "repeated";
  status?: undefined;
  data?: undefined;
  error: UsageError;
}

/**
 * The result of one entry of `createAll`, and which entry it belongs to. Its `outcome` is as in {@link DisbursementResult},
 * or `repeated`: an earlier entry of the same input has the reference, and this entry was not sent.
 */
export type PayoutResult = Position & (FromJournal | ({ fromJournal: false } & (DisbursementResult | Repeated)));

/** What must be fixed in an entry of a payroll before it can be paid. */
export interface EntryProblem extends Position {
  /** One text for each field that the contract refuses, and for a reference that an earlier entry has. */
  problems: string[];
}

/** A payroll. It starts when it is iterated or awaited. */
export interface Payroll extends AsyncIterable<PayoutResult>, PromiseLike<Progress> {
  /**
   * Returns the entries that must be fixed, as far as the contract says. Sends nothing. Reads the whole input, so the
   * input must be one that can be read again to pay it, such as an array.
   */
  preview(): Promise<EntryProblem[]>;
  /**
   * Pays, and returns how many entries had which outcome. `await` does the same. After a loop it only returns the counts,
   * even if the loop was left: leaving the loop ends the payroll.
   */
  run(): Promise<Progress>;
  [Symbol.asyncIterator](): AsyncGenerator<PayoutResult, void>;
}

// The journals that a run uses.
const inUse = new WeakSet<Journal>();

/**
 * Creates many payouts, for example a payroll: at most once each, within the service's rate limit.
 *
 * Iterate over it for one result per entry, in the order in which they become ready, or await it for a summary. A payout
 * that fails is a result, not an exception. The same payroll can be run again after a crash: a payout that exists already
 * and matches its entry is found. With a `journal`, the second run sends no request for a payout that is in the
 * journal.
 *
 * Without a journal, an earlier run may have sent any entry. So if the service refuses an entry and no payout with its
 * reference is found, the outcome is `unknown`.
 *
 * Reads the input only as fast as payouts are made and results are read. Keeps all references in memory, to find
 * duplicates, and nothing else of finished entries. To stop early, leave the loop: the payouts in progress are finished
 * first.
 *
 * @throws {UsageError} An option is invalid, or the journal is in use or belongs to another input.
 * @throws {AbortedError} The signal was aborted. The results of the payouts in progress are returned before.
 */
export function createAll(
  client: DisbursementClient,
  input: Source<DisbursementRequest>,
  options?: CreateAllOptions,
): Payroll {
  const progress: Progress = { done: 0, created: 0, existed: 0, refused: 0, unknown: 0, repeated: 0 };
  const results = pay(client, input, progress, options);
  const run = async () => {
    for await (const _ of results);
    return progress;
  };
  return {
    [Symbol.asyncIterator]: () => results,
    preview: () => preview(input),
    run,
    // oxlint-disable-next-line unicorn/no-thenable -- awaiting a payroll without a loop must pay
    then: (resolve, reject) => run().then(resolve, reject),
  };
}

async function preview(input: Source<DisbursementRequest>): Promise<EntryProblem[]> {
  const found: EntryProblem[] = [];
  const references = new Set<string>();
  let index = 0;
  for await (const entry of input) {
    const { reference = "" } = entry;
    const problems = refusedFields(entry).map(({ field, expects }) => `${field} must be ${expects}.`);
    if (reference && references.size === references.add(reference).size)
      problems.push(repeated(reference).error.message);
    if (problems.length > 0) found.push({ index, input: entry, reference, problems });
    index++;
  }
  return found;
}

async function* pay(
  { disbursements, baseUrl }: DisbursementClient,
  input: Source<DisbursementRequest>,
  progress: Progress,
  options?: CreateAllOptions,
): AsyncGenerator<PayoutResult, void> {
  const { journal, onProgress = ignore, concurrency, ...callOptions } = options ?? {};
  // An invalid option throws here, instead of failing each entry.
  const { signal } = resolveOptions(callOptions, defaults);
  ensure(!journal || !inUse.has(journal), "Another run uses this journal. Run one payroll after the other.");
  if (journal) inUse.add(journal);
  const references = new Set<string>();
  try {
    yield* runAll(input, concurrency, signal, async (entry, index, fail) => {
      const request = { ...entry };
      const { reference = "" } = request;
      // Without a reference, create refuses the request.
      const isValid = isText(reference);
      const isRepeated = isValid && references.size === references.add(reference).size;
      const entryJournal = isValid && !isRepeated ? journal : undefined;
      // With a journal, undefined proves that no earlier run has paid this entry. Without a journal, any run may have.
      const known = await entryJournal?.before(request, baseUrl);
      const payout = known?.payout;
      const result = isRepeated
        ? repeated(reference)
        : payout
          ? fromJournal(payout)
          : await disbursements[isValid && (known || !journal) ? "resume" : "create"](request, callOptions).result();
      const { outcome, error } = result;
      // The client's own signal ends the run too.
      const aborted = [error, error?.cause].find((cause) => cause instanceof AbortedError);
      if (aborted) fail(aborted);
      if (!payout && outcome !== "unknown") await entryJournal?.after(request, result.data).catch(fail);
      progress.done++;
      progress[outcome]++;
      notify(async () => onProgress({ ...progress }));
      return { index, input: entry, reference, fromJournal: false, ...result };
    });
  } finally {
    try {
      await journal?.close?.();
    } finally {
      inUse.delete(journal!);
    }
  }
}

function fromJournal(data: JournaledPayout): FromJournal {
  const { recovered = false, status } = data;
  return { fromJournal: true, outcome: recovered ? "existed" : "created", status, data: { ...data, recovered } };
}

function repeated(reference: string): Repeated {
  const message =
    `An earlier entry has the reference "${reference}". This entry was not sent: if it is another payment, give it a ` +
    "reference of its own.";
  return { outcome: "repeated", error: new UsageError(message) };
}
