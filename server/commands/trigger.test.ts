import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { startProcess } from "../testing/process.ts";
import { reservePort } from "../../scripts/testing/reserve-port.ts";
import { startServer, type TestServer } from "../testing/server.ts";
import { trigger } from "./trigger.ts";

let server: TestServer;
let live: TestServer;
beforeAll(async () => {
  [server, live] = await Promise.all([startServer(), startServer({ env: { SANDBOX: "false" }, seed: 2 })]);
});
afterAll(() => Promise.all([server.close(), live.close()]));

let printed: string[];
beforeEach(() => {
  printed = [];
  vi.spyOn(console, "log").mockImplementation((text: string) => void printed.push(text));
});
afterEach(() => vi.restoreAllMocks());

const run = (...args: string[]) => trigger([...args, "--base-url", server.url], { API_KEY: server.key });
const records = async (kind: string) => (await server.request("GET", `/v1/${kind}?limit=1`)).body.data.items;

test.each([
  ["disbursement.completed", "disbursements", "success"],
  ["disbursement.failed", "disbursements", "failed"],
  ["checkout.completed", "checkouts", "success"],
  ["checkout.failed", "checkouts", "failed"],
  ["checkout.cancelled", "checkouts", "cancelled"],
])("makes %s happen and prints it", async (event, kind, status) => {
  expect(await run(event)).toBe(0);
  const [{ reference, ...record }] = await records(kind);
  expect(record.status).toBe(status);
  const { items } = (await server.request("GET", `/sandbox/events?reference=${reference}`)).body.data;
  expect(items).toMatchObject([{ body: { event } }]);
  expect(printed.join("\n")).toBe(
    `${event}  ${reference}  ${items[0].id}\nGoes to nobody: there is no webhookURL or default address`,
  );
});

test("sets the fields that are overridden", async () => {
  const url = "http://127.0.0.1:1/a?b=c";
  await run("disbursement.failed", "--override", "amount=777", "--override", `webhookURL=${url}`);
  expect(await records("disbursements")).toMatchObject([{ amount: 777, webhookURL: url, status: "failed" }]);
  expect(printed.join("\n")).toContain(`Goes to ${url}`);
  await run("disbursement.completed", "--override", "phoneNumber=233241234001", "--override", "country=GH", "--json");
  expect(JSON.parse(printed.at(-1)!)).toMatchObject({
    body: { event: "disbursement.completed", data: { country: "GH", customer: { phoneNumber: "233241234001" } } },
  });
});

test.each([
  [["disbursement.complete"], "There is no event disbursement.complete. Did you mean disbursement.completed?"],
  [["checkout.failed", "--override", "ammount=5"], "A CheckoutRequest has no field ammount. Did you mean amount?"],
  [["checkout.failed", "--override", "toString=5"], "A CheckoutRequest has no field toString."],
  [["checkout.failed", "--override", "amount"], "--override amount must have the form FIELD=VALUE."],
  [["checkout.failed", "--override", "amount=1.5"], "amount must be a whole number."],
  [["disbursement.failed", "--override", "phoneNumber=2257038102001"], "phoneNumber must end in 002"],
  [[], "Usage: "],
  [["checkout.failed", "more"], "Usage: "],
  [["checkout.failed", "--api-key-file", "/nowhere/at/all"], "The API key cannot be read: ENOENT"],
  [["checkout.failed", "sk_abc"], "An argument is a key or secret."],
])("refuses %j and creates nothing", async (args, message) => {
  const before = await records("checkouts");
  await expect(run(...args)).rejects.toThrow(message);
  expect(await records("checkouts")).toEqual(before);
});

test("passes on what the server says of an invalid value", async () => {
  await expect(run("checkout.failed", "--override", "amount=0")).rejects.toThrow(/amount/);
});

test("does nothing on a live service", async () => {
  const args = ["disbursement.completed", "--base-url", live.url];
  await expect(trigger(args, { API_KEY: live.key })).rejects.toThrow(/is no sandbox\. Nothing was done\./);
  expect((await live.request("GET", "/v1/disbursements")).body.data.items).toEqual([]);
});

test("reads the key from a file, and says where one is expected", async () => {
  const folder = mkdtempSync(join(tmpdir(), "trigger-"));
  writeFileSync(join(folder, "key"), `${server.key}\n`);
  const args = ["checkout.failed", "--base-url", server.url];
  expect(await trigger([...args, "--api-key-file", join(folder, "key")], {})).toBe(0);
  rmSync(folder, { recursive: true });
  await expect(trigger(args, {})).rejects.toThrow("Set the variable API_KEY, or give --api-key-file FILE.");
  await expect(trigger(args, { API_KEY: "wrong" })).rejects.toThrow("This API key is not valid.");
  const nobody = `http://127.0.0.1:${await reservePort()}`;
  await expect(trigger(["checkout.failed", "--base-url", nobody], { API_KEY: "x" })).rejects.toThrow(
    `${nobody} does not respond (ECONNREFUSED).`,
  );
});

test("lists the events with the fields that can be set", async () => {
  expect(await trigger(["--list"], {})).toBe(0);
  expect(printed.join("\n")).toMatch(/disbursement\.completed[^]+Fields: reference, amount[^]+checkout\.cancelled/);
});

test("finds the server that runs on the database, and no server after it has stopped", async () => {
  const folder = mkdtempSync(join(tmpdir(), "trigger-"));
  const env = { DATABASE_URL: `sqlite:${join(folder, "server.db")}`, API_KEY: "a-key-for-tests-of-trigger" };
  const started = await startProcess({ ...env, SANDBOX_API_KEY: env.API_KEY });
  expect(await trigger(["checkout.failed"], env)).toBe(0);
  expect(printed.join("\n")).toMatch(/^checkout\.failed {2}CHK/);
  started.kill("SIGTERM");
  await started.ended;
  expect(existsSync(join(folder, "server.db.address"))).toBe(false);
  rmSync(folder, { recursive: true });
});
