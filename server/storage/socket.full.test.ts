// Commands use the storage of a running server through a socket beside its SQLite file.
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { useFolder } from "../testing/places.ts";
import { runCommand, runKeys, startProcess, type ServerProcess } from "../testing/process.ts";

const pathOf = useFolder();
let path: string;
beforeEach(() => {
  path = pathOf("server.db");
});
const sockets = () => readdirSync(pathOf()).filter((name) => name.endsWith(".socket"));

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
  ["its path is too long for a socket", () => pathOf("long".repeat(30), "server.db")],
  ["a file has the socket's name", () => (writeFileSync(`${path}.socket`, "precious"), path)],
])("commands are refused if %s, and the server says so", async (_, make) => {
  const file = make();
  mkdirSync(dirname(file), { recursive: true });
  const server = await start(file);
  const { code, stderr } = await runKeys(envOf(file), "create-merchant", "Ada");
  expect([code, stderr]).toEqual([
    2,
    expect.stringMatching(/^Another server or command is using .+ Stop it, or set DATABASE_URL to another file\.\n$/),
  ]);
  server.kill("SIGTERM");
  expect((await server.ended).code).toBe(0);
  expect(server.output()).toMatch(/commands are refused while this server runs/);
  expect((await runKeys(envOf(file), "create-merchant", "Ada")).code).toBe(0);
});
