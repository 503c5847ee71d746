import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { checkPostgres } from "../../server/storage/postgres/tools.ts";
import { checkSqlite } from "../../server/storage/sqlite/tools.ts";
import type { Checked } from "../../server/storage/status.ts";
import { startOwnPostgres } from "../../server/testing/own-postgres.ts";

/** An empty database of its own for an experiment. */
export interface Database {
  url: string;
  /** Reads everything that is stored, and every index, and proves the books. @throws Error that says what is wrong */
  check(): Promise<void>;
  /** Deletes the database. */
  close(): Promise<void>;
}

export type Storage = "sqlite" | "postgres";

export const DATABASES: Record<Storage, () => Promise<Database>> = {
  sqlite: async () => sqliteDatabase(),
  postgres: async () => postgresDatabase(await startOwnPostgres("durable")),
};

function requireSound({ findings }: Checked): void {
  if (findings.length > 0) throw new Error(findings.join(" "));
}

function sqliteDatabase(): Database {
  const folder = mkdtempSync(join(tmpdir(), "lab-"));
  const file = join(folder, "server.db");
  return {
    url: `sqlite:${file}`,
    async check() {
      requireSound(checkSqlite(file));
    },
    close: async () => rmSync(folder, { recursive: true }),
  };
}

/** Compares each index with its table; fails if an index is damaged or lacks a row. */
const CHECK_INDEXES = `SELECT bt_index_check(index => i.indexrelid, heapallindexed => true)
  FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
  WHERE c.relnamespace = 'public'::regnamespace AND i.indisvalid`;
const CHECK_TABLES = `SELECT * FROM pg_class c CROSS JOIN LATERAL verify_heapam(relation => c.oid)
  WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace`;

/** @param postgres `run` of its present server; a failover may change the server */
export function postgresDatabase(postgres: {
  url: string;
  run(sql: string): Promise<unknown[]>;
  close(): Promise<void>;
}): Database {
  return {
    url: postgres.url,
    async check() {
      await postgres.run("CREATE EXTENSION IF NOT EXISTS amcheck");
      await postgres.run(CHECK_INDEXES);
      const damages = await postgres.run(CHECK_TABLES);
      if (damages.length > 0) throw new Error(JSON.stringify(damages));
      requireSound(await checkPostgres(postgres.url));
    },
    close: () => postgres.close(),
  };
}

export const fileOf = (database: Database): string => database.url.slice("sqlite:".length);
