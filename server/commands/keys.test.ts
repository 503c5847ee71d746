import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createSystemClock } from "../domain/clock.ts";
import { createIds } from "../domain/ids.ts";
import { createKey, createMerchant } from "../domain/merchants.ts";
import { MOST_KEYS } from "../domain/keys.ts";
import { openStorage } from "../storage/open.ts";
import { aCheckout, aPayout } from "../testing/server.ts";
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

const leadsTo = async (cookie: string) =>
  (await fetch(`${server.url}/dashboard/team`, { headers: { cookie }, redirect: "manual" })).headers.get("location");

async function keys(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await runKeys(env, ...args);
  expect([code, stderr]).toEqual([0, ""]);
  return stdout;
}
const statusWith = async (key: string) => (await server.client(key).request("GET", "/sandbox/clock")).status;

describe("beside a running server", () => {
  test("a new key works immediately, and is refused immediately after it is revoked", async () => {
    const [, merchantId] = /^(\S+) {2}Sandbox Merchant$/m.exec(await keys("merchants"))!;
    const [key] = /(?:test|live)_\w+/.exec(await keys("create", merchantId!, "--name", "Payroll"))!;
    expect(await statusWith(key)).toBe(200);

    const listed = await keys("list");
    expect(listed).not.toContain(key);
    const [, id] = new RegExp(
      `^(\\S+) {2}…${key.slice(-4)} {2}merchant ${merchantId} {2}Payroll {2}may do everything {2}created \\S+ {2}never used {2}active$`,
      "m",
    ).exec(listed)!;
    expect(await keys("revoke", id!)).toBe(`Revoked ${id}\n`);
    expect(await statusWith(key)).toBe(401);
    expect(await statusWith(KEY)).toBe(200);
    expect(await keys("list")).toMatch(new RegExp(`^${id} .+ revoked \\d{4}-`, "m"));
  });

  test("a key with scopes may do only that, and lists and the audit trail show the scopes", async () => {
    const [, merchantId] = /^(\S+) {2}Sandbox Merchant$/m.exec(await keys("merchants"))!;
    const [key] = /test_\w+/.exec(await keys("create", merchantId!, "--name", "Shop", "--scopes", "checkout,read"))!;
    const { status, body } = await server.client(key).request("GET", "/sandbox/clock");
    expect([status, body.code]).toEqual([403, "key_not_permitted"]);
    expect((await server.client(key).request("GET", "/v1/checkouts")).status).toBe(200);
    expect(await keys("list")).toMatch(/ {2}Shop {2}may read, checkout {2}created /);
    expect(JSON.parse(await keys("list", "--json")).items).toContainEqual(
      expect.objectContaining({ name: "Shop", scopes: ["read", "checkout"] }),
    );
    expect(await keys("audit", merchantId!)).toMatch(/ {2}key\.create {2}.* {2}name Shop {2}scopes read,checkout$/m);
  });

  test("limits of a key and a merchant take effect immediately, and lists and the audit trail show them", async () => {
    const [, id, key] = /^Merchant (\S+)\n.*: (test_\w+)\n$/.exec(await keys("create-merchant", "Limited"))!;
    const [keyId] = new RegExp(`^\\S+(?=.*merchant ${id})`, "m").exec(await keys("list"))!;
    const create = async () => {
      const { body } = await server.client(key!).request("POST", "/v1/disbursements", { body: aPayout() });
      return body.message as string | undefined;
    };
    const limits = ["--per-payment", "XOF:9999", "--recipients", "2257038102473"];
    expect(await keys("limit", keyId, ...limits)).toBe(
      `${keyId}  limits perPayment XOF:9999  recipients 2257038102473\n`,
    );
    expect(await create()).toMatch("A limit of this API key refuses this payout: per payment XOF:9999.");
    expect(await keys("limit", keyId)).toBe(`${keyId}  no limits\n`);
    await keys("limit-merchant", id!, "--per-day", "XOF:10000");
    expect(await create()).toBeUndefined();
    expect(await create()).toMatch("per day (UTC) XOF:10000, of which 10000 XOF are used");
    expect(await keys("merchants")).toContain(`${id}  Limited  limits perDay XOF:10000\n`);
    expect(await keys("audit", id!)).toMatch(
      / {2}key\.limit {2}.* {2}perPayment XOF:9999 {2}recipients 2257038102473$/m,
    );
  });

  test("a merchant's fees and rate limit are set, listed and removed", async () => {
    const [, id, key] = /^Merchant (\S+)\n.*: (test_\w+)\n$/.exec(await keys("create-merchant", "Agreed"))!;
    const feeOf = async (path: string, body: object) => {
      const made = await server.client(key!).request("POST", path, { body });
      return [made.status, made.body.data?.fee];
    };
    const usual = [await feeOf("/v1/disbursements", aPayout()), await feeOf("/v1/checkouts", aCheckout())];
    const terms = ["--disbursement-fee", "250+7", "--checkout-fee", "0", "--rate-limit", "2000"];
    const text = "disbursementFee 250+7  checkoutFee 0  rateLimit 2000";
    expect(await keys("merchant-terms", id!, ...terms)).toBe(`${id}  ${text}\n`);
    expect(await keys("merchants")).toContain(`${id}  Agreed  ${text}\n`);
    const agreed = [await feeOf("/v1/disbursements", aPayout()), await feeOf("/v1/checkouts", aCheckout())];
    expect(agreed).not.toEqual(usual);
    expect(await runKeys(env, "merchant-terms", id!, "--checkout-fee", "10000")).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^checkoutFee must be up to 9999 basis points, .*, such as 350\./),
    });
    expect(await keys("merchant-terms", id!)).toBe(`${id}  fees and rate limit as the server's settings say\n`);
    expect([await feeOf("/v1/disbursements", aPayout()), await feeOf("/v1/checkouts", aCheckout())]).toEqual(usual);
    expect(await keys("audit", id!)).toMatch(
      / {2}merchant\.terms {2}.* {2}disbursementFee 250\+7 {2}checkoutFee 0 {2}rateLimit 2000$/m,
    );
  });

  test("payouts that wait for approval are listed, approved and rejected, but not by who created the key", async () => {
    const [, id, key] = /^Merchant (\S+)\n.*: (test_\w+)\n$/.exec(await keys("create-merchant", "Approving"))!;
    await keys("limit-merchant", id!, "--approval-from", "XOF:10000");
    const create = async () => {
      const { body } = await server.client(key!).request("POST", "/v1/disbursements", { body: aPayout() });
      return body.data.reference as string;
    };
    const reference = await create();
    expect(await keys("approvals", id!)).toMatch(
      new RegExp(`^${reference} {2}merchant ${id} {2}XOF\\s100\\.00 {2}to 2257038102473 {2}fails at \\S+\n$`),
    );
    expect(await runKeys(env, "approve", id!, reference)).toMatchObject({
      code: 2,
      stderr:
        "You made it or created its API key, or a sign-in link connects you with the person who did. Somebody else must approve it.\n",
    });
    expect(await keys("reject", id!, reference, "--reason", "A test")).toBe(`Rejected ${reference}\n`);
    const { body } = await server.client(key!).request("GET", `/v1/disbursements/${reference}`);
    expect(body.data).toMatchObject({ status: "failed", failure: { code: "not_approved" } });
    expect(await keys("approvals", id!)).toBe("None.\n");
    expect(await keys("audit", id!)).toMatch(/ {2}payment\.reject {2}.* {2}reason A test$/m);

    // A key that a starting server created has no creator who could approve.
    const [, first] = /^(\S+) {2}Sandbox Merchant$/m.exec(await keys("merchants"))!;
    await keys("limit-merchant", first!, "--approval-from", "XOF:10000");
    const sent = await server.client(KEY).request("POST", "/v1/disbursements", { body: aPayout() });
    await keys("limit-merchant", first!);
    expect(await keys("approve", first!, sent.body.data.reference)).toBe(`Approved ${sent.body.data.reference}\n`);
    expect(await keys("approvals")).toBe("None.\n");
  });

  test("a new merchant has a key and no access to other merchants' records", async () => {
    const [, id, key] = /^Merchant (\S+)\nKey \(shown only once\): ((?:test|live)_\w+)\n$/.exec(
      await keys("create-merchant", "  Kofi & Söhne "),
    )!;
    expect(await keys("merchants")).toContain(`${id}  Kofi & Söhne\n`);
    const { body } = await server.client(key!).request("GET", "/sandbox/events");
    expect(body.data).toEqual({ items: [] });
  });
});

test("a merchant is renamed, suspended, reopened, and closed for good", async () => {
  const [, id, key] = /^Merchant (\S+)\n.*: (test_\w+)\n$/.exec(await keys("create-merchant", "Old"))!;
  const client = server.client(key!);
  const create = async () => (await client.request("POST", "/v1/disbursements", { body: aPayout() })).body.code;
  const untilIt = async (returns: unknown) => {
    await expect.poll(create).toBe(returns);
  };
  await keys("rename-merchant", id!, "New");
  await keys("suspend-merchant", id!);
  await untilIt("merchant_suspended");
  expect(await keys("merchants")).toContain(`${id}  New  suspended\n`);
  expect((await client.request("GET", "/v1/disbursements")).body.data.items).toEqual([]);
  expect(await keys("reopen-merchant", id!)).toBe(`The merchant ${id} is active.\n`);
  await untilIt(undefined);

  const asked = await runKeys(env, "close-merchant", id!);
  expect([asked.code, asked.stderr]).toEqual([
    2,
    expect.stringMatching(/^This would close New for good: .+ Add --yes\.\n$/),
  ]);
  await untilIt(undefined);
  await keys("close-merchant", id!, "--yes");
  await untilIt("unauthorized");
  const { items } = JSON.parse(await keys("merchants", "--json"));
  expect(items).toContainEqual(expect.objectContaining({ id, name: "New", state: "closed" }));
  expect(await runKeys(env, "reopen-merchant", id!)).toMatchObject({
    code: 2,
    stderr: `The merchant ${id} is closed for good.\n`,
  });
  expect(await runKeys(env, "create", id!)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("closed this merchant"),
  });
  expect((await keys("audit", id!)).match(/merchant\.\w+/g)!.toReversed()).toEqual(
    ["create", "rename", "suspend", "reopen", "close"].map((action) => `merchant.${action}`),
  );
}, 60_000);

test("a link signs in to the dashboard of a running server, once", async () => {
  const [, id] = /^(\S+) {2}Sandbox Merchant$/m.exec(await keys("merchants"))!;
  const printed = await keys("dashboard-link", id!, "--name", "Kofi");
  expect(printed).toContain("It works once, within 10 minutes, for this merchant only.\n");
  // The system has chosen the server's port, which the command finds beside the database.
  const [, address, token] = /^(http:\/\/127\.0\.0\.1:\d+)\/dashboard\/sign-in\?token=([\w-]{43})\n/.exec(printed)!;
  expect(address).toBe(server.url);
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
  expect(audit).toMatch(/ {2}merchant Kofi {2}dashboard\.sign-in {2}/);
  expect(audit).toMatch(/ {2}command \S+@\S+ {2}dashboard\.link {2}/);
  expect(audit).not.toContain(token);
  await keys("dashboard-link");
  expect(await keys("audit")).toMatch(/ {2}dashboard\.link {2}all merchants {2}/);
});

test("sessions lists who is signed in, and end-sessions signs them out", async () => {
  const [, id] = /^(\S+) {2}Sandbox Merchant$/m.exec(await keys("merchants"))!;
  const signIn = async (...args: string[]) => {
    const [, token] = /token=([\w-]{43})\n/.exec(await keys("dashboard-link", ...args))!;
    const response = await fetch(`${server.url}/dashboard/sign-in`, {
      method: "POST",
      body: new URLSearchParams({ token: token! }),
      headers: { origin: server.url },
      redirect: "manual",
    });
    return response.headers.getSetCookie()[0]!.split(";", 1)[0]!;
  };
  const [esi, ama] = [await signIn(id!, "--name", "Esi"), await signIn("--name", "Ama", "--role", "viewer")];
  await keys("dashboard-link", id!, "--name", "Yaw");

  const listed = await keys("sessions");
  const [, session] = /^(\S+) {2}Ama {2}operator {2}viewer {2}since \S+ {2}last seen \S+$/m.exec(listed)!;
  expect(listed).toMatch(new RegExp(`^\\S+ {2}Esi {2}merchant ${id} {2}administrator {2}since `, "m"));
  expect(listed).toMatch(new RegExp(`^unused link {2}Yaw {2}merchant ${id} {2}administrator {2}works until `, "m"));
  const ofMerchant = await keys("sessions", id!, "--json");
  expect(ofMerchant).not.toContain("Ama");
  const { items } = JSON.parse(ofMerchant) as { items: object[] };
  expect(items).toContainEqual(
    expect.objectContaining({ kind: "session", name: "Esi", role: "merchant", may: "administrator" }),
  );

  expect(await keys("end-sessions", id!, "--name", "Esi")).toBe("Ended: 1\n");
  expect(await leadsTo(esi)).toBe("/dashboard/sign-in");
  expect(await leadsTo(ama)).toBeNull();
  expect(await keys("end-sessions", "--session", session!)).toBe("Ended: 1\n");
  expect(await leadsTo(ama)).toBe("/dashboard/sign-in");
  expect(await keys("audit", id!)).toMatch(
    / {2}command \S+@\S+ {2}dashboard\.sign-out {2}.+ {2}name Esi {2}session all$/m,
  );
}, 180_000);

test("a merchant with too many keys gets no further one", async () => {
  const clock = createSystemClock();
  const storage = await openStorage({ kind: "sqlite", path: join(folder, "server.db") }, { clock, server: false });
  const context = { storage, clock, ids: createIds(randomBytes), random: randomBytes, actor: "command a@b" } as const;
  const { id } = await createMerchant(context, "Full");
  await Promise.all(Array.from({ length: MOST_KEYS }, () => createKey(context, id)));
  await storage.close();
  const { code, stderr } = await runKeys(env, "create", id);
  expect([code, stderr]).toEqual([2, expect.stringMatching(/^The merchant has 100 API keys, .+ Revoke a key /)]);
});

describe("errors exit with 2 and say what to do", () => {
  test.each<[string[], RegExp]>([
    [[], /^Usage: npx --no -- disbursement-checkout keys COMMAND\n\n {2}merchants \[--json\]\n/],
    [["help"], /^Usage/],
    [["toString"], /^Usage/],
    [
      ["create"],
      /^Usage: npx --no -- disbursement-checkout keys create MERCHANT \[--name NAME\] \[--scopes SCOPES\]\n$/,
    ],
    [["list", "more"], /^Usage: npx --no -- disbursement-checkout keys list \[--json\]\n$/],
    [["list", "--all"], /^Unknown option '--all'.*\nUsage: /],
    [["revoke", "sk_confidential"], /^An argument is a key or secret\. [^_]+$/],
    [["end-sessions"], /^Give either --name, for all .+, or --session for one session\.\n$/],
    [["end-sessions", "--name", "A", "--session", "b"], /^Give either --name/],
    [["end-sessions", "--name", "nobody"], /^No operator has such a session or link\. List them with/],
    [["sessions", "nobody"], /^There is no merchant nobody/],
    [["create-merchant", " "], /^NAME must have 1 to 100 characters\.\n$/],
    [["create-merchant", "x".repeat(101)], /^NAME must have/],
    [["create-merchant", "A\u200bda"], /^A name has 1 to 100 characters, and no control or invisible characters\.\n$/],
    [["dashboard-link", "--name", "A\u202eda"], /^A name has 1 to 100 characters/],
    [
      ["create", "nobody"],
      /^There is no merchant nobody\. Run `npx --no -- disbursement-checkout keys merchants` to list them\.\n$/,
    ],
    [["create", "m", "--scopes", "pay"], /^--scopes must be one of read, disburse, checkout\.\n/],
    [["reject", "m", "DSB1"], /^Give a reason, for the audit trail: --reason TEXT\.\n$/],
    [["limit", "nothing"], /^There is no key nothing\. /],
    [["limit", "k", "--per-day", "5"], /^The limit perDay is not valid\. It lists values with commas, such as XOF:/],
    [
      ["revoke", "nothing"],
      /^There is no key nothing\. Run `npx --no -- disbursement-checkout keys list` to list them\.\n$/,
    ],
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

  test("a link is refused where the server has no dashboard", async () => {
    const DATABASE_URL = `sqlite:${join(folder, "live.db")}`;
    const live = { DATABASE_URL, SANDBOX: "false", PUBLIC_URL: "http://pay.example" };
    expect((await runKeys(live, "create-merchant", "Ada")).code).toBe(0);
    const { code, stdout, stderr } = await runKeys(live, "dashboard-link");
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toMatch(
      /^A live server serves no dashboard over plain http, .+ Set PUBLIC_URL to an https address\.\n$/,
    );
  });

  test("a database that cannot be opened is reported", async () => {
    const { code, stderr } = await runKeys({ DATABASE_URL: "sqlite:/dev/null/x.db" }, "create-merchant", "Ada");
    expect(code).toBe(2);
    expect(stderr).toMatch(/^Cannot open the database .+ Check DATABASE_URL\.\n$/);
  });
});
