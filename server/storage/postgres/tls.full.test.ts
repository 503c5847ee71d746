import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { generate } from "selfsigned";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createFakeClock } from "../../testing/clock.ts";
import { createTestDatabase, POSTGRES_SERVERS, type TestDatabase } from "../../testing/postgres.ts";
import { StorageError } from "../storage-error.ts";
import { openPostgres } from "./index.ts";

let database: TestDatabase;
let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "tls-"));
  database = await createTestDatabase(await POSTGRES_SERVERS.PostgreSQL!());
  const [row] = await database.run("SELECT pg_read_file('server.crt') AS certificate");
  writeFileSync(join(folder, "server.pem"), String(row!.certificate));
  writeFileSync(join(folder, "other.pem"), (await generate([{ name: "commonName", value: "localhost" }])).cert);
});
afterAll(async () => {
  await database.drop();
  rmSync(folder, { recursive: true });
});

/** Opens the database by the name in its certificate, with these options in the URL. */
function open(options: Record<string, string>) {
  const url = Object.assign(new URL(database.url), { hostname: "localhost" });
  for (const [name, value] of Object.entries(options)) url.searchParams.set(name, value);
  return openPostgres(url.href, { clock: createFakeClock(), server: true });
}

const encrypted = async () =>
  database.run(
    `SELECT DISTINCT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
     WHERE application_name = 'disbursement-checkout' AND datname = current_database()`,
  );

test("verifies the server's certificate and encrypts the connection", async () => {
  const storage = await open({ sslmode: "verify-full", sslrootcert: join(folder, "server.pem") });
  expect(await encrypted()).toEqual([{ ssl: true }]);
  await storage.close();
});

test("refuses a certificate of another authority", async () => {
  const opening = open({ sslmode: "verify-full", sslrootcert: join(folder, "other.pem") });
  await expect(opening).rejects.toThrow(StorageError);
  await expect(opening).rejects.toThrow(/certificate/);
});

test("does not encrypt unless the URL says so", async () => {
  const storage = await open({});
  expect(await encrypted()).toEqual([{ ssl: false }]);
  await storage.close();
});
