import { execFileSync, spawnSync } from "node:child_process";
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, truncateSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const SIZE = 16 * 1024 * 1024;

export type SmallDisk = NonNullable<ReturnType<typeof mountSmallDisk>>;

/**
 * Returns a small disk with a file system of its own, or undefined if this process may not mount one: that needs Linux,
 * root and a loop device.
 */
export function mountSmallDisk() {
  const base = mkdtempSync(join(tmpdir(), "small-disk-"));
  const [image, folder] = [join(base, "image"), join(base, "disk")];
  const mount = () => run("mount", "-o", "loop", image, folder);
  const unmount = () => run("umount", folder);
  try {
    closeSync(openSync(image, "w"));
    truncateSync(image, SIZE);
    mkdirSync(folder);
    run("mkfs.ext4", "-q", image);
    mount();
  } catch {
    rmSync(base, { recursive: true });
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
        for (let size = 65_536; size >= 512; size /= 2) writeUntilFull(file, size);
      } finally {
        closeSync(file);
      }
    },
    /** Gives the space back that `fill` has used up. */
    empty: () => rmSync(filler),
    /** Makes the disk read-only while its files are open, as the operating system does after an error of the disk. */
    breakDown: () => run("mount", "-o", "remount,abort", folder),
    /** Unmounts the disk, repairs its file system and mounts the disk again. No file on it may be open. */
    repair() {
      unmount();
      const { status } = spawnSync("e2fsck", ["-p", "-f", image]);
      // Exit code 1: errors were found and corrected.
      if (status !== 0 && status !== 1) throw new Error(`e2fsck ended with ${status}.`);
      mount();
    },
    close() {
      unmount();
      rmSync(base, { recursive: true });
    },
  };
}

const run = (command: string, ...args: string[]) => execFileSync(command, args, { stdio: "pipe" });

function writeUntilFull(file: number, size: number) {
  const bytes = Buffer.alloc(size, 1);
  try {
    while (writeSync(file, bytes) === size);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
  }
}
