import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const script = fileURLToPath(new URL("postgres-process.ts", import.meta.url));

/**
 * PostgreSQL refuses to run as root. In a user namespace whose only user is root, such as `unshare -r` makes, there is
 * no other user, so PostgreSQL gets its own namespace. Returns the command that creates the namespace, or nothing on
 * other systems.
 */
function asOrdinaryUser(): string[] {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return [];
  const [, , users] = readFileSync("/proc/self/uid_map", "utf8").trim().split(/\s+/);
  return users === "1" ? ["unshare", "--user", "--map-user=1000", "--map-group=1000"] : [];
}

/**
 * Starts an empty PostgreSQL server, which ends with the standard input of its process.
 * @param settings whether commits wait for the disk; without this a crash of the server loses the latest commits
 */
export async function startPostgres(
  settings: "durable" | "fast" = "fast",
): Promise<{ url: string; child: ChildProcess }> {
  const [command, ...args] = [...asOrdinaryUser(), process.execPath, script, settings];
  const child = spawn(command!, args, { stdio: ["pipe", "pipe", "inherit"] });
  const [url] = await Promise.race([once(child.stdout, "data"), once(child, "exit").then(() => [""])]);
  if (!String(url).startsWith("postgres:")) throw new Error("PostgreSQL did not start.");
  return { url: String(url).trim(), child };
}
