import { timestamp } from "../domain/representation.ts";
import { readCopyDestination } from "../config.ts";
import { databaseAt } from "../storage/open.ts";
import type { DatabaseStatus } from "../storage/status.ts";
import { reconcileRail } from "./rails.ts";
import { command, databaseCommand, type DatabaseContext } from "./run.ts";

/** Events per transaction. A server must be able to write between two steps. */
const STEP = 500;
const mebibytes = (bytes: number) => `${(bytes / 1024 / 1024).toFixed(1)} MiB`;

export const databaseCommands = {
  status: databaseCommand({
    takes: "[--json]",
    summary: "Show the version, the size, what is pending and due, and whether a server uses the database.",
    async run({ config: { database }, clock }) {
      const { place, schema, bytes, mode, work } = await databaseAt(database).readStatus(clock.now());
      const { version, pending } = schema;
      return {
        lines: [
          ...placeLines(place),
          `Mode: ${mode ?? "not decided; the first server decides it"}`,
          `Version: ${version}${pending.length === 0 ? "" : `; pending migrations: ${pending.join(", ")}`}`,
          `Size: ${mebibytes(bytes)}`,
          ...(work ? workLines(work) : ["Payouts and deliveries: shown after `db migrate`"]),
        ],
        json: { ...place, version, pendingMigrations: pending, bytes, work, mode },
      };
    },
  }),
  migrate: databaseCommand({
    takes: "[--check] [--json]",
    summary: "Bring the database to the version of this program. Servers do so too when they start.",
    run: (context, { check }) => (check ? checkSchema(context) : migrate(context)),
  }),
  check: databaseCommand({
    takes: "[--json]",
    summary:
      "Check the books, and every page, index and record of a SQLite database. It exits with 1 if something is wrong.",
    async run({ config }) {
      const checked = await databaseAt(config.database).check();
      const { findings, pages } = checked;
      const sound =
        pages === undefined
          ? "The books are right. PostgreSQL checks its pages and indexes with its own program, pg_amcheck."
          : `Checked ${pages} pages with their indexes and records, and the books. Nothing is damaged.`;
      const damaged = ["The database is damaged:", ...findings.map((finding) => `  ${finding}`)];
      return { lines: findings.length > 0 ? damaged : [sound], json: checked, isWrong: findings.length > 0 };
    },
  }),
  prune: command({
    takes: "--older-than [--dry-run] [--json]",
    summary: "Delete old events that were delivered or have no address. Payouts and references stay for ever.",
    async run({ storage, clock }, { olderThan, dryRun = false }) {
      const total = { events: 0, attempts: 0, bytes: 0 };
      const before = clock.now() - olderThan;
      for (const { id: merchantId } of await storage.listMerchants()) {
        for (let after: number | undefined = 0; after !== undefined;) {
          const begun = performance.now();
          const step = await storage.pruneEvents({ merchantId, before, after, limit: STEP, dryRun });
          for (const name of ["events", "attempts", "bytes"] as const) total[name] += step[name];
          after = step.next;
          // Pause for as long as the step took, so that a server can write.
          if (after !== undefined) await clock.sleep(performance.now() - begun);
        }
      }
      const what = `${total.events} events with ${total.attempts} attempts, ${mebibytes(total.bytes)} of bodies`;
      return { lines: [`${dryRun ? "Would delete" : "Deleted"}: ${what}`], json: { dryRun, ...total } };
    },
  }),
  reconcile: command({
    takes: "--rail --from --to [--statement] [--csv] [--json]",
    summary: "Compare the payments on a rail with the rail's list or statement. It exits with 1 if something differs.",
    run: reconcileRail,
  }),
  backup: databaseCommand({
    takes: "FILE",
    summary: "Write a copy of the database into a new file, also while a server is running.",
    onlyAdvises: true,
    async run({ config }, { file }) {
      await databaseAt(config.database).backup(file);
      return `Backup written to ${file}. It contains the webhook secrets; keep it private.`;
    },
  }),
  restore: databaseCommand({
    takes: "FILE [--replace]",
    summary: "Put a backup in the place of the database. No server may use it.",
    creates: true,
    onlyAdvises: true,
    async run({ config: { database, mode }, clock }, { file, replace = false }) {
      const suffix = `replaced-${timestamp(clock.now()).replaceAll(/[^0-9TZ]/g, "")}`;
      const { version, kept } = await databaseAt(database).restore(file, { replace, suffix, mode });
      return {
        lines: [
          `Restored ${file}, of version ${version}. A server migrates it when it starts.`,
          ...(kept === undefined ? [] : [`The old database is kept: ${kept}`]),
          "The database does not know what happened after the backup: references used since then are free again, and",
          "payouts and webhooks that were pending are processed again.",
        ],
      };
    },
  }),
  copy: databaseCommand({
    takes: "",
    summary: "Copy a SQLite database into the empty PostgreSQL database of DATABASE_URL_TO. No server may use either.",
    onlyAdvises: true,
    async run({ config, env }) {
      const copied = await databaseAt(config.database).copyTo(readCopyDestination(env));
      return {
        lines: [
          "Copied and compared:",
          ...copied.map(({ table, tally: { rows, sums } }) => {
            return `  ${table}: ${rows}${sums[0] === undefined ? "" : `, amounts ${sums[0]} in all`}`;
          }),
          "Set DATABASE_URL to the new database and start the servers. Never start one on the old database again: it would",
          "settle the same payouts and send the same webhooks. Cursors of lists of payouts, of checkouts and of the audit",
          "trail are invalid from now on; cursors of events and deliveries stay valid.",
        ],
      };
    },
  }),
};

async function checkSchema({ config, clock }: DatabaseContext) {
  const { schema } = await databaseAt(config.database).readStatus(clock.now());
  const { version, pending } = schema;
  const isWrong = pending.length > 0;
  const lines = isWrong
    ? [`Version ${version}. Pending migrations:`, ...pending.map((name) => `  ${name}`)]
    : [`Version ${version}. No migration is pending.`];
  return { lines, json: schema, isWrong };
}

async function migrate({ config }: DatabaseContext) {
  const migrated = await databaseAt(config.database).migrate();
  const { from, to } = migrated;
  const line = from === to ? `Version ${to}. Nothing to do.` : `Migrated from version ${from} to ${to}.`;
  return { lines: [line], json: migrated };
}

function placeLines(place: DatabaseStatus["place"]): string[] {
  if (place.storage === "sqlite")
    return [`SQLite: ${place.file}`, place.inUse ? "A server is using it." : "No server is using it."];
  const { host, port, database, serverVersion, connections } = place;
  const { service, server, most } = connections;
  return [
    `PostgreSQL ${serverVersion}: ${database} at ${host}:${port}`,
    `Connections: ${service} of this service; ${server} of ${most} on the server`,
  ];
}

function workLines(work: NonNullable<DatabaseStatus["work"]>): string[] {
  const since = work.oldestDueAt === undefined ? "" : `, the oldest since ${timestamp(work.oldestDueAt)}`;
  return [
    `Pending: ${work.pendingPayouts} payouts, ${work.pendingCheckouts} checkouts, ${work.pendingDeliveries} deliveries`,
    `Deliveries due: ${work.dueDeliveries}${since}`,
    `Deliveries failed: ${work.failedDeliveries}`,
  ];
}
