import { createSystemClock, type Clock, type ClockReport } from "../../domain/clock.ts";
import type { Storage } from "../../domain/storage.ts";
import { openPostgres } from "../../storage/postgres/index.ts";
import { openSqlite } from "../../storage/sqlite/index.ts";
import { createTestDatabase, POSTGRES_SERVERS, type TestDatabase } from "../postgres.ts";
import { SECOND, START } from "./fixtures.ts";

export interface Process {
  storage: Storage;
  clock: Clock;
  reports: ClockReport[];
}

/** Processes and a database. A test sets their clocks. */
export interface World {
  /** The true time. */
  time(): number;
  /** How far the clocks are ahead of the true time. */
  ahead: { process: number; other: number; database: number };
  open(which: "process" | "other"): Promise<Process>;
  /** Lets time pass; each process compares its clock once per second. */
  pass(milliseconds: number): Promise<void>;
  /** Ends the processes, so that other processes can be opened. */
  end(): Promise<void>;
  /** Sets the clocks ahead by these amounts. */
  set(ahead: Partial<World["ahead"]>): Promise<void>;
}

/** Replaces PostgreSQL's clock with the test's. */
const DATABASE_CLOCK = `CREATE SCHEMA testing;
  CREATE TABLE testing.clock (ms bigint NOT NULL);
  INSERT INTO testing.clock VALUES (${START});
  CREATE FUNCTION testing.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE
    AS 'SELECT pg_catalog.to_timestamp(ms / 1000.0) FROM testing.clock'`;

/** Creates a database whose clock a test sets. The server is used for any number of worlds, one after the other. */
export async function createClockDatabase(): Promise<TestDatabase> {
  const database = await createTestDatabase(await POSTGRES_SERVERS.PostgreSQL!());
  await database.run(DATABASE_CLOCK);
  const name = new URL(database.url).pathname.slice(1);
  await database.run(`ALTER DATABASE ${name} SET search_path = public, testing, pg_catalog`);
  return database;
}

/** Creates a world with a database of `createClockDatabase`, which it empties. */
export async function createPostgresWorld({ url, run, empty }: TestDatabase): Promise<World> {
  const setClock = (ms: number) => run(`UPDATE testing.clock SET ms = ${ms}`);
  await empty();
  await setClock(START);
  return createWorld({ open: (clock) => openPostgres(url, { clock, server: true }), setClock });
}

/** Creates a world with a SQLite database, which only one process uses. `close` ends that process. */
export function createSqliteWorld(path: string): World {
  return createWorld({
    open: async (clock) => openSqlite(path, { clock, server: true }),
    setClock: async () => undefined,
  });
}

interface Place {
  open(clock: Clock): Promise<Storage>;
  setClock(ms: number): Promise<unknown>;
}

function createWorld({ open, setClock }: Place): World {
  let time = START;
  const ahead = { process: 0, other: 0, database: 0 };
  const processes: Process[] = [];
  const world: World = {
    time: () => time,
    ahead,
    async open(which) {
      const reports: ClockReport[] = [];
      const source = { wall: () => time + ahead[which], monotonic: () => time - START };
      const clock = createSystemClock((report) => void reports.push(report), source);
      const opened = { clock, reports, storage: await open(clock) };
      processes.push(opened);
      return opened;
    },
    async pass(milliseconds) {
      for (let left = milliseconds; left > 0; left -= SECOND) {
        time += Math.min(SECOND, left);
        await setClock(time + ahead.database);
        for (const { storage } of processes) await storage.ping();
      }
    },
    async set(changes) {
      Object.assign(ahead, changes);
      await setClock(time + ahead.database);
    },
    async end() {
      for (const { storage } of processes.splice(0)) await storage.close();
    },
  };
  return world;
}
