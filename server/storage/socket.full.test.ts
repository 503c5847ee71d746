// Commands use the storage of a running server through a socket beside its SQLite file.
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { stop, startTestServer, useFolder } from "../testing/resources.ts";
import { runKeys } from "../testing/process.ts";

const pathOf = useFolder();
let path: string;
beforeEach(() => {
  path = pathOf("server.db");
});
const envOf = (file: string) => ({ DATABASE_URL: `sqlite:${file}`, LOG_LEVEL: "warn" });
const sockets = () => readdirSync(pathOf()).filter((name) => name.endsWith(".socket"));

test("the socket ends with the server; one that a crash left harms neither a command nor a start", async () => {
  const env = envOf(path);
  const first = await startTestServer(env);
  expect(sockets()).toEqual(["server.db.socket"]);
  first.kill("SIGKILL");
  await first.ended;
  expect(sockets()).toEqual(["server.db.socket"]);
  expect((await runKeys(env, "create-merchant", "Ada")).code).toBe(0);
  const second = await startTestServer(env);
  expect((await runKeys(env, "merchants")).stdout).toContain("Ada");
  await stop(second);
  expect(sockets()).toEqual([]);
});

test.each<[string, () => string]>([
  ["its path is too long for a socket", () => pathOf("long".repeat(30), "server.db")],
  ["a file has the socket's name", () => (writeFileSync(`${path}.socket`, "precious"), path)],
])("commands are refused if %s, and the server says so", async (_, make) => {
  const file = make();
  mkdirSync(dirname(file), { recursive: true });
  const server = await startTestServer(envOf(file));
  const { code, stderr } = await runKeys(envOf(file), "create-merchant", "Ada");
  expect([code, stderr]).toEqual([
    2,
    expect.stringMatching(/^Another server or command is using .+ Stop it, or set DATABASE_URL to another file\.\n$/),
  ]);
  await stop(server);
  expect(server.output()).toMatch(/commands are refused while this server runs/);
  expect((await runKeys(envOf(file), "create-merchant", "Ada")).code).toBe(0);
});
