import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "pg";
import { checkPostgres } from "../../server/storage/postgres/tools.ts";
import { checkSqlite } from "../../server/storage/sqlite/tools.ts";
import type { DatabaseAddress } from "../../server/storage/open.ts";
import type { Checked } from "../../server/storage/status.ts";
import { startOwnPostgres, type OwnPostgres } from "../../server/testing/own-postgres.ts";

/** A database that only one experiment uses, empty at first. */
export interface Database {
  url: string;
  address: DatabaseAddress;
  /** The server of the database, if it can be disturbed. */
  postgres?: OwnPostgres;
  /** Checks all rows and indexes, and that the books balance. @throws Error that says what is wrong */
  check(): Promise<void>;
  /** Deletes the database. */
  close(): Promise<void>;
}

export type Storage = "sqlite" | "postgres";

export const DATABASES: Record<Storage, () => Promise<Database>> = {
  async sqlite() {
    const folder = mkdtempSync(join(tmpdir(), "lab-"));
    const path = join(folder, "server.db");
    return {
      url: `sqlite:${path}`,
      address: { kind: "sqlite", path },
      check: async () => requireSound(checkSqlite(path)),
      close: async () => rmSync(folder, { recursive: true }),
    };
  },
  async postgres() {
    const postgres = await startOwnPostgres("durable");
    return { ...postgresDatabase(postgres), postgres };
  },
};

function requireSound({ findings }: Checked): void {
  if (findings.length > 0) throw new Error(findings.join(" "));
}

/** Compares each index with its table; fails if an index is damaged or lacks a row. */
const CHECK_INDEXES = `SELECT bt_index_check(index => i.indexrelid, heapallindexed => true)
  FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
  WHERE c.relnamespace = 'public'::regnamespace AND i.indisvalid`;
const CHECK_TABLES = `SELECT * FROM pg_class c CROSS JOIN LATERAL verify_heapam(relation => c.oid)
  WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace`;

/** @param postgres `run` must go to the current primary, because a failover may change it */
export function postgresDatabase({ url, run, close }: Pick<OwnPostgres, "url" | "run" | "close">): Database {
  return {
    url,
    address: { kind: "postgres", url },
    async check() {
      await run("CREATE EXTENSION IF NOT EXISTS amcheck");
      await run(CHECK_INDEXES);
      const damages = await run(CHECK_TABLES);
      if (damages.length > 0) throw new Error(JSON.stringify(damages));
      requireSound(await checkPostgres(url));
    },
    close,
  };
}

export async function connected<T>(url: string, use: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client(url).on("error", () => undefined);
  await client.connect();
  return use(client).finally(() => client.end());
}
