import { notedChanges, type Change } from "../../domain/changes.ts";
import type { CheckoutStore } from "../../domain/checkouts.ts";
import type { AuditAction } from "../../domain/audit.ts";
import type { DisbursementStore } from "../../domain/disbursements.ts";
import { UnknownOutcome } from "../storage-error.ts";
import { INSERT_ENTRY } from "./audit.ts";
import { OPEN } from "./booking.ts";
import type { Executor, Query, QueryResult, Work } from "./query.ts";

const CHANGES_ROWS = /^\s*(INSERT|UPDATE|DELETE|WITH)\b/;

/**
 * Returns an executor that notes what the transactions of a request or a command have recorded (`domain/changes.ts`). A
 * transaction that changed no row has recorded nothing.
 */
export function noting(executor: Executor): Executor {
  return {
    ...executor,
    async write(work, options = {}) {
      const changes = notedChanges();
      if (!changes || options.isAside) return executor.write(work, options);
      let seen: Change[] = [];
      const watched = function* () {
        const now: Change[] = [];
        const result = yield* watch(work(), now);
        // A repeat may find what an earlier run has committed, and then changes nothing.
        const mayBeRepeat = options.repeatable === true && now.length === 0;
        seen = mayBeRepeat ? doubtful(seen) : now;
        return result;
      };
      return noteEnd(changes, executor.write(watched, options), () => seen);
    },
  };
}

const doubtful = (changes: readonly Change[]): Change[] => changes.map((each) => ({ ...each, isCertain: false }));

/** Adds to `changes` what a transaction has recorded, and what it may have recorded if its outcome is unknown. */
async function noteEnd<T>(changes: Change[], ended: Promise<T>, seenIn: (result?: T) => readonly Change[]): Promise<T> {
  try {
    const result = await ended;
    changes.push(...seenIn(result));
    return result;
  } catch (error) {
    if (error instanceof UnknownOutcome) changes.push(...doubtful(seenIn()));
    throw error;
  }
}

/** Executes work, and adds to `seen` what its statements change. */
function* watch<T>(work: Work<T>, seen: Change[]): Work<T> {
  let step = work.next();
  while (!step.done) {
    const results: readonly QueryResult[] = yield step.value;
    for (const [index, query] of step.value.entries()) note(query, results[index]!, seen);
    step = work.next(results);
  }
  return step.value;
}

/** The statements of both databases begin with the same word. */
const textOf = ({ text }: Query) => (typeof text === "string" ? text : text.postgres);

/** An entry of the audit trail says what the other statements of its transaction do. */
function note(query: Query, { count }: QueryResult, seen: Change[]): void {
  const text = textOf(query);
  if (text === INSERT_ENTRY) {
    const { merchant, action, details } = query.values as Record<"merchant" | "action" | "details", string>;
    const { bySession: _, ...about } = JSON.parse(details) as Record<string, string>;
    const change = {
      isCertain: true,
      action: action as AuditAction,
      details: { ...(merchant && { merchant }), ...about },
    };
    if (seen[0]?.action === undefined) seen.length = 0;
    seen.push(change);
  } else if (count > 0 && seen.length === 0 && CHANGES_ROWS.test(text) && text !== OPEN) {
    seen.push({ isCertain: true, details: {} });
  }
}

type Insertions = Pick<DisbursementStore, "insertDisbursement"> & Pick<CheckoutStore, "insertCheckout">;

/** Notes the payments that a request has recorded. */
export const notingInsertions = ({ insertDisbursement, insertCheckout }: Insertions): Insertions => ({
  insertDisbursement: notingPayment("disbursement", insertDisbursement),
  insertCheckout: notingPayment("checkout", insertCheckout),
});

/** The stored reference may differ from the draft's. While there is no record, the merchant's reference names it. */
function notingPayment<
  Asked extends { merchantsReference: string },
  Result extends { inserted: boolean; record: { reference: string } },
>(kind: string, insert: (asked: Asked) => Promise<Result>): (asked: Asked) => Promise<Result> {
  return (asked) => {
    const changes = notedChanges();
    const change = (result?: Result) => ({
      isCertain: true,
      details: { [kind]: result?.record.reference ?? asked.merchantsReference },
    });
    const ended = insert(asked);
    return changes ? noteEnd(changes, ended, (result) => (result?.inserted === false ? [] : [change(result)])) : ended;
  };
}
