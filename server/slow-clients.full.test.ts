// Clients that send slowly occupy the connections of a real process, and merchants are served beside them.
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { createTestDatabase, POSTGRES_SERVERS } from "./testing/postgres.ts";
import { LIVE, type ServerProcess } from "./testing/process.ts";
import { aCheckout, aPayout } from "./testing/server.ts";
import { testFolder, testProcess } from "./testing/places.ts";

const KEY = "a-key-for-tests-of-slow-clients";
/** More than the connections of a process that may open 256 files. */
const CLIENTS = 300;
const FORM = "content-type: application/x-www-form-urlencoded\r\n";

/** Opens connections that begin a request to this path, and never end it. */
async function crowd({ port }: ServerProcess, path: string, fields: string): Promise<Socket[]> {
  const sockets: Socket[] = [];
  onTestFinished(() => void sockets.forEach((socket) => socket.destroy()));
  for (let count = 0; count < CLIENTS; count += 1) {
    const socket = connect(port, "127.0.0.1").on("error", () => undefined);
    sockets.push(socket);
    await once(socket, "connect");
    socket.write(`POST ${path} HTTP/1.1\r\nhost: x\r\n${fields}content-length: 1000\r\n\r\n{`);
  }
  return sockets;
}

async function call({ url }: ServerProcess, path: string, body: object, connection = "close") {
  const headers = { "x-api-key": KEY, "content-type": "application/json", connection };
  const response = await fetch(url + path, { method: "POST", headers, body: JSON.stringify(body) });
  return { status: response.status, body: await response.json() };
}

const sqlite = () => `sqlite:${join(testFolder(), "server.db")}`;
async function postgres() {
  const { url, drop } = await createTestDatabase(await POSTGRES_SERVERS.PostgreSQL!());
  onTestFinished(drop);
  return url;
}

describe.runIf(process.platform === "linux")("slow clients", () => {
  test.each([
    ["forms to sign in", "sandbox", "SQLite"],
    ["forms to a payment page", "sandbox", "PostgreSQL"],
    ["notifications of a rail", "live", "SQLite"],
  ])("300 slow %s do not keep a merchant of a %s server with %s out", async (kind, mode, database) => {
    const DATABASE_URL = database === "PostgreSQL" ? await postgres() : sqlite();
    const env = { DATABASE_URL, SANDBOX_API_KEY: KEY, ...(mode === "live" && LIVE) };
    const server = await testProcess(env, { openFiles: 256 });
    const page = async () => new URL((await call(server, "/v1/checkouts", aCheckout())).body.data.url).pathname;
    if (kind === "forms to sign in") await crowd(server, "/dashboard/sign-in", `${FORM}origin: ${server.url}\r\n`);
    else if (kind === "notifications of a rail") await crowd(server, "/rails/test/webhooks", "");
    else await crowd(server, await page(), FORM);
    for (let count = 0; count < 20; count += 1)
      expect(await call(server, "/v1/disbursements", aPayout())).toMatchObject({ status: 200 });
  });

  // The short form of `npm run soak`.
  test("300 creates that never end delay no other, and leave nothing behind", async () => {
    const server = await testProcess({ DATABASE_URL: sqlite(), SANDBOX_API_KEY: KEY });
    const pay = () => call(server, "/v1/disbursements", aPayout(), "keep-alive");
    const handles = () => readdirSync(`/proc/${server.pid}/fd`).length;
    expect((await pay()).status).toBe(200);
    const before = handles();
    const fields = `x-api-key: ${KEY}\r\ncontent-type: application/json\r\n`;
    const slow = await crowd(server, "/v1/disbursements", fields);
    await expect.poll(handles).toBeGreaterThanOrEqual(before + CLIENTS);
    const responses = await Promise.all(Array.from({ length: 50 }, pay));
    expect(responses.map(({ status }) => status)).toEqual(responses.map(() => 200));
    for (const socket of slow) socket.destroy();
    // The 50 connections of the requests above may stay open for a while.
    await expect.poll(handles).toBeLessThanOrEqual(before + 50);
  });
});
