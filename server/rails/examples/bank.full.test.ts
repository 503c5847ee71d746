// The example of the page "Rails", as its readers copy it. The suite for rails tests it in package.test.ts.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { readdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, expect, test } from "vitest";
import { startServer } from "../../testing/server.ts";
import { openRails } from "../open.ts";
import { checkedRail } from "../checked-rail.ts";
import { RailError } from "../module.ts";

const page = readFileSync(join(import.meta.dirname, "../../docs/rails.md"), "utf8");
const folder = mkdtempSync(join(tmpdir(), "bank-"));
afterAll(() => rmSync(folder, { recursive: true }));

const module = join(folder, "bank.ts");
const [, example = ""] = /<!-- bank\.ts -->\n\n```ts\n(.*?)```/s.exec(page) ?? [];
const types = pathToFileURL(join(import.meta.dirname, "../module.ts")).href;
writeFileSync(module, example.replace("@disbursement-checkout/server/rail", types));

/** The files of a payment in the folders through which the bank moves them. */
const filesOf = async (reference: string) => {
  const lists = await Promise.all(["out", "taken"].map((name) => readdir(join(folder, name))));
  return lists.flat().filter((name) => name.startsWith(reference));
};

test("a live server pays over the file that RAILS names", async () => {
  const settings = [{ name: "test", module, settings: { folder } }];
  const clock = { now: () => 0 };
  const rails = await openRails(
    { rails: settings, routes: [{ rail: "test" }], attentionAfterMinutes: 60 },
    { clock, warn: () => {} },
  );
  const gateway = await startServer({ env: { SANDBOX: "false" }, rails });
  const { reference } = (await gateway.createPayout({})).body.data;
  await gateway.pass(0);
  expect(await filesOf(reference)).toEqual([`${reference}.csv`]);
  await writeFile(join(folder, "results", `${reference}.csv`), "paid");
  await gateway.pass(60_000);
  expect((await gateway.request("GET", `/v1/disbursements/${reference}`)).body.data.status).toBe("success");
  expect((await gateway.createCheckout({})).body.code).toBe("not_served");
  await gateway.close();
});

test("an error whose name is RailError needs no class", async () => {
  const refused = Object.assign(new Error("busy"), { name: "RailError", options: { retryAfterMs: 5_000 } });
  const rail = checkedRail({ pay: () => Promise.reject(refused), find: () => Promise.reject(new Error("broken")) });
  const payment = {
    kind: "disbursement",
    reference: "DSB1",
    amount: 1,
    country: "CI",
    currency: "XOF",
    createdAt: 0,
  } as const;
  const call = { signal: new AbortController().signal, notifyUrl: "", returnUrl: "", inDoubt: false };
  const error: unknown = await rail.pay(payment, call).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(RailError);
  expect(error).toMatchObject({ message: "busy", options: { retryAfterMs: 5_000 } });
  await expect(rail.find(payment, call)).rejects.not.toBeInstanceOf(RailError);
});
