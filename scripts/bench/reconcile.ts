// Measures `db reconcile` over the lists of a rail that is another server of this project, with planted differences.
// Needs no network. Usage: node scripts/bench/reconcile.ts [--storage sqlite|postgres] [--payments N]
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { FIRST, postgres, postgresServer, sqlite } from "./databases.ts";
import { startServer } from "./target.ts";

for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1));

const { values } = parseArgs({
  options: { storage: { type: "string", default: "sqlite" }, payments: { type: "string", default: "100000" } },
});
const PAYMENTS = Number(values.payments);
const KEY = "a-key-for-the-gateway-at-its-rail";
const CLI = new URL("../../server/cli.ts", import.meta.url).pathname;
/** Rows of the rail's list that begin at this share of all payments, five of each kind. */
const five = (share: number) => {
  const begin = FIRST + Math.floor(PAYMENTS * share);
  return `created_at >= ${begin} AND created_at < ${begin + 5}`;
};
const PLANTED = [
  `UPDATE disbursements SET amount = amount + 1 WHERE ${five(0.1)}`,
  `UPDATE disbursements SET currency = 'XAF' WHERE ${five(0.3)}`,
  `UPDATE disbursements SET status = 'failed' WHERE ${five(0.5)}`,
  `UPDATE disbursements SET fee = fee + 1 WHERE ${five(0.7)}`,
  // The rail then lists payments that are unknown here, and lacks the payments of this service.
  `UPDATE disbursements SET merchants_reference = 'OTHER-' || reference WHERE ${five(0.9)}`,
];
const EXPECTED = { "missing-there": 5, "missing-here": 5, amount: 5, currency: 5, fee: 5, status: 5 };

const server = values.storage === "postgres" ? await postgresServer() : undefined;
const empty = () => (server ? postgres(server.url) : sqlite());
const [here, there] = [await empty(), await empty()];
const folder = mkdtempSync(join(tmpdir(), "bench-"));
try {
  const railEnv = { DATABASE_URL: there.url, SANDBOX_API_KEY: KEY };
  await (await startServer("rail", railEnv)).stop();
  await there.fill(PAYMENTS);
  await there.run("UPDATE disbursements SET merchants_reference = reference", ...PLANTED);
  const rail = await startServer("rail", railEnv);

  writeFileSync(join(folder, "key"), KEY);
  const env = {
    DATABASE_URL: here.url,
    SANDBOX: "false",
    RAIL_URL: rail.url,
    RAIL_API_KEY_FILE: join(folder, "key"),
  };
  await (await startServer("gateway", env)).stop();
  await here.fill(PAYMENTS);
  await here.run(`INSERT INTO handovers (merchant_id, id, kind, rail, state, created_real, rail_reference, rail_fee)
    SELECT merchant_id, reference, 'disbursement', 'rail', 'closed', created_at, reference, fee FROM disbursements`);

  const day = new Date(FIRST).toISOString().slice(0, 10);
  const args = [CLI, "db", "reconcile", "--rail", "rail", "--from", day, "--to", day, "--json"];
  const begun = performance.now();
  const output = await new Promise<string>((resolve, reject) => {
    const options = { env: { PATH: process.env.PATH, ...env }, maxBuffer: 2 ** 26 };
    // The exit code is 1, because there are differences.
    execFile(process.execPath, args, options, (_, stdout, stderr) =>
      stdout === "" ? reject(new Error(stderr)) : resolve(stdout),
    );
  });
  const seconds = (performance.now() - begun) / 1_000;
  const { matched, differences } = JSON.parse(output) as { matched: number; differences: Record<string, number> };
  const found = Object.entries(EXPECTED).reduce((sum, [kind, count]) => sum + Math.min(count, differences[kind]!), 0);
  const all = Object.values(differences).reduce((sum, count) => sum + count, 0);
  console.log(`${values.storage}: ${PAYMENTS} payments, ${matched} matched, in ${seconds.toFixed(1)} s`);
  console.log(
    `${found} of 30 planted differences found, ${all - found} others; the rail used ${rail.memory().most.toFixed(0)} MB`,
  );
  await rail.stop();
} finally {
  rmSync(folder, { recursive: true });
  await here.drop();
  await there.drop();
  await server?.stop();
}
