// Keeps what a watch remembers: what was used lately in memory, the rest in a file that nobody else can open.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { DatabaseSync, type StatementSync } from "node:sqlite";

/** A table in memory and on disk. Keys are hashes of 52 bits. Values are JSON, and may be changed until evicted. */
export type Table<T> = {
  get(key: number): T | undefined;
  set(key: number, value: T): void;
  /** Notes that the value was changed. */
  changed(key: number): void;
};

export type StoreOptions = {
  directory?: string | undefined;
  /** How many entries of a table are in memory before the older half is written to the file. */
  mostInMemory?: number;
};

type Entry<T> = { value: T; isChanged: boolean };

const filterBits = 27;

const divisors = [1, 2 ** 12, 2 ** 24];
const placeOf = (key: number, divisor: number) => Math.floor(key / divisor) % 2 ** filterBits;

/** Tells keys that were never written from those that may have been, so that new keys need no read. */
function createFilter() {
  let words: Uint32Array | undefined;
  const has = (place: number) => ((words![place >>> 5]! >>> (place & 31)) & 1) === 1;
  return {
    add(key: number) {
      words ??= new Uint32Array(2 ** (filterBits - 5));
      for (const divisor of divisors) words[placeOf(key, divisor) >>> 5]! |= 1 << (placeOf(key, divisor) & 31);
    },
    mayHave: (key: number) => words !== undefined && divisors.every((divisor) => has(placeOf(key, divisor))),
    clear: () => words?.fill(0),
  };
}

type File = { database: DatabaseSync; written: number; close(): void };

function openFile(directory: string, tables: readonly string[]): File {
  const folder = mkdtempSync(join(directory, "certify-watch-"));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  try {
    const database = new DatabaseSync(join(folder, "memory.sqlite"));
    database.exec(
      "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE; PRAGMA cache_size=-16000",
    );
    for (const table of tables) database.exec(`CREATE TABLE ${table} (key INTEGER PRIMARY KEY, value TEXT)`);
    // The open file stays usable, and disappears with this process, however it ends.
    if (process.platform !== "win32") remove();
    return { database, written: 0, close: () => (database.close(), remove()) };
  } catch (error) {
    remove();
    throw error;
  }
}

/**
 * Creates tables. A full disk makes them forget what is on it.
 * @param forgot is called with the number of lost entries, and why
 */
export function createStore(
  { directory = tmpdir(), mostInMemory = 15_000 }: StoreOptions,
  forgot: (count: number, why: string) => void,
) {
  const names: string[] = [];
  let file: File | undefined;
  const resets: (() => void)[] = [];

  function lose(count: number, error: unknown) {
    forgot(count + (file?.written ?? 0), error instanceof Error ? error.message : String(error));
    try {
      file?.close();
    } catch {
      // The file is unlinked: it disappears anyway.
    }
    file = undefined;
    for (const reset of resets) reset();
  }

  function table<T>(name: string): Table<T> {
    names.push(name);
    const filter = createFilter();
    let recent = new Map<number, Entry<T>>();
    let older = new Map<number, Entry<T>>();
    let statements: { read: StatementSync; write: StatementSync } | undefined;
    resets.push(() => {
      statements = undefined;
      filter.clear();
    });

    function write(entries: Map<number, Entry<T>>) {
      const changed = [...entries].filter(([, { isChanged }]) => isChanged);
      // In the order of the file, so that neighbours are written together.
      const rows = changed.toSorted(([a], [b]) => a - b);
      try {
        file ??= openFile(directory, names);
        const { database } = file;
        statements ??= {
          read: database.prepare(`SELECT value FROM ${name} WHERE key = ?`),
          write: database.prepare(`INSERT OR REPLACE INTO ${name} VALUES (?, ?)`),
        };
        database.exec("BEGIN");
        for (const [key, { value }] of rows) statements.write.run(key, JSON.stringify(value));
        database.exec("COMMIT");
        for (const [key] of rows) filter.add(key);
        file.written += rows.length;
      } catch (error) {
        lose(rows.length, error);
      }
    }

    function keep(key: number, entry: Entry<T>) {
      recent.set(key, entry);
      if (recent.size < mostInMemory / 2) return;
      // From here on there is much to remember. V8 would let garbage grow to twice what is in use.
      setFlagsFromString("--optimize-for-size");
      const evicted = older;
      older = recent;
      recent = new Map();
      if (evicted.size > 0) write(evicted);
    }

    function read(key: number): Entry<T> | undefined {
      if (!statements || !filter.mayHave(key)) return undefined;
      try {
        const row = statements.read.get(key) as { value: string } | undefined;
        return row && { value: JSON.parse(row.value) as T, isChanged: false };
      } catch (error) {
        lose(0, error);
        return undefined;
      }
    }

    function find(key: number): Entry<T> | undefined {
      const latest = recent.get(key);
      if (latest) return latest;
      const entry = older.get(key) ?? read(key);
      if (!entry) return undefined;
      older.delete(key);
      keep(key, entry);
      return entry;
    }

    return {
      get: (key) => find(key)?.value,
      set: (key, value) => {
        older.delete(key);
        keep(key, { value, isChanged: true });
      },
      changed(key) {
        const entry = find(key);
        if (entry) entry.isChanged = true;
      },
    };
  }

  return {
    table,
    close() {
      file?.close();
      file = undefined;
      for (const reset of resets) reset();
    },
  };
}
