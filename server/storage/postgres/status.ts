import type { Client } from "pg";
import { toWork, workQuery, type DatabaseStatus, type PostgresPlace } from "../status.ts";
import { APPLICATION, withConnection } from "./connections.ts";
import { schemaOf } from "./migrate.ts";

/**
 * Reads the status of a database, also while servers use it.
 * @throws StorageError if it cannot be opened, or a newer server or another program made it
 */
export function postgresStatus(url: string): Promise<DatabaseStatus> {
  return withConnection(url, async (client) => {
    const schema = await schemaOf(client);
    const size = await client.query<{ bytes: number }>("SELECT pg_database_size(current_database()) AS bytes");
    const isCurrent = schema.pending.length === 0;
    return {
      place: await placeOf(client),
      schema,
      bytes: size.rows[0]!.bytes,
      ...(isCurrent && { work: toWork((await client.query(WORK)).rows[0]) }),
    };
  });
}

const WORK = workQuery({ ready: "r.ready", now: "floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint" });

interface Row extends Record<"most" | "server" | "service", number> {
  database: string;
  version: string;
}

async function placeOf(client: Client): Promise<PostgresPlace> {
  const { rows } = await client.query<Row>(
    `SELECT current_database()::text AS database, current_setting('server_version') AS version,
       current_setting('max_connections')::bigint AS most, count(*) AS server,
       count(*) FILTER (WHERE application_name = $1 AND datname = current_database() AND pid <> pg_backend_pid())
         AS service
     FROM pg_stat_activity WHERE datid IS NOT NULL`,
    [APPLICATION],
  );
  const { database, version, most, server, service } = rows[0]!;
  const { host, port } = client;
  return { storage: "postgres", host, port, database, serverVersion: version, connections: { service, server, most } };
}
