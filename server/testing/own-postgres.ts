import { once } from "node:events";
import { Client } from "pg";
import { startPostgres } from "./start-postgres.ts";

/** A PostgreSQL server of its own, which a test can disturb. */
export interface OwnPostgres {
  url: string;
  run(sql: string): Promise<Record<string, unknown>[]>;
  /** Stops every process of the server (SIGSTOP). Connections stay open, and new ones are accepted but not served. */
  freeze(): Promise<void>;
  /** Lets the processes continue with what they were doing (SIGCONT). */
  thaw(): void;
  /**
   * Ends the server with a signal and starts it again: SIGINT rolls transactions back and closes connections, SIGQUIT
   * has the effect of a crash.
   */
  restart(signal: "SIGINT" | "SIGQUIT"): Promise<void>;
  close(): Promise<void>;
}

/** @param settings whether commits wait for the disk */
export async function startOwnPostgres(settings?: "durable" | "fast"): Promise<OwnPostgres> {
  const { url, child } = await startPostgres(settings);
  let client = await connected(url);
  // One statement at a time, because a connection runs only one.
  let last: Promise<unknown> = Promise.resolve();
  const run = (sql: string) => {
    const rows = last.then(async () => (await client.query<Record<string, unknown>>(sql)).rows);
    last = rows.catch(() => undefined);
    return rows;
  };
  let frozen: number[] = [];
  const thaw = () => {
    for (const pid of frozen.splice(0)) signalIfThere(pid, "SIGCONT");
  };
  return {
    url,
    run,
    async freeze() {
      // First stop the process that starts the other processes.
      const [main] = await run(`SELECT split_part(pg_read_file('postmaster.pid'), E'\\n', 1)::int AS pid`);
      frozen = [main!.pid as number];
      process.kill(frozen[0]!, "SIGSTOP");
      frozen.push(...(await run("SELECT pid FROM pg_stat_activity")).map(({ pid }) => pid as number));
      for (const pid of frozen.slice(1)) signalIfThere(pid, "SIGSTOP");
    },
    thaw,
    async restart(signal) {
      await client.end();
      child.stdin!.write(`${signal}\n`);
      await once(child.stdout!, "data");
      client = await connected(url);
    },
    async close() {
      thaw();
      await client.end();
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

async function connected(url: string): Promise<Client> {
  const client = new Client(url);
  await client.connect();
  return client;
}
