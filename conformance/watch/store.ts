// Keeps what a watch remembers: what was used lately in memory, the rest in a file that has no name.
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { setFlagsFromString } from "node:v8";

/** Keys are hashes of 52 bits. Values are JSON, and may be changed until evicted. */
export type Store<T> = {
  get(key: number): T | undefined;
  /** Remembers a value, or that it was changed. */
  set(key: number, value: T): void;
  close(): void;
};

export type StoreOptions = {
  /** How many values are in memory before the older half is written to the file. The default is 10000. */
  mostInMemory?: number;
  /** How many bytes the file may have. By default the disk is the limit. */
  mostOnDisk?: number;
};

/** Makes V8 collect garbage before it is several times what is in use. Call it before the process needs much memory. */
export function saveMemory(): void {
  for (const flag of ["--heap-growing-percent=30", "--semi-space-growth-factor=1"]) setFlagsFromString(flag);
}

/** Of which size tables are. They fit into SQLite's cache, so writing stays quick however much is remembered. */
const rowsOfTable = 60_000;
const cacheKilobytes = 32_000;
const pageBytes = 4096;
const filterBits = 2 ** 27;

/** Opens a temporary database in the folder of TMPDIR. SQLite deletes its file at once, and goes on using it. */
function openFile(mostOnDisk: number) {
  const database = new DatabaseSync("");
  database.exec(`PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA cache_size=-${cacheKilobytes}`);
  database.exec(`PRAGMA max_page_count=${Math.floor(mostOnDisk / pageBytes)}; BEGIN`);
  /** The newest first. */
  const tables: { insert: StatementSync; select: StatementSync }[] = [];
  // Tells new keys from those that were written, so that new keys need no read.
  const filter = new Uint8Array(filterBits / 8);
  const placesOf = (key: number) => [0, 12, 25].map((shift) => Math.floor(key / 2 ** shift) % filterBits);
  let written = 0;

  function addTable() {
    const name = `memory${tables.length}`;
    database.exec(`COMMIT; CREATE TABLE ${name} (key INTEGER PRIMARY KEY, value TEXT); BEGIN`);
    const insert = database.prepare(`INSERT OR REPLACE INTO ${name} VALUES (?, ?)`);
    tables.unshift({ insert, select: database.prepare(`SELECT value FROM ${name} WHERE key = ?`) });
  }

  return {
    get written() {
      return written;
    },
    read(key: number): string | undefined {
      if (!placesOf(key).every((place) => (filter[place >>> 3]! >>> (place & 7)) & 1)) return undefined;
      for (const { select } of tables) {
        const row = select.get(key) as { value: string } | undefined;
        if (row) return row.value;
      }
      return undefined;
    },
    write(values: Map<number, unknown>) {
      if (written >= tables.length * rowsOfTable) addTable();
      for (const [key, value] of values) {
        tables[0]!.insert.run(key, JSON.stringify(value));
        for (const place of placesOf(key)) filter[place >>> 3]! |= 1 << (place & 7);
      }
      written += values.size;
    },
    close: () => database.close(),
  };
}

/**
 * Creates a store. A full disk makes it forget what is on it.
 * @param forgot is called with the number of lost values, and why
 */
export function createStore<T>(
  { mostInMemory = 10_000, mostOnDisk = 2 ** 43 }: StoreOptions,
  forgot: (count: number, why: string) => void,
): Store<T> {
  let file: ReturnType<typeof openFile> | undefined;
  let recent = new Map<number, T>();
  let older = new Map<number, T>();

  /** Does something with the file. Returns undefined if that fails. */
  function using<R>(count: number, what: (opened: ReturnType<typeof openFile>) => R): R | undefined {
    try {
      return what((file ??= openFile(mostOnDisk)));
    } catch (error) {
      forgot(count + (file?.written ?? 0), (error as Error).message);
      file?.close();
      file = undefined;
      return undefined;
    }
  }

  function set(key: number, value: T) {
    older.delete(key);
    recent.set(key, value);
    if (recent.size < mostInMemory / 2) return;
    const evicted = older;
    older = recent;
    recent = new Map();
    if (evicted.size > 0) using(evicted.size, ({ write }) => write(evicted));
  }

  return {
    get(key) {
      const latest = recent.get(key);
      if (latest !== undefined) return latest;
      const text = older.has(key) ? undefined : file && using(0, ({ read }) => read(key));
      const value = older.get(key) ?? (text === undefined ? undefined : (JSON.parse(text) as T));
      if (value !== undefined) set(key, value);
      return value;
    },
    set,
    close: () => file?.close(),
  };
}
