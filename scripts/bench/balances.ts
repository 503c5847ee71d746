// Measures what balances cost a create: a server that enforces them, and a server without books, on both storages. All
// creates are of one merchant and change one balance. Usage: node scripts/bench/balances.ts [REQUESTS] [ROUNDS]
import { postgres, postgresServer, sqlite, type Database } from "./databases.ts";
import { API_KEY, load, median, oneReference, payout, type Measured } from "./load.ts";
import { startServer, type Target } from "./target.ts";

for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1));

const [REQUESTS, ROUNDS] = [Number(process.argv[2] ?? 20_000), Number(process.argv[3] ?? 5)];
const WITHOUT = `--import ${new URL("without-books.ts", import.meta.url).href}`;

/** Starts a server whose only merchant has a balance for all requests. */
async function start(name: string, { url, run }: Database, env: Record<string, string>): Promise<Target> {
  const shared = { DATABASE_URL: url, SANDBOX_API_KEY: API_KEY, SETTLE_DELAY_MS: "86400000" };
  const first = await startServer(name, { ...shared, BALANCES: "tracked" });
  await oneReference(first);
  await first.stop();
  await run("UPDATE accounts SET available = '1000000000000000'");
  return startServer(name, { ...shared, ...env });
}

/** Measures the servers in turns. The first round is a warm-up. */
async function compare(storage: string, databases: readonly [Database, Database]): Promise<void> {
  const enforced = await start("enforced", databases[0], { BALANCES: "enforced" });
  const without = await start("without", databases[1], { BALANCES: "tracked", NODE_OPTIONS: WITHOUT });
  const rounds: Record<"enforced" | "without", Measured[]> = { enforced: [], without: [] };
  for (let number = 0; number <= ROUNDS; number++)
    for (const target of number % 2 === 0 ? [enforced, without] : [without, enforced]) {
      const measured = await load(target, REQUESTS, payout());
      if (number > 0) rounds[target === enforced ? "enforced" : "without"].push(measured);
    }
  await Promise.all([enforced, without].map((target) => target.stop()));
  await Promise.all(databases.map(({ drop }) => drop()));
  const [kept, none] = [median(rounds.enforced), median(rounds.without)];
  const ratio = (name: keyof Measured) => (kept[name] / none[name]).toFixed(2);
  console.log(
    `${storage}: with balances enforced a create takes ${ratio("cpuPerRequest")} of the CPU time without books`,
    `(${kept.cpuPerRequest.toFixed(1)} and ${none.cpuPerRequest.toFixed(1)} µs), and the throughput of one merchant is`,
    `${ratio("perSecond")} (${kept.perSecond.toFixed(0)} and ${none.perSecond.toFixed(0)} per second).`,
  );
}

await compare("SQLite", [await sqlite(), await sqlite()]);
const server = await postgresServer();
await compare("PostgreSQL", [await postgres(server.url), await postgres(server.url)]);
await server.stop();
