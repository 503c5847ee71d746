// Keeps what a watch remembers: what was used lately in memory, the rest in a file that has no name.
import { DatabaseSync } from "node:sqlite";
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

type Entry<T> = { value: T; isChanged: boolean };

/** From this size on, the process saves memory rather than time. */
const largeBytes = 150e6;
const pageBytes = 4096;
const filterBits = 2 ** 27;

/** Opens a temporary database in the folder of TMPDIR. SQLite deletes its file at once, and goes on using it. */
function openFile(mostOnDisk: number) {
  const database = new DatabaseSync("");
  database.exec("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA cache_size=-16000");
  database.exec("CREATE TABLE memory (key INTEGER PRIMARY KEY, value TEXT)");
  database.exec(`PRAGMA max_page_count=${Math.floor(mostOnDisk / pageBytes)}`);
  const select = database.prepare("SELECT value FROM memory WHERE key = ?");
  const insert = database.prepare("INSERT OR REPLACE INTO memory VALUES (?, ?)");
  // Tells new keys from those that may have been written, so that new keys need no read.
  const filter = new Uint8Array(filterBits / 8);
  let written = 0;
  return {
    get written() {
      return written;
    },
    read(key: number): string | undefined {
      const place = key % filterBits;
      const mayHave = ((filter[place >>> 3]! >>> (place & 7)) & 1) === 1;
      return mayHave ? (select.get(key) as { value: string } | undefined)?.value : undefined;
    },
    write(rows: [key: number, value: unknown][]) {
      database.exec("BEGIN");
      for (const [key, value] of rows) {
        insert.run(key, JSON.stringify(value));
        filter[(key % filterBits) >>> 3]! |= 1 << (key & 7);
      }
      database.exec("COMMIT");
      written += rows.length;
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
  let recent = new Map<number, Entry<T>>();
  let older = new Map<number, Entry<T>>();

  function lose(count: number, error: unknown) {
    forgot(count + (file?.written ?? 0), (error as Error).message);
    file?.close();
    file = undefined;
  }

  function write(entries: Map<number, Entry<T>>) {
    const changed = [...entries].flatMap(([key, { value, isChanged }]) =>
      isChanged ? [[key, value] as [number, T]] : [],
    );
    try {
      file ??= openFile(mostOnDisk);
      // In the order of the file, so that neighbours are written together.
      file.write(changed.toSorted(([a], [b]) => a - b));
    } catch (error) {
      lose(changed.length, error);
    }
  }

  function keep(key: number, entry: Entry<T>) {
    recent.set(key, entry);
    if (recent.size < mostInMemory / 2) return;
    // V8 would let garbage grow to twice what is in use.
    const isLarge = process.memoryUsage.rss() > largeBytes;
    setFlagsFromString(isLarge ? "--optimize-for-size" : "--no-optimize-for-size");
    const evicted = older;
    older = recent;
    recent = new Map();
    if (evicted.size > 0) write(evicted);
  }

  function read(key: number): Entry<T> | undefined {
    try {
      const text = file?.read(key);
      return text === undefined ? undefined : { value: JSON.parse(text) as T, isChanged: false };
    } catch (error) {
      lose(0, error);
      return undefined;
    }
  }

  return {
    get(key) {
      const latest = recent.get(key);
      if (latest) return latest.value;
      const entry = older.get(key) ?? read(key);
      if (!entry) return undefined;
      older.delete(key);
      keep(key, entry);
      return entry.value;
    },
    set(key, value) {
      older.delete(key);
      keep(key, { value, isChanged: true });
    },
    close: () => file?.close(),
  };
}
