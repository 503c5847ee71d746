import { execFileSync } from "node:child_process";
import { closeSync, openSync, mkdtempSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const run = (command: string, ...args: string[]) => execFileSync(command, args, { stdio: "pipe" });

/** Returns a disk of a few megabytes, or undefined if this process may not mount one: that needs Linux and root. */
export function mountSmallDisk() {
  const folder = mkdtempSync(join(tmpdir(), "small-disk-"));
  try {
    run("mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", folder);
  } catch {
    rmSync(folder, { recursive: true });
    return undefined;
  }
  const filler = join(folder, "filler");
  return {
    /** The folder at which it is mounted. */
    folder,
    /** Uses up all space of the disk. */
    fill() {
      const file = openSync(filler, "w");
      try {
        for (;;) writeSync(file, Buffer.alloc(65_536, 1));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
      } finally {
        closeSync(file);
      }
    },
    /** Gives the space back that `fill` has used up. */
    empty: () => rmSync(filler),
    close() {
      run("umount", folder);
      rmSync(folder, { recursive: true });
    },
  };
}
