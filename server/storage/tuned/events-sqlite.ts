import { LISTENER_CONNECTED_MS } from "../../domain/listeners.ts";
import { NEW_EVENT_COLUMNS } from "../columns.ts";
import type { FinalRecord } from "../portable/query.ts";
import { ended } from "../ledger-rows.ts";
import { insertInto, type Context } from "../sqlite/context.ts";
import { eventValues } from "./event-values.ts";

/**
 * Returns a function that writes the event of a record that has become final, and books its end, inside the transaction
 * of that change.
 */
export function eventWriter({ db, now, ledger }: Pick<Context, "db" | "now" | "ledger">): (final: FinalRecord) => void {
  const insert = insertInto(db, "events", Object.keys(NEW_EVENT_COLUMNS));
  const connected = db.prepare("SELECT url FROM listeners WHERE merchant_id = ? AND seen_real > ?");
  return (final) => {
    const listener = connected.get(final.merchant.id, now() - LISTENER_CONNECTED_MS);
    insert(eventValues(final, listener?.url as string | undefined));
    ledger.book(ended(final.record, final.merchant));
  };
}
