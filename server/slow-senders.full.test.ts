// The short form of `npm run soak`: clients that send a request slowly do not delay other clients.
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startProcess, type ServerProcess } from "./testing/process.ts";
import { aPayout } from "./testing/server.ts";

const KEY = "a-key-for-tests-of-slow-senders";
const HEAD = `POST /v1/disbursements HTTP/1.1\r\nhost: x\r\nx-api-key: ${KEY}\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n{`;
const SLOW = 300;

let folder: string;
let server: ServerProcess;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "slow-"));
  server = await startProcess({ DATABASE_URL: `sqlite:${join(folder, "server.db")}`, SANDBOX_API_KEY: KEY });
});
afterAll(async () => {
  server.kill("SIGKILL");
  await server.ended;
  rmSync(folder, { recursive: true });
});

async function slowSender(): Promise<Socket> {
  const socket = connect(server.port, "127.0.0.1").on("error", () => undefined);
  await once(socket, "connect");
  socket.write(HEAD);
  return socket;
}

async function pay(reference: string): Promise<number> {
  const response = await fetch(`${server.url}/v1/disbursements`, {
    method: "POST",
    headers: { "x-api-key": KEY, "content-type": "application/json" },
    body: JSON.stringify({ ...aPayout(), reference }),
  });
  await response.text();
  return response.status;
}

const handles = () => readdirSync(`/proc/${server.pid}/fd`).length;

test.runIf(process.platform === "linux")(
  "300 requests that never end keep no other from being served, and leave nothing behind",
  async () => {
    expect(await pay("before")).toBe(200);
    const before = handles();
    const slow = await Promise.all(Array.from({ length: SLOW }, slowSender));
    await expect.poll(handles).toBeGreaterThanOrEqual(before + SLOW);
    const statuses = await Promise.all(Array.from({ length: 50 }, (_, index) => pay(`beside-${index}`)));
    expect(statuses).toEqual(statuses.map(() => 200));
    for (const socket of slow) socket.destroy();
    // The 50 connections of the requests above may stay open for a while.
    await expect.poll(handles).toBeLessThanOrEqual(before + 50);
  },
);
