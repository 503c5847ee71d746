import { readFileSync } from "node:fs";

/**
 * The file descriptors that the process needs besides client connections: about 40 with PostgreSQL, and some for the
 * webhooks in progress. Without a free one, the system closes every new connection, also a merchant's.
 */
const RESERVED = 64;
const LARGEST = 10_000;

/**
 * Returns how many client connections the process can hold: as many as its limit of open files leaves, but at least
 * half of them, and at most 10,000. Only Linux shows that limit in a file.
 */
export function connectionLimit(limitsFile = "/proc/self/limits"): number {
  let text = "";
  try {
    text = readFileSync(limitsFile, "utf8");
  } catch {
    // Another operating system.
  }
  const files = Number(/^Max open files\s+(\d+)/m.exec(text)?.[1] ?? LARGEST + RESERVED);
  return Math.max(1, Math.min(LARGEST, files - Math.min(files / 2, Math.max(RESERVED, Math.ceil(files / 10)))));
}
