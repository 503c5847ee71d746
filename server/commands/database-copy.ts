import { copyStorage } from "../storage/open.ts";
import type { Output } from "./command.ts";
import type { DatabaseContext } from "./command-context.ts";

export async function copy({ database, destination }: DatabaseContext): Promise<Output> {
  const copied = await copyStorage(database, destination());
  const rows = copied.map(({ table, tally }) => `  ${table}: ${tally.rows}${amountOf(tally.sums)}`);
  return {
    lines: [
      "Copied and compared:",
      ...rows,
      "Set DATABASE_URL to the new database and start the servers. Never start one on the old database again: it would",
      "settle the same payouts and send the same webhooks. Cursors of lists of payouts, of checkouts and of the audit",
      "trail are invalid from now on; cursors of events and deliveries stay valid.",
    ],
  };
}

const amountOf = ([amount]: readonly bigint[]) => (amount === undefined ? "" : `, amounts ${amount} in all`);
