import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import type { Cursor } from "./follow.ts";

/**
 * The file in which `listen` keeps its cursor.
 * @param what the server, the API key, the receiver and the chosen events: none may move the cursor of another
 */
export function cursorPath({ XDG_STATE_HOME: state }: NodeJS.ProcessEnv, ...what: string[]): string {
  const name = createHash("sha256").update(what.join("\n")).digest("hex").slice(0, 32);
  return join(state || join(homedir(), ".local", "state"), "disbursement-checkout", `listen-${name}`);
}

/** A cursor in a file that survives a crash of this program. */
export function cursorFile(path: string): Cursor {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  return {
    read() {
      try {
        return readFileSync(path, "utf8");
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
        throw error;
      }
    },
    write(id) {
      const temporary = `${path}.new`;
      writeFileSync(temporary, id, { mode: 0o600, flush: true });
      renameSync(temporary, path);
    },
  };
}
