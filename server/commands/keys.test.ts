import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runKeys, startProcess, type ServerProcess } from "../testing/process.ts";

const KEY = "a-key-for-tests-of-the-keys";
let folder: string;
let env: { DATABASE_URL: string };
let server: ServerProcess;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "keys-"));
  env = { DATABASE_URL: `sqlite:${join(folder, "server.db")}` };
  server = await startProcess({ ...env, SANDBOX_API_KEY: KEY });
});
afterAll(async () => {
  server.kill("SIGKILL");
  await server.ended;
  rmSync(folder, { recursive: true });
});

async function keys(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await runKeys(env, ...args);
  expect([code, stderr]).toEqual([0, ""]);
  return stdout;
}
const statusWith = async (key: string) => (await server.client(key).request("GET", "/sandbox/clock")).status;

describe("beside a running server", () => {
  test("a new key works immediately, and is refused within a second after it is revoked", async () => {
    const [, merchantId] = /^(\S+) {2}Sandbox Merchant$/m.exec(await keys("merchants"))!;
    const [key] = /sk_\w+/.exec(await keys("create", merchantId!))!;
    expect(await statusWith(key)).toBe(200);

    const listed = await keys("list");
    expect(listed).not.toContain(key);
    const [, id] = new RegExp(`^(\\S+) {2}…${key.slice(-4)} {2}merchant ${merchantId} .+ active$`, "m").exec(listed)!;
    expect(await keys("revoke", id!)).toBe(`Revoked ${id}\n`);
    const revoked = performance.now();
    while ((await statusWith(key)) === 200) expect(performance.now() - revoked).toBeLessThan(1_000);
    expect(await statusWith(key)).toBe(401);
    expect(await statusWith(KEY)).toBe(200);
    expect(await keys("list")).toMatch(new RegExp(`^${id} .+ revoked \\d{4}-`, "m"));
  });

  test("a new merchant has a key and no access to other merchants' records", async () => {
    const [, id, key] = /^Merchant (\S+)\nKey \(shown only once\): (sk_\w+)\n$/.exec(
      await keys("create-merchant", "  Kofi & Söhne "),
    )!;
    expect(await keys("merchants")).toContain(`${id}  Kofi & Söhne\n`);
    const { body } = await server.client(key!).request("GET", "/sandbox/events");
    expect(body.data).toEqual({ items: [] });
  });
});

test("a link signs in to the dashboard of a running server, once", async () => {
  const [, id] = /^(\S+) {2}Sandbox Merchant$/m.exec(await keys("merchants"))!;
  const printed = await keys("dashboard-link", id!, "--name", "Kofi");
  expect(printed).toContain("It works once, within 10 minutes, for this merchant only.\n");
  // The command does not know that the system has chosen the server's port.
  const [, token] = /^http:\/\/127\.0\.0\.1:3000\/dashboard\/sign-in\?token=([\w-]{43})\n/.exec(printed)!;
  const signIn = () =>
    fetch(`${server.url}/dashboard/sign-in`, {
      method: "POST",
      body: new URLSearchParams({ token: token! }),
      headers: { origin: server.url },
      redirect: "manual",
    });
  const [first, second] = [await signIn(), await signIn()];
  expect([first.status, second.status]).toEqual([303, 403]);
  const [cookie] = first.headers.getSetCookie()[0]!.split(";", 1);
  const page = await fetch(`${server.url}/dashboard`, { headers: { cookie: cookie! }, redirect: "manual" });
  expect(page.headers.get("location")).toBe(`/dashboard/m/${id}/disbursements`);
  const audit = await keys("audit", id!);
  expect(audit).toMatch(/ {2}dashboard Kofi {2}dashboard\.sign-in {2}/);
  expect(audit).toMatch(/ {2}command \S+@\S+ {2}dashboard\.link {2}/);
  expect(audit).not.toContain(token);
  await keys("dashboard-link");
  expect(await keys("audit")).toMatch(/ {2}dashboard\.link {2}all merchants {2}/);
});

describe("errors exit with 2 and say what to do", () => {
  test.each<[string[], RegExp]>([
    [[], /^Usage: npx disbursement-checkout keys COMMAND\n\n {2}merchants \[--json\]\n/],
    [["help"], /^Usage/],
    [["toString"], /^Usage/],
    [["create"], /^Usage: npx disbursement-checkout keys create MERCHANT\n$/],
    [["list", "more"], /^Usage: npx disbursement-checkout keys list \[--json\]\n$/],
    [["list", "--all"], /^Unknown option '--all'.*\nUsage: /],
    [["revoke", "sk_confidential"], /^An argument is a key or secret\. [^_]+$/],
    [["create-merchant", " "], /^NAME must have 1 to 100 characters\.\n$/],
    [["create-merchant", "x".repeat(101)], /^NAME must have/],
    [
      ["create", "nobody"],
      /^There is no merchant nobody\. Run `npx disbursement-checkout keys merchants` to list them\.\n$/,
    ],
    [["revoke", "nothing"], /^There is no key nothing\. Run `npx disbursement-checkout keys list` to list them\.\n$/],
  ])("%j", async (args, message) => {
    const { code, stdout, stderr } = await runKeys(env, ...args);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toMatch(message);
  });

  test("a missing database is reported, not created", async () => {
    const missing = { DATABASE_URL: "sqlite:/nowhere/to/be/found.db" };
    const { code, stderr } = await runKeys(missing, "list");
    expect([code, stderr]).toEqual([
      2,
      expect.stringMatching(/^There is no database at \/nowhere\/to\/be\/found\.db\. /),
    ]);
  });

  test("a database that cannot be opened is reported", async () => {
    const { code, stderr } = await runKeys({ DATABASE_URL: "sqlite:/dev/null/x.db" }, "create-merchant", "Ada");
    expect(code).toBe(2);
    expect(stderr).toMatch(/^Cannot open the database .+ Check DATABASE_URL\.\n$/);
  });
});
