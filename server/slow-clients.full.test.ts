// Strangers occupy every connection of a real process, and merchants are served beside them. `npm run soak` is longer.
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { expect, test } from "vitest";
import { KEY, LIVE, type ServerProcess } from "./testing/process.ts";
import { testDatabase, testProcess } from "./testing/places.ts";

const FORM = "content-type: application/x-www-form-urlencoded\r\n";
/** A request that never ends. */
const slow = (path: string, fields = "") =>
  `POST ${path} HTTP/1.1\r\nhost: x\r\n${fields}content-length: 1000\r\n\r\na`;

interface Crowd {
  /** The most files that the process may open. */
  openFiles: number;
  strangers: number;
  env?: NodeJS.ProcessEnv;
  database?: "PostgreSQL";
  /** What each stranger sends. @param page the path of a payment page */
  sends: (server: ServerProcess, page: string) => string;
}
const MANY = { openFiles: 256, strangers: 300 };

test.runIf(process.platform === "linux").each<[string, Crowd]>([
  ["idle connections", { openFiles: 64, strangers: 60, sends: () => "" }],
  ["slow forms to sign in", { ...MANY, sends: ({ url }) => slow("/dashboard/sign-in", `${FORM}origin: ${url}\r\n`) }],
  ["slow forms to a payment page", { ...MANY, database: "PostgreSQL", sends: (_, page) => slow(page, FORM) }],
  ["slow notifications of a rail", { ...MANY, env: LIVE, sends: () => slow("/rails/test/webhooks") }],
  [
    "slow payouts with a key",
    { openFiles: 1_024, strangers: 300, sends: () => slow("/v1/disbursements", `x-api-key: ${KEY}\r\n`) },
  ],
])("%s keep no merchant out, and leave nothing behind", async (_, { openFiles, strangers, env, database, sends }) => {
  const DATABASE_URL = database && (await testDatabase()).url;
  const server = await testProcess({ ...env, DATABASE_URL }, { openFiles });
  const handles = () => readdirSync(`/proc/${server.pid}/fd`).length;
  const page = async () => (await server.createCheckout({}, { headers: { connection: "close" } })).body.data.url;
  const bytes = sends(server, new URL(await page()).pathname);
  const before = handles();
  const sockets: Socket[] = [];
  for (let count = 0; count < strangers; count += 1) {
    const socket = connect(server.port, "127.0.0.1").on("error", () => undefined);
    sockets.push(socket);
    await once(socket, "connect");
    socket.write(bytes);
  }
  for (let count = 0; count < 20; count += 1)
    expect((await server.createPayout({}, { headers: { connection: "close" } })).status).toBe(200);
  if (!env) expect((await fetch(await page(), { headers: { connection: "close" } })).status).toBe(200);
  for (const socket of sockets) socket.destroy();
  // Connections to the database may stay open.
  await expect.poll(handles).toBeLessThanOrEqual(before + 20);
});
