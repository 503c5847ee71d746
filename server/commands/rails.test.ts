// The commands about rails, beside a running SQLite server whose socket they use.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openSqlite } from "../storage/sqlite/index.ts";
import { serveStorage, type ServedStorage } from "../storage/socket/serve.ts";
import { signedIn } from "../testing/dashboard-visitor.ts";
import { runCommand } from "../testing/process.ts";
import { createTestRail, railsOf, type TestRail } from "../testing/rail.ts";
import { startServer, type TestServer } from "../testing/server.ts";

let folder: string;
let env: Record<string, string>;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "rails-"));
  env = { DATABASE_URL: `sqlite:${join(folder, "server.db")}`, SANDBOX: "false" };
});
afterAll(() => rmSync(folder, { recursive: true }));

async function rails(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await runCommand(env, "rails", ...args);
  expect([code, stderr]).toEqual([0, ""]);
  return stdout;
}
const refused = async (...args: string[]) => {
  const { code, stderr } = await runCommand(env, "rails", ...args);
  expect(code).toBe(2);
  return stderr;
};

describe("beside a running server", () => {
  let rail: TestRail;
  let server: TestServer;
  let served: ServedStorage;
  beforeAll(async () => {
    rail = createTestRail();
    const path = join(folder, "server.db");
    server = await startServer({
      env,
      rails: railsOf(rail),
      openStorage: (how) => openSqlite(path, { ...how, mode: "live" }),
    });
    served = await serveStorage(path, server.storage, (reason) => expect.fail(reason));
  });
  afterAll(async () => {
    served.close();
    await server.close();
  });

  async function unknown(): Promise<string> {
    rail.answers.push(new Error("time-out"));
    const { body } = await server.createPayout();
    await server.pass(0);
    return body.data.reference;
  }
  const statusOf = async (reference: string) => (await server.storage.findHandover(reference))!.status;

  test("a payment is listed, shown, and asked about again", async () => {
    const reference = await unknown();
    expect(await rails("attention")).toMatch(
      new RegExp(`^${reference}  payout-.*rail test\n  unknown since 2026-11-20T`),
    );
    expect(await rails("show", reference)).toMatch(/pay: unknown after 0 ms {2}time-out/);
    expect(JSON.parse(await rails("show", reference, "--json"))).toMatchObject({
      payment: { reference, createdAt: "2026-11-20T09:30:00.000Z" },
      exchanges: [{ at: "2026-11-20T09:30:00.000Z", action: "pay", result: "unknown", detail: "time-out" }],
    });
    expect(await rails("list")).toMatch(/^test {2}1 waiting, 0 accepted, 0 conflicts, oldest unknown since/);
    await rails("ask", reference);
    rail.found.push({ status: "success", railReference: "TX-7" });
    await server.pass(0);
    expect(await statusOf(reference)).toBe("success");
    expect(await rails("show", reference)).toContain("\n  the rail's reference: TX-7\n");
    expect(await refused("ask", reference)).toContain("has ended already");
    expect(await refused("show", "DSBunknown")).toContain("There is no payment DSBunknown on a rail.");
    expect(await refused("show", "payout-1")).toContain("which begins with DSB or CHK");
  });

  test("a person decides alone if a setting says so, otherwise with another operator", async () => {
    const [first, second] = [await unknown(), await unknown()];
    const decision = ["--outcome", "failed", "--reason", "not in the rail's books"];
    expect(await refused("decide", first, "--outcome", "failed")).toContain("Give a reason");
    expect(await refused("decide", first, "--reason", "r")).toContain("--outcome success or failed");
    env.ONE_OPERATOR_DECIDES = "true";
    expect(await rails("decide", first, ...decision)).toBe("The payment has ended as failed.\n");
    expect(await refused("decide", first, ...decision)).toContain("has ended already");

    delete env.ONE_OPERATOR_DECIDES;
    const esi = await signedIn(server, { name: "Esi" });
    for (const _ of [1, 2]) expect(await rails("decide", second, ...decision)).toContain("Proposed: failed.");
    expect(await rails("attention")).toContain("proposed failed: not in the rail's books");
    const area = `/m/${server.merchant.id}/payments/${second}`;
    await esi.post(`${area}/decide`, { status: "failed", reason: "I see the same" });
    expect(await statusOf(second)).toBe("failed");
  });

  test("a conflict is closed with a reason", async () => {
    const { body } = await server.createPayout();
    const { reference } = body.data;
    await server.pass(0);
    const report = { exchanges: [], answer: { status: "failed" }, askAgainAfterMs: 0 } as const;
    await server.storage.recordNotification("test", reference, report);
    expect(await rails("attention", server.merchant.id)).toContain("The rail now says that it did not pay");
    await rails("close", reference, "--reason", "paid again by hand");
    expect(await rails("attention")).toBe("None.\n");
    expect(await refused("close", reference, "--reason", "r")).toContain("no open conflict");
  });

  test("a rail is paused and resumed", async () => {
    await unknown();
    expect(await refused("pause", "other", "--reason", "r")).toContain("There is no rail other. Known: test.");
    await rails("pause", "test", "--reason", "maintenance");
    expect(await refused("pause", "test", "--reason", "maintenance")).toContain("is paused already");
    expect(await rails("list")).toMatch(/\n {2}paused by command \S+ since \S+: maintenance/);
    await rails("resume", "test");
    expect(await refused("resume", "test")).toContain("is not paused");
  });
});
