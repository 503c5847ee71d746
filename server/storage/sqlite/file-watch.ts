import { closeSync, openSync, readSync, realpathSync, statSync, type Stats } from "node:fs";
import { openWalIndex, type WalIndex } from "./wal-index.ts";

/** The harm that another program has done to the files of a database. */
export type Harm = "moved" | "index-moved" | "changed" | "log-changed";

/** The pages of the write-ahead log. */
export interface LogPages {
  all: number;
  /** Those that are not yet in the database file. */
  uncopied: number;
}

export interface FileWatch {
  /** Looks at the names, sizes and times of the files, and at the last frame of the log. It takes some microseconds. */
  look(): Harm | undefined;
  /** The log at the last look. */
  log(): LogPages;
  /** Call it after the database was closed. */
  close(): void;
}

/**
 * Notices changes that SQLite does not notice: while a database is open, SQLite trusts that its files change only
 * through SQLite. The first harm is kept, because no later observation can undo it.
 * @param path a database in WAL mode that this process has read
 */
export function watchFiles(path: string): FileWatch {
  const file = realpathSync(path);
  const [log, index] = [`${file}-wal`, `${file}-shm`] as const;
  const { read } = openWalIndex(index);
  const before = read();
  const first = { main: statOf(path), log: statOf(log), index: statOf(index) };
  const isMainForeign = watchMain({ state: first.main, index: before }, read);
  const end = watchLog(log, read);
  let harm: Harm | undefined;
  let last = before;

  // Each commit waits for two looks. If there was no change, a look reads the index once and the file's state once.
  function find(): Harm | undefined {
    const now = read();
    const main = statOf(path);
    if (!isSame(main, first.main) || !isSame(statOf(log), first.log)) return "moved";
    if (!isSame(statOf(index), first.index)) return "index-moved";
    // Another process is rewriting the index.
    if (!now) return undefined;
    last = now;
    if (isMainForeign({ state: main, index: now })) return "changed";
    return end.isForeign(now) ? "log-changed" : undefined;
  }
  return {
    look: () => (harm ??= find()),
    log: () => ({ all: last?.frames ?? 0, uncopied: last ? last.frames - last.copied : 0 }),
    close: end.close,
  };
}

type ReadIndex = () => WalIndex | undefined;

/** The state of the database file, and the index that was read before the file had this state. */
interface Known {
  state: Stats | undefined;
  index: WalIndex | undefined;
}

/**
 * The database file changes only when a checkpoint copies frames of the log into it, and the `-shm` file tells of each
 * checkpoint, whichever process makes it. Any other change comes from a program that does not use SQLite.
 * @returns a function that tells whether there was such a change since its last call
 */
function watchMain(known: Known, read: ReadIndex): (now: Known & { index: WalIndex }) => boolean {
  let copying = false;

  /** True if a checkpoint has ended or begun since the last look, or is in progress. */
  function isCheckpointed(now: WalIndex): boolean {
    const { index } = known;
    if (!index || now.copied !== index.copied || !now.salts.equals(index.salts)) {
      copying = false;
      return true;
    }
    // After a crash the two numbers may differ although no checkpoint is in progress.
    if (now.copying !== index.copying) copying = now.copying !== now.copied;
    return copying || now.copying !== index.copying;
  }

  return (now) => {
    const isChanged = !isUnchanged(now.state, known.state);
    // Another process may have ended a checkpoint since the index was read.
    const after = isChanged ? read() : now.index;
    // Another process is rewriting the index.
    if (!after) return false;
    const isExplained = [now.index, after].map(isCheckpointed).includes(true);
    known = now;
    return isChanged && !isExplained;
  };
}

const LOG_HEADER = 32;
const FRAME_HEADER = 24;

/** Checks that the last frame of the log has the salts and the checksum that the `-shm` file states. */
function watchLog(path: string, read: ReadIndex) {
  const log = openSync(path, "r");
  const frame = Buffer.alloc(FRAME_HEADER);

  function isForeign({ frames, pageSize, salts, checksum }: WalIndex): boolean {
    if (frames === 0) return false;
    const at = LOG_HEADER + (frames - 1) * (FRAME_HEADER + pageSize);
    if (readSync(log, frame, 0, FRAME_HEADER, at) < FRAME_HEADER) return true;
    const isEqual = frame.readUInt32BE(16) === checksum[0] && frame.readUInt32BE(20) === checksum[1];
    return !isEqual || frame.compare(salts, 0, salts.length, 8, 16) !== 0;
  }

  return {
    isForeign(before: WalIndex) {
      if (!isForeign(before)) return false;
      // Another process may have restarted the log in between.
      const after = read();
      return after !== undefined && after.frames === before.frames && after.salts.equals(before.salts);
    },
    close: () => closeSync(log),
  };
}

const statOf = (path: string) => statSync(path, { throwIfNoEntry: false });
const isSame = (a: Stats | undefined, b: Stats | undefined) => a?.ino === b?.ino && a?.dev === b?.dev;
/** True if the content is unchanged. Neither a backup program nor a change of a file's mode sets the time. */
const isUnchanged = (a: Stats | undefined, b: Stats | undefined) => a?.size === b?.size && a?.mtimeMs === b?.mtimeMs;
