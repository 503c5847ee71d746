import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const script = fileURLToPath(new URL("postgres-process.ts", import.meta.url));

const NAMESPACE = ["unshare", "--user", "--map-user=1000", "--map-group=1000"] as const;

/**
 * PostgreSQL refuses to run as root. Another user may have no access to this checkout, or may not exist. Therefore
 * PostgreSQL gets a user namespace in which root has another id. Returns the command that creates the namespace, or
 * nothing where that is not needed or not possible.
 */
function asOrdinaryUser(): readonly string[] {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return [];
  const [command, ...args] = NAMESPACE;
  return spawnSync(command, [...args, "true"]).status === 0 ? NAMESPACE : [];
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
