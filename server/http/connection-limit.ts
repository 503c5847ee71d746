import { readFileSync } from "node:fs";

/** The file descriptors that the database, the log and webhooks in progress need besides client connections. */
const RESERVED = 32;
const LARGEST = 10_000;

/**
 * Returns how many client connections the process can hold: as many as its limit of open files leaves, and at most
 * 10,000. Only Linux shows that limit in a file.
 */
export function connectionLimit(limitsFile = "/proc/self/limits"): number {
  let text = "";
  try {
    text = readFileSync(limitsFile, "utf8");
  } catch {
    // Another operating system.
  }
  const files = Number(/^Max open files\s+(\d+)/m.exec(text)?.[1] ?? LARGEST + RESERVED);
  return Math.max(1, Math.min(LARGEST, files - Math.max(RESERVED, Math.ceil(files / 10))));
}
