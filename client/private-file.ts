import { constants, open } from "node:fs/promises";
import type { FileHandle } from "node:fs/promises";
import { UsageError } from "./errors.ts";

/**
 * Opens a file to read and append, creates it if it does not exist, and keeps other users out. A symbolic link is not followed,
 * because another user may have put it there.
 */
export async function openPrivately(path: string): Promise<FileHandle> {
  const { O_APPEND, O_CREAT, O_NOFOLLOW = 0, O_RDWR } = constants;
  const file = await open(path, O_APPEND | O_CREAT | O_NOFOLLOW | O_RDWR, 0o600).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code !== "ELOOP") throw error;
    throw new UsageError(`${path} is a symbolic link. Name the file that it leads to, or remove it.`);
  });
  const { mode } = await file.stat();
  if ((mode & 0o077) === 0 || process.platform === "win32") return file;
  try {
    await file.chmod(0o600);
  } catch {
    await file.close();
    throw new UsageError(`Other users of this machine have access to ${path}. As its owner, run: chmod 600 ${path}`);
  }
  return file;
}
