import { once } from "node:events";
import { Client } from "pg";
import { startPostgres } from "./postgres-setup.ts";

/** A PostgreSQL server of its own, whose processes a test can stop as a hanging machine would. */
export interface FreezablePostgres {
  url: string;
  run(sql: string): Promise<Record<string, unknown>[]>;
  /** Stops every process of the server (SIGSTOP). Connections stay open, and new ones are accepted but not served. */
  freeze(): Promise<void>;
  /** Lets the processes continue with what they were doing (SIGCONT). */
  thaw(): void;
  close(): Promise<void>;
}

export async function startFreezablePostgres(): Promise<FreezablePostgres> {
  const { url, child } = await startPostgres();
  const client = new Client(url);
  await client.connect();
  const run = async (sql: string) => (await client.query<Record<string, unknown>>(sql)).rows;
  const [main] = await run(`SELECT split_part(pg_read_file('postmaster.pid'), E'\\n', 1)::int AS pid`);
  let frozen: number[] = [];
  const thaw = () => {
    for (const pid of frozen.splice(0)) process.kill(pid, "SIGCONT");
  };
  return {
    url,
    run,
    async freeze() {
      // Stop the process that starts the others first.
      frozen = [main!.pid as number];
      process.kill(frozen[0]!, "SIGSTOP");
      frozen.push(...(await run("SELECT pid FROM pg_stat_activity")).map(({ pid }) => pid as number));
      for (const pid of frozen.slice(1)) process.kill(pid, "SIGSTOP");
    },
    thaw,
    async close() {
      thaw();
      await client.end();
      child.stdin!.end();
      await once(child, "exit");
    },
  };
}
