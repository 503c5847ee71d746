import type { FinalRecord } from "../portable/query.ts";
import { ended } from "../ledger-rows.ts";
import { insertInto, type Context } from "../sqlite/context.ts";
import { eventValues } from "../portable/event-rows.ts";

/**
 * Returns a function that writes the event of a record that has become final, and books its end, inside the transaction
 * of that change.
 */
export function eventWriter({ db, ledger }: Pick<Context, "db" | "ledger">): (final: FinalRecord) => void {
  const insert = insertInto<ReturnType<typeof eventValues>>(db, "events");
  return (final) => {
    insert(eventValues(final));
    ledger.book(ended(final.record, final.merchant));
  };
}
