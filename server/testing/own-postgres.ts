import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { Pool } from "pg";

const script = fileURLToPath(new URL("postgres-process.ts", import.meta.url));

const NAMESPACE = ["unshare", "--user", "--map-user=1000", "--map-group=1000"] as const;

export type OwnPostgres = Awaited<ReturnType<typeof startOwnPostgres>>;

/**
 * Starts a PostgreSQL server that a test can disturb.
 * @param commits whether commits wait for the disk
 * @param settings such as `shared_buffers=1GB`
 */
export async function startOwnPostgres(commits?: "durable" | "fast", settings?: readonly string[]) {
  const { url, child } = await startPostgres(commits, settings);
  // One connection, which is replaced when a restart has ended it.
  const pool = new Pool({ connectionString: url, max: 1 }).on("error", () => undefined);
  const run = async (sql: string) => (await pool.query<Record<string, unknown>>(sql)).rows;
  let frozen: number[] = [];
  const thaw = () => {
    for (const pid of frozen.splice(0)) signalIfThere(pid, "SIGCONT");
  };
  return {
    url,
    run,
    /** Stops every process of the server (SIGSTOP). Connections stay open, and new ones are accepted but not served. */
    async freeze() {
      // First stop the process that starts the other processes.
      const [main] = await run(`SELECT split_part(pg_read_file('postmaster.pid'), E'\\n', 1)::int AS pid`);
      frozen = [main!.pid as number];
      process.kill(frozen[0]!, "SIGSTOP");
      frozen.push(...(await run("SELECT pid FROM pg_stat_activity")).map(({ pid }) => pid as number));
      for (const pid of frozen.slice(1)) signalIfThere(pid, "SIGSTOP");
    },
    /** Lets the processes continue with what they were doing (SIGCONT). */
    thaw,
    /**
     * Ends the server with a signal and starts it again: SIGINT rolls transactions back and closes connections, SIGQUIT
     * has the effect of a crash.
     */
    async restart(signal: "SIGINT" | "SIGQUIT") {
      child.stdin!.write(`${signal}\n`);
      await once(child.stdout!, "data");
    },
    async close() {
      thaw();
      await pool.end();
      child.stdin!.end();
      await once(child, "exit");
    },
  };
}

/** The process of a connection ends when its client goes, which may be at any moment. */
function signalIfThere(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/**
 * PostgreSQL refuses to run as root. Another user may have no access to this checkout, or may not exist. Therefore
 * PostgreSQL gets a user namespace in which root has another id. Returns the command that creates the namespace, or
 * nothing where that is not needed or not possible.
 */
export function asOrdinaryUser(): readonly string[] {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return [];
  const [command, ...args] = NAMESPACE;
  return spawnSync(command, [...args, "true"]).status === 0 ? NAMESPACE : [];
}

/**
 * Starts an empty PostgreSQL server, which ends when its standard input is closed.
 * @param commits whether commits wait for the disk; without this a crash of the server loses the latest commits
 * @param settings such as `shared_buffers=1GB`
 */
export async function startPostgres(
  commits: "durable" | "fast" = "fast",
  settings: readonly string[] = [],
): Promise<{ url: string; child: ChildProcess }> {
  const [command, ...args] = [...asOrdinaryUser(), process.execPath, script, commits, ...settings];
  const child = spawn(command!, args, { stdio: ["pipe", "pipe", "inherit"] });
  const [url] = await Promise.race([once(child.stdout, "data"), once(child, "exit").then(() => [""])]);
  if (!String(url).startsWith("postgres:")) throw new Error("PostgreSQL did not start.");
  return { url: String(url).trim(), child };
}
