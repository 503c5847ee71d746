import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { startProcess, type ServerProcess } from "./testing/process.ts";
import { aPayout } from "./testing/server.ts";

const SANDBOX_API_KEY = "a-key-for-tests-of-durability";
/** Number of responses before the server is killed. Set PAYOUTS=20000 for a long run. */
const PAYOUTS = Number(process.env.PAYOUTS ?? 300);
const CALLERS = 32;

/** Creates payouts over many connections until the server is killed. */
async function load(server: ServerProcess): Promise<{ sent: string[]; confirmed: Map<string, string> }> {
  const { request } = server.client(SANDBOX_API_KEY);
  const sent: string[] = [];
  const confirmed = new Map<string, string>();
  async function caller() {
    for (;;) {
      const body = aPayout();
      sent.push(body.reference);
      const response = await request("POST", "/v1/disbursements", { body });
      expect(response.status).toBe(200);
      confirmed.set(body.reference, response.body.data.reference);
      if (confirmed.size === PAYOUTS) server.kill("SIGKILL");
    }
  }
  const ends = await Promise.allSettled(Array.from({ length: CALLERS }, caller));
  for (const end of ends) {
    const code = end.status === "rejected" ? end.reason.code : undefined;
    expect(["ECONNRESET", "ECONNREFUSED", "EPIPE"]).toContain(code);
  }
  return { sent, confirmed };
}

test("a server killed under load keeps every confirmed payout, without duplicates", { timeout: 600_000 }, async () => {
  const folder = mkdtempSync(join(tmpdir(), "durability-"));
  const path = join(folder, "server.db");
  const env = { DATABASE_URL: `sqlite:${path}`, SANDBOX_API_KEY };

  const first = await startProcess(env);
  const { sent, confirmed } = await load(first);
  await first.ended;
  expect(confirmed.size).toBeGreaterThanOrEqual(PAYOUTS);

  const second = await startProcess(env);
  const { request } = second.client(SANDBOX_API_KEY);
  for (const reference of sent) {
    const again = await request("POST", "/v1/disbursements", { body: aPayout({ reference }) });
    const known = confirmed.get(reference);
    // Without a response a payout may or may not be recorded; a retry reveals which.
    if (known === undefined) expect([200, 409]).toContain(again.status);
    else expect([again.status, again.headers.location]).toEqual([409, `/v1/disbursements/${known}`]);
  }
  for (const [merchantsReference, reference] of confirmed) {
    const { body } = await request("GET", `/v1/disbursements/${reference}`);
    expect(body.data).toMatchObject({ reference, merchantsReference });
  }
  second.kill("SIGTERM");
  expect((await second.ended).code).toBe(0);

  const db = new DatabaseSync(path, { readOnly: true });
  expect(db.prepare("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
  const counted = db
    .prepare("SELECT count(*) AS payouts, count(DISTINCT merchants_reference) AS distinct_ones FROM disbursements")
    .get();
  expect(counted).toEqual({ payouts: sent.length, distinct_ones: sent.length });
  db.close();
  rmSync(folder, { recursive: true });
});
