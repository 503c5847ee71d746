import { readCopyDestination } from "../config.ts";
import type { Rails } from "../domain/rails.ts";
import { reconcile } from "../domain/reconciliation.ts";
import { timestamp } from "../domain/representation.ts";
import { DAY_MS } from "../domain/time.ts";
import { databaseAt } from "../storage/open.ts";
import { UsageError } from "./command.ts";
import { commands, type Context } from "./run.ts";

/** The largest number of this server's payments that are compared. */
const MOST_COMPARED = 2_000_000;

export const databaseCommands = commands({
  status: {
    summary: "Show the version, the size, what is pending, and whether a server uses the database.",
    runOnDatabase: ({ config: { database } }) => databaseAt(database).readStatus(),
  },
  "migrate [--check]": {
    summary: "Bring the database to the version of this program. Servers do so too when they start.",
    async runOnDatabase({ config: { database, mode } }, { check }) {
      if (!check) return databaseAt(database).migrate({ mode });
      const { version, pendingMigrations: pending } = await databaseAt(database).readStatus();
      return { version, pending, isWrong: pending.length > 0 };
    },
  },
  check: {
    summary:
      "Check the books, and every page, index and record of a SQLite file (PostgreSQL: pg_amcheck). It exits with 1 if something is wrong.",
    async runOnDatabase({ config }) {
      const checked = await databaseAt(config.database).check();
      return { ...checked, isWrong: checked.findings.length > 0 };
    },
  },
  "reconcile --rail --from --to": {
    summary: "Compare the payments on a rail with the rail's list. It exits with 1 if something differs.",
    async run(context, { rail, from, to }) {
      const { storage, actor } = context;
      if (to < from) throw new UsageError("--to must not be before --from.");
      const details = { rail, from: timestamp(from).slice(0, 10), to: timestamp(to).slice(0, 10) };
      await storage.recordAction({ actor, action: "rail.reconcile", merchantId: "", details });
      const listThere = (around: Period) => listOf(context, rail, around);
      const period = { from, to: to + DAY_MS };
      const result = await reconcile({ storage, rail, period, listThere, most: MOST_COMPARED });
      return { ...result, isWrong: result.found.length > 0 };
    },
  },
  "backup FILE": {
    summary: "Write a copy of the database into a new file, also while a server is running.",
    async runOnDatabase({ config }, { file }) {
      await databaseAt(config.database).backup(file);
      return `Backup written to ${file}. It contains the webhook secrets; keep it private.`;
    },
  },
  "restore FILE [--replace]": {
    summary: "Put a backup in the place of the database. No server may use it.",
    creates: true,
    async runOnDatabase({ config: { database, mode }, clock }, { file, replace = false }) {
      const suffix = `replaced-${timestamp(clock.now()).replaceAll(/[^0-9TZ]/g, "")}`;
      const { version, kept } = await databaseAt(database).restore(file, { replace, suffix, mode });
      return `Restored ${file}, of version ${version}. A server migrates it when it starts.
${kept === undefined ? "" : `The old database is kept: ${kept}\n`}\
The database does not know what happened after the backup: references used since then are free again
(a rail still knows them and pays none twice), payouts and webhooks that were pending are processed again, and
revoked keys, suspensions and top-ups since then are undone: repeat them before callers reach the server.`;
    },
  },
  copy: {
    summary: "Copy a SQLite database into the empty PostgreSQL database of DATABASE_URL_TO. No server may use either.",
    async runOnDatabase({ config, env }) {
      const copied = await databaseAt(config.database).copyTo(readCopyDestination(env));
      return `Copied and compared:
${copied.map(({ table, rows }) => `  ${table}: ${rows}`).join("\n")}
Set DATABASE_URL to the new database and start the servers. Never start one on the old database again: it would
settle the same payouts and send the same webhooks. Cursors of lists of payouts, of checkouts and of the audit
trail are invalid from now on; cursors of events and deliveries stay valid.`;
    },
  },
});

type Period = { from: number; to: number };

/**
 * Reads the rail's own list. An error means misuse or an outage, and is not a difference between payments.
 * @throws UsageError if the rail has no list, or cannot be opened or read
 */
async function* listOf({ config, clock }: Context, name: string, period: Period) {
  let rails: Rails | undefined;
  try {
    const setting = config.rails?.rails.find((each) => each.name === name);
    if (!setting) throw new Error("the configuration does not name it. Set RAIL_URL or RAILS as for the server");
    // `open.ts` hooks the resolution of imports, and is loaded only if it is used.
    const { openRails } = await import("../rails/open.ts");
    rails = await openRails({ rails: [setting], routes: [] }, { clock, warn: () => undefined });
    const { list } = rails.get(name)!;
    if (!list) throw new Error("it has no list");
    yield* list(period, new AbortController().signal);
  } catch (error) {
    throw new UsageError(`The payments of the rail ${name} cannot be read: ${(error as Error).message}`);
  } finally {
    await rails?.close();
  }
}
