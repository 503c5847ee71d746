// Whatever the defaults of a role are, what is stored is read as it was written, or the service does not start.
import { writeFileSync } from "node:fs";
import { generate } from "selfsigned";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createFakeClock } from "../../testing/clock.ts";
import { useDatabase, useFolder } from "../../testing/resources.ts";
import { contents, fill } from "../../testing/storage/everything.ts";
import { repeatIds, storedAt } from "../../testing/storage/fixtures.ts";
import { StorageError } from "../storage-error.ts";
import { withConnection } from "./connections.ts";
import { openPostgres } from "./index.ts";

const database = useDatabase();
/** The URL for a role of this file, whose defaults a test sets. */
let url: string;
let role: string;
/** What is read with the usual defaults. */
let usual: Awaited<ReturnType<typeof written>>;
beforeAll(async () => {
  role = `role_${new URL(database.url).pathname.slice(1)}`;
  await database.run(`CREATE ROLE ${role} SUPERUSER LOGIN PASSWORD 'x'`);
  url = Object.assign(new URL(database.url), { username: role, password: "x" }).href;
  usual = await written();
});
afterAll(() => database.run(`DROP OWNED BY ${role} CASCADE; DROP ROLE ${role}`));

interface Setting {
  name: string;
  vartype: string;
  setting: string;
  enumvals: string[] | null;
  min_val: string;
  max_val: string;
}

/** Values of settings whose values are texts. Other texts name files, programs and roles. */
const TEXTS: Record<string, string[]> = {
  DateStyle: ["German, DMY", "SQL, MDY", "Postgres"],
  TimeZone: ["'Asia/Kolkata'"],
  client_encoding: ["LATIN1", "SQL_ASCII"],
  default_text_search_config: ["'pg_catalog.french'"],
  lc_messages: ["'C'"],
  lc_monetary: ["'C'"],
  lc_numeric: ["'C'"],
  lc_time: ["'C'"],
  search_path: ["pg_catalog", "public, pg_temp"],
};

function otherValues({ name, vartype, setting, enumvals, min_val: least, max_val: most }: Setting): string[] {
  if (vartype === "string") return TEXTS[name] ?? [];
  const values = vartype === "bool" ? ["on", "off"] : vartype === "enum" ? enumvals! : [least, most];
  return values.filter((value) => value !== setting).map((value) => `'${value}'`);
}

/** Writes and reads values of every kind. Resolves with what was read. */
async function written() {
  await database.empty();
  repeatIds();
  const storage = await openPostgres(url, { clock: createFakeClock(), server: true, time: "process" });
  try {
    const { pending } = await fill(storage, "é NUL \0 half \ud83e NULL \ufdd0\udc00 \\x41");
    expect(await storage.findDisbursement(pending.merchantId, pending.reference)).toEqual(storedAt(pending));
    return await contents(storage);
  } finally {
    await storage.close();
  }
}

test("no default of a role changes what is read", async () => {
  const settings = (await database.run(
    "SELECT * FROM pg_settings WHERE context IN ('user', 'superuser') ORDER BY name",
  )) as unknown as Setting[];
  expect(settings.length).toBeGreaterThan(150);
  const refused: string[] = [];
  const wrong: unknown[] = [];
  for (const setting of settings) {
    for (const value of otherValues(setting)) {
      const text = `${setting.name} = ${value}`;
      const isSet = await database.run(`ALTER ROLE ${role} SET ${text}`).then(
        () => true,
        // Not every value is possible for a role.
        () => false,
      );
      if (!isSet) continue;
      try {
        expect(await written()).toEqual(usual);
      } catch (error) {
        if (error instanceof StorageError) refused.push(text);
        else wrong.push([text, (error as Error).message]);
      }
      await database.run(`ALTER ROLE ${role} RESET ALL`);
    }
  }
  expect(wrong).toEqual([]);
  expect(refused).toEqual(["default_transaction_read_only = 'on'", "search_path = pg_catalog"]);
});

test("the time limits of a role do not apply to operators' commands", async () => {
  await database.run(`ALTER ROLE ${role} SET statement_timeout = 1000`);
  const slept = await withConnection(url, (client) => client.query("SELECT pg_sleep(1.1)"));
  expect(slept.rowCount).toBe(1);
  await database.run(`ALTER ROLE ${role} RESET ALL`);
});

const pathOf = useFolder();
/** Opens the database by the name in its certificate, with these options in the URL, and returns whether its connections are encrypted. */
async function isEncrypted(options: Record<string, string>) {
  const to = Object.assign(new URL(database.url), { hostname: "localhost" });
  for (const [name, value] of Object.entries(options)) to.searchParams.set(name, value);
  const storage = await openPostgres(to.href, { clock: createFakeClock(), server: true });
  const rows = await database.run(
    `SELECT DISTINCT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
     WHERE application_name = 'disbursement-checkout' AND datname = current_database()`,
  );
  await storage.close();
  return rows.map(({ ssl }) => ssl);
}

test("TLS is used if the URL says so, and then the server's certificate must be of the authority", async () => {
  expect(await isEncrypted({})).toEqual([false]);
  const [row] = await database.run("SELECT pg_read_file('server.crt') AS certificate");
  writeFileSync(pathOf("server.pem"), String(row!.certificate));
  writeFileSync(pathOf("other.pem"), (await generate([{ name: "commonName", value: "localhost" }])).cert);
  const verified = (authority: string) => isEncrypted({ sslmode: "verify-full", sslrootcert: pathOf(authority) });
  expect(await verified("server.pem")).toEqual([true]);
  await expect(verified("other.pem")).rejects.toThrow(StorageError);
  await expect(verified("other.pem")).rejects.toThrow(/certificate/);
});
