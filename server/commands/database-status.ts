import { timestamp } from "../domain/representation.ts";
import type { Mode } from "../domain/mode.ts";
import { readMode, readStatus } from "../storage/open.ts";
import type { DatabaseStatus, PostgresPlace, SqlitePlace, WaitingWork } from "../storage/status.ts";
import type { Output } from "./command.ts";
import type { DatabaseContext } from "./command-context.ts";

export async function status({ database, clock }: DatabaseContext): Promise<Output> {
  const found = await readStatus(database, clock.now());
  const { mode } = await readMode(database);
  return { lines: linesOf(found, mode), json: { ...view(found), ...(mode && { mode }) } };
}

function view({ place, schema, bytes, work }: DatabaseStatus) {
  const { oldestDueAt, ...counts } = work ?? {};
  const oldest = oldestDueAt === undefined ? {} : { oldestDueAt: timestamp(oldestDueAt) };
  const { version, pending } = schema;
  return {
    ...place,
    version,
    pendingMigrations: pending,
    bytes,
    ...(work && { work: { ...counts, ...oldest } }),
  };
}

function linesOf({ place, schema, bytes, work }: DatabaseStatus, mode: Mode | undefined): string[] {
  const { version, pending } = schema;
  return [
    ...placeLines(place),
    `Mode: ${mode ?? "not decided; the first server decides it"}`,
    `Version: ${version}${pending.length === 0 ? "" : `; pending migrations: ${pending.join(", ")}`}`,
    `Size: ${(bytes / 1024 / 1024).toFixed(1)} MiB`,
    ...(work ? workLines(work) : ["Payouts and deliveries: shown after `db migrate`"]),
  ];
}

function placeLines(place: SqlitePlace | PostgresPlace): string[] {
  if (place.storage === "sqlite") {
    return [`SQLite: ${place.file}`, place.inUse ? "A server is using it." : "No server is using it."];
  }
  const { host, port, database, serverVersion, connections } = place;
  const { service, server, most } = connections;
  return [
    `PostgreSQL ${serverVersion}: ${database} at ${host}:${port}`,
    `Connections: ${service} of this service; ${server} of ${most} on the server`,
  ];
}

function workLines(work: WaitingWork): string[] {
  const { oldestDueAt } = work;
  const since = oldestDueAt === undefined ? "" : `, the oldest since ${timestamp(oldestDueAt)}`;
  return [
    `Pending: ${work.pendingPayouts} payouts, ${work.pendingCheckouts} checkouts, ${work.pendingDeliveries} deliveries`,
    `Deliveries due: ${work.dueDeliveries}${since}`,
    `Deliveries failed: ${work.failedDeliveries}`,
  ];
}
