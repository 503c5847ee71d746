// Strangers occupy every connection of a real process, and merchants are served beside them.
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { createTestDatabase, POSTGRES_SERVERS, type TestDatabase } from "./testing/postgres.ts";
import { LIVE, runKeys, startProcess, type ServerProcess } from "./testing/process.ts";
import { aCheckout, aPayout } from "./testing/server.ts";
import { testFolder } from "./testing/places.ts";

/** More than the connections of a process that may open 256 files. */
const STRANGERS = 300;
const LIMITS = { openFiles: 256 };
const FORM = "content-type: application/x-www-form-urlencoded\r\n";

let server: ServerProcess;
let postgres: TestDatabase | undefined;
const strangers: Socket[] = [];
afterEach(async () => {
  for (const socket of strangers.splice(0)) socket.destroy();
  server.kill("SIGKILL");
  await server.ended;
  await postgres?.drop();
});

async function crowd(path: string, fields: string): Promise<void> {
  for (let count = 0; count < STRANGERS; count += 1) {
    const socket = connect(server.port, "127.0.0.1").on("error", () => undefined);
    strangers.push(socket);
    await once(socket, "connect");
    socket.write(`POST ${path} HTTP/1.1\r\nhost: x\r\n${fields}content-length: 1000\r\n\r\na`);
  }
}

test.runIf(process.platform === "linux").each([
  ["forms to sign in", "sandbox", "SQLite"],
  ["forms to a payment page", "sandbox", "PostgreSQL"],
  ["notifications of a rail", "live", "SQLite"],
])("300 slow %s do not keep a merchant of a %s server with %s out", async (kind, mode, database) => {
  postgres = database === "PostgreSQL" ? await createTestDatabase(await POSTGRES_SERVERS.PostgreSQL!()) : undefined;
  const env = {
    DATABASE_URL: postgres?.url ?? `sqlite:${join(testFolder(), "server.db")}`,
    ...(mode === "live" ? LIVE : { SANDBOX: "true" }),
  };
  const { stdout } = await runKeys(env, "create-merchant", "Ama");
  const [key] = /\b(live|test)_\w{16,}/.exec(stdout)!;
  server = await startProcess(env, LIMITS);
  const call = async (path: string, body: object) => {
    const headers = { "x-api-key": key, "content-type": "application/json", connection: "close" };
    const response = await fetch(server.url + path, { method: "POST", headers, body: JSON.stringify(body) });
    return { status: response.status, body: await response.json() };
  };
  const page = async () => new URL((await call("/v1/checkouts", aCheckout())).body.data.url).pathname;
  if (kind === "forms to sign in") await crowd("/dashboard/sign-in", `${FORM}origin: ${server.url}\r\n`);
  else if (kind === "notifications of a rail") await crowd("/rails/test/webhooks", "");
  else await crowd(await page(), FORM);
  for (let count = 0; count < 20; count += 1)
    expect(await call("/v1/disbursements", aPayout())).toMatchObject({ status: 200 });
});
