import { timestamp } from "../domain/representation.ts";
import { backupStorage, checkStorage, migrateStorage, readSchema, restoreStorage } from "../storage/open.ts";
import type { Commands } from "./command.ts";
import type { DatabaseContext } from "./command-context.ts";
import { copy } from "./database-copy.ts";
import { prune } from "./database-prune.ts";
import { reconcileRail } from "./reconcile.ts";
import { status } from "./database-status.ts";

export const databaseCommands: Commands<DatabaseContext> = {
  status: {
    args: [],
    options: ["json"],
    summary: "Show the version, the size, what is pending and due, and whether a server uses the database.",
    run: async (context) => status(context),
  },
  migrate: {
    args: [],
    options: ["check", "json"],
    summary: "Bring the database to the version of this program. Servers do so too when they start.",
    run: ({ database }, _, { check }) => (check ? checkSchema(database) : migrate(database)),
  },
  check: {
    args: [],
    options: ["json"],
    summary:
      "Check the books, and every page, index and record of a SQLite database. It exits with 1 if something is wrong.",
    run: ({ database }) => checkAll(database),
  },
  prune: {
    args: [],
    options: ["older-than", "dry-run", "json"],
    summary: "Delete old events that were delivered or have no address. Payouts and references stay for ever.",
    run: (context, _, options) => prune(context, options),
  },
  reconcile: {
    args: [],
    options: ["rail", "from", "to", "statement", "csv", "json"],
    summary: "Compare the payments on a rail with the rail's list or statement. It exits with 1 if something differs.",
    run: async (context, _, options) => reconcileRail(context, options),
  },
  backup: {
    args: ["FILE"],
    options: [],
    summary: "Write a copy of the database into a new file, also while a server is running.",
    onlyAdvises: true,
    async run({ database }, [file]) {
      await backupStorage(database, file!);
      return { lines: [`Backup written to ${file}. It contains the webhook secrets; keep it private.`] };
    },
  },
  restore: {
    args: ["FILE"],
    options: ["replace"],
    summary: "Put a backup in the place of the database. No server may use it.",
    creates: true,
    onlyAdvises: true,
    run({ database, mode, clock }, [file], { replace = false }) {
      const now = clock.now();
      const suffix = `replaced-${timestamp(now).replaceAll(/[^0-9TZ]/g, "")}`;
      return restore(database, file!, { replace, suffix, mode, now });
    },
  },
  copy: {
    args: [],
    options: [],
    summary: "Copy a SQLite database into the empty PostgreSQL database of DATABASE_URL_TO. No server may use either.",
    onlyAdvises: true,
    run: async (context) => copy(context),
  },
};

async function restore(
  database: DatabaseContext["database"],
  file: string,
  options: Parameters<typeof restoreStorage>[2],
) {
  const { version, kept } = await restoreStorage(database, file, options);
  return {
    lines: [
      `Restored ${file}, of version ${version}. A server migrates it when it starts.`,
      ...(kept === undefined ? [] : [`The old database is kept: ${kept}`]),
      "The database does not know what happened after the backup: references used since then are free again, and",
      "payouts and webhooks that were pending are processed again.",
    ],
  };
}

async function checkSchema(database: DatabaseContext["database"]) {
  const schema = await readSchema(database);
  const { version, pending } = schema;
  const found = pending.length > 0;
  const lines = found
    ? [`Version ${version}. Pending migrations:`, ...pending.map((name) => `  ${name}`)]
    : [`Version ${version}. No migration is pending.`];
  return { lines, json: schema, found };
}

async function checkAll(database: DatabaseContext["database"]) {
  const checked = await checkStorage(database);
  const { findings, pages } = checked;
  const found = findings.length > 0;
  const lines = found
    ? ["The database is damaged:", ...findings.map((finding) => `  ${finding}`)]
    : pages === undefined
      ? ["The books are right. PostgreSQL checks its pages and indexes with its own program, pg_amcheck."]
      : [`Checked ${pages} pages with their indexes and records, and the books. Nothing is damaged.`];
  return { lines, json: checked, found };
}

async function migrate(database: DatabaseContext["database"]) {
  const migrated = await migrateStorage(database);
  const { from, to } = migrated;
  const lines = from === to ? [`Version ${to}. Nothing to do.`] : [`Migrated from version ${from} to ${to}.`];
  return { lines, json: migrated };
}
