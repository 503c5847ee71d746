import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { createTestDatabase, POSTGRES_SERVERS } from "../testing/postgres.ts";
import { startReceiver, type Receiver } from "../testing/receiver.ts";

const KEY = "crash-test-key-0000";
const MAIN = fileURLToPath(new URL("../main.ts", import.meta.url));
/** Set CRASHES=20 for a long run. */
const CRASHES = Number(process.env.CRASHES ?? 3);
const PAYOUTS = 100;
/** Two of three payouts are final immediately; a worker settles the third. */
const phoneNumber = (index: number) => (index % 3 === 0 ? "2257038102089" : "2257038102001");

interface Running {
  url: string;
  child: ChildProcess;
}

async function start(database: string): Promise<Running> {
  const env = { ...process.env, PORT: "0", DATABASE_URL: database, SANDBOX_API_KEY: KEY };
  const child = spawn(process.execPath, [MAIN], {
    env: { ...env, SETTLE_DELAY_MS: "20", LOG_LEVEL: "silent" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  for await (const chunk of child.stdout!) {
    const [url] = /http:\/\/127\.0\.0\.1:\d+/.exec(String(chunk)) ?? [];
    if (url) return { url, child };
  }
  throw new Error("the server did not start");
}

async function call(url: string, path: string, body?: object): Promise<any> {
  const response = await fetch(url + path, {
    headers: { "x-api-key": KEY, "content-type": "application/json" },
    ...(body ? { method: "POST", body: JSON.stringify(body) } : {}),
  });
  return response.json();
}

/** Creates payouts and kills the server while it delivers. Returns the references of the confirmed payouts. */
async function crash(database: string, receiver: Receiver, round: number): Promise<string[]> {
  const { url, child } = await start(database);
  const confirmed: string[] = [];
  const before = receiver.received.length;
  const payouts = Array.from({ length: PAYOUTS }, async (_, index) => {
    const payout = { reference: `crash-${round}-${index}`, amount: 10_000, phoneNumber: phoneNumber(index) };
    const rest = { country: "CI", currency: "XOF", webhookURL: receiver.url };
    const { data } = await call(url, "/v1/disbursements", { ...payout, ...rest });
    confirmed.push(data.reference);
  });
  // Requests in progress during the crash get no response.
  const settled = Promise.allSettled(payouts);
  await expect
    .poll(() => receiver.received.length - before, { interval: 1, timeout: 15_000 })
    .toBeGreaterThan(PAYOUTS / 4);
  child.kill("SIGKILL");
  await Promise.all([once(child, "exit"), settled]);
  return confirmed;
}

interface Place {
  /** For DATABASE_URL. */
  url: string;
  remove(): Promise<void>;
}

const PLACES: Record<string, () => Promise<Place>> = {
  async SQLite() {
    const folder = await mkdtemp(join(tmpdir(), "crash-"));
    return { url: `sqlite:${join(folder, "server.db")}`, remove: () => rm(folder, { recursive: true }) };
  },
  async PostgreSQL() {
    const { url, drop } = await createTestDatabase(await POSTGRES_SERVERS.PostgreSQL!());
    return { url, remove: drop };
  },
};

test.each(Object.entries(PLACES))(
  "after kill -9 during delivery every event arrives under one id, and none reports an uncommitted status (%s)",
  { timeout: 20_000 + CRASHES * 10_000 },
  async (_, make) => {
    const place = await make();
    const receiver = await startReceiver();
    const confirmed: string[] = [];
    for (let round = 0; round < CRASHES; round++) {
      confirmed.push(...(await crash(place.url, receiver, round)));
    }

    const { url, child } = await start(place.url);
    const seen = () => new Set(receiver.received.map(({ body }) => body.data.reference));
    await expect.poll(() => confirmed.filter((reference) => !seen().has(reference)), { timeout: 15_000 }).toEqual([]);

    const ids = new Map<string, string>();
    for (const { headers, body } of receiver.received) {
      const { reference } = body.data;
      const id = String(headers["webhook-id"]);
      expect(ids.get(reference) ?? id).toBe(id);
      ids.set(reference, id);
    }
    for (const { body } of receiver.received) {
      const { data } = await call(url, `/v1/disbursements/${body.data.reference}`);
      expect(body.data).toEqual(data);
    }
    child.kill();
    await once(child, "exit");
    await receiver.close();
    await place.remove();
  },
);
