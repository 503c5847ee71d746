import { fstatSync, openSync, readSync, statSync } from "node:fs";

/**
 * What the `-shm` file says about the write-ahead log
 * (https://www.sqlite.org/walformat.html#the_wal_index_file_format).
 */
export interface WalIndex {
  /** The salts of the log's frames, which differ after each restart of the log. */
  salts: Buffer;
  /** The checksum of the last committed frame. */
  checksum: readonly [number, number];
  /** The number of committed frames. */
  frames: number;
  pageSize: number;
  /** The number of frames that checkpoints have copied into the database file. */
  copied: number;
  /** The number of frames that the last checkpoint has begun to copy. */
  copying: number;
}

const HEADER = 48;
const LENGTH = 136;
const MOST_ATTEMPTS = 100;
const IS_LITTLE_ENDIAN = new Uint8Array(new Uint32Array([1]).buffer)[0] === 1;

export interface WalIndexReader {
  /** Undefined if the file is no index, or changed during each attempt. */
  read(): WalIndex | undefined;
}

/**
 * The open files by device and inode. A file is never closed: the operating system would then drop every lock of this
 * process on it, also the locks of SQLite (https://www.sqlite.org/howtocorrupt.html#_posix_advisory_locks_canceled).
 */
const opened = new Map<string, number>();

export function openWalIndex(path: string): WalIndexReader {
  const file = descriptorOf(path);
  const bytes = Buffer.alloc(LENGTH);
  const long = (at: number) => (IS_LITTLE_ENDIAN ? bytes.readUInt32LE(at) : bytes.readUInt32BE(at));
  const short = (at: number) => (IS_LITTLE_ENDIAN ? bytes.readUInt16LE(at) : bytes.readUInt16BE(at));

  function read(): WalIndex | undefined {
    for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt += 1) {
      if (readSync(file, bytes, 0, LENGTH, 0) < LENGTH) return undefined;
      // The header is stored twice, so that a reader notices a header that is just being written.
      if (bytes.compare(bytes, 0, HEADER, HEADER, 2 * HEADER) !== 0) continue;
      const size = short(14);
      return {
        salts: Buffer.from(bytes.subarray(32, 40)),
        checksum: [long(24), long(28)],
        frames: long(16),
        pageSize: size === 1 ? 65_536 : size,
        copied: long(96),
        copying: long(128),
      };
    }
    return undefined;
  }
  return { read };
}

function descriptorOf(path: string): number {
  const known = opened.get(identityOf(statSync(path)));
  if (known !== undefined) return known;
  const descriptor = openSync(path, "r");
  opened.set(identityOf(fstatSync(descriptor)), descriptor);
  return descriptor;
}

const identityOf = ({ dev, ino }: { dev: number; ino: number }) => `${dev}:${ino}`;
