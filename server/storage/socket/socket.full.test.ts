// Commands beside a server process use the storage of a running server through a socket beside its SQLite file.
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { runCommand, runKeys, startProcess, type ServerProcess } from "../../testing/process.ts";
import { aPayout } from "../../testing/server.ts";

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "socket-"));
  path = join(folder, "server.db");
});
afterEach(() => rmSync(folder, { recursive: true }));

const sockets = () => readdirSync(folder).filter((name) => name.endsWith(".socket"));

describe("commands beside a server process", () => {
  const KEY = "a-key-for-tests-of-the-socket";
  const started: ServerProcess[] = [];
  afterEach(async () => {
    for (const server of started.splice(0)) {
      server.kill("SIGKILL");
      await server.ended;
    }
  });
  const envOf = (file: string) => ({ DATABASE_URL: `sqlite:${file}`, SANDBOX_API_KEY: KEY, LOG_LEVEL: "warn" });
  async function start(file = path): Promise<ServerProcess> {
    const server = await startProcess(envOf(file));
    started.push(server);
    return server;
  }

  test("without -shm, a writing command under load loses no acknowledged payout", async () => {
    const server = await start();
    const { request } = server.client(KEY);
    const acknowledged: string[] = [];
    let load = true;
    async function pay() {
      while (load) {
        const { status, body } = await request("POST", "/v1/disbursements", { body: aPayout() });
        if (status === 200) acknowledged.push(body.data.reference);
      }
    }
    const paying = [pay(), pay(), pay()];
    await expect.poll(() => acknowledged.length).toBeGreaterThan(20);
    rmSync(`${path}-shm`);
    const command = await runKeys(envOf(path), "create-merchant", "Ada");
    expect([command.code, command.stderr]).toEqual([2, expect.stringMatching(/-shm file .+ was deleted or replaced/)]);
    load = false;
    await Promise.all(paying);
    server.kill("SIGTERM");
    expect((await server.ended).code).toBe(0);
    const next = await start();
    for (const reference of acknowledged) {
      expect((await next.client(KEY).request("GET", `/v1/disbursements/${reference}`)).status).toBe(200);
    }
  });

  test("the socket ends with the server; one that a crash left harms neither a command nor a start", async () => {
    const first = await start();
    expect(sockets()).toEqual(["server.db.socket"]);
    first.kill("SIGKILL");
    await first.ended;
    expect(sockets()).toEqual(["server.db.socket"]);
    expect((await runKeys(envOf(path), "create-merchant", "Ada")).code).toBe(0);
    const second = await start();
    expect((await runKeys(envOf(path), "merchants")).stdout).toContain("Ada");
    expect((await runCommand(envOf(path), "db", "prune", "--older-than", "1d")).code).toBe(0);
    second.kill("SIGTERM");
    await second.ended;
    expect(sockets()).toEqual([]);
  });

  test.each<[string, () => string]>([
    ["its path is too long for a socket", () => join(folder, "long".repeat(30), "server.db")],
    ["a file has the socket's name", () => (writeFileSync(`${path}.socket`, "precious"), path)],
  ])("commands are refused if %s, and the server says so", async (_, make) => {
    const file = make();
    mkdirSync(dirname(file), { recursive: true });
    const server = await start(file);
    const { code, stderr } = await runKeys(envOf(file), "create-merchant", "Ada");
    expect([code, stderr]).toEqual([
      2,
      expect.stringMatching(
        /^Another server is using .+ Stop it, or use its dashboard: it takes no commands now \(.+\)\.\n$/,
      ),
    ]);
    server.kill("SIGTERM");
    expect((await server.ended).code).toBe(0);
    expect(server.output()).toMatch(/commands are refused while this server runs/);
    expect((await runKeys(envOf(file), "create-merchant", "Ada")).code).toBe(0);
  });
});
