// Keeps what a watch remembers: what was used lately in memory, the rest in a file that nobody else can open.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { DatabaseSync, type StatementSync } from "node:sqlite";

/** Keys are hashes of 52 bits. Values are JSON, and may be changed until evicted. */
export type Store<T> = {
  get(key: number): T | undefined;
  /** Remembers a value, or that it was changed. */
  set(key: number, value: T): void;
  /** Deletes the file. */
  close(): void;
};

export type StoreOptions = {
  directory?: string | undefined;
  /** How many values are in memory before the older half is written to the file. */
  mostInMemory?: number;
};

type Entry<T> = { value: T; isChanged: boolean };
type File = { database: DatabaseSync; read: StatementSync; write: StatementSync; close(): void };

/** Tells keys that were never written from those that may have been, so that new keys need no read. */
class Filter {
  private readonly words = new Uint32Array(2 ** 22);
  private places = (key: number) => [1, 2 ** 12, 2 ** 24].map((divisor) => Math.floor(key / divisor) % 2 ** 27);
  add(key: number) {
    for (const place of this.places(key)) this.words[place >>> 5]! |= 1 << (place & 31);
  }
  mayHave(key: number) {
    return this.places(key).every((place) => ((this.words[place >>> 5]! >>> (place & 31)) & 1) === 1);
  }
}

function openFile(directory: string): File {
  const folder = mkdtempSync(join(directory, "certify-watch-"));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  try {
    const database = new DatabaseSync(join(folder, "memory.sqlite"));
    database.exec(
      "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE; PRAGMA cache_size=-16000",
    );
    database.exec("CREATE TABLE memory (key INTEGER PRIMARY KEY, value TEXT)");
    // The open file stays usable, and disappears with this process, however it ends.
    if (process.platform !== "win32") remove();
    const read = database.prepare("SELECT value FROM memory WHERE key = ?");
    const write = database.prepare("INSERT OR REPLACE INTO memory VALUES (?, ?)");
    return { database, read, write, close: () => (database.close(), remove()) };
  } catch (error) {
    remove();
    throw error;
  }
}

/**
 * Creates a store. A full disk makes it forget what is on it.
 * @param forgot is called with the number of lost values, and why
 */
export function createStore<T>(
  { directory = tmpdir(), mostInMemory = 30_000 }: StoreOptions,
  forgot: (count: number, why: string) => void,
): Store<T> {
  let file: File | undefined;
  let filter: Filter | undefined;
  let written = 0;
  let recent = new Map<number, Entry<T>>();
  let older = new Map<number, Entry<T>>();

  function lose(count: number, error: unknown) {
    forgot(count + written, error instanceof Error ? error.message : String(error));
    try {
      file?.close();
    } catch {
      // The file is unlinked: it disappears anyway.
    }
    file = filter = undefined;
    written = 0;
  }

  function write(entries: Map<number, Entry<T>>) {
    // In the order of the file, so that neighbours are written together.
    const changed = [...entries].filter(([, { isChanged }]) => isChanged).toSorted(([a], [b]) => a - b);
    try {
      file ??= openFile(directory);
      filter ??= new Filter();
      file.database.exec("BEGIN");
      for (const [key, { value }] of changed) file.write.run(key, JSON.stringify(value));
      file.database.exec("COMMIT");
      for (const [key] of changed) filter.add(key);
      written += changed.length;
    } catch (error) {
      lose(changed.length, error);
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
    if (!file || !filter?.mayHave(key)) return undefined;
    try {
      const row = file.read.get(key) as { value: string } | undefined;
      return row && { value: JSON.parse(row.value) as T, isChanged: false };
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
    close() {
      file?.close();
      file = filter = undefined;
    },
  };
}
