import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createLog } from "./log.ts";
import { fillLog } from "./testing/http.ts";
import { testFolder } from "./testing/places.ts";
import { reservePort } from "../conformance/target/reserve-port.ts";

/** Starts the server with this standard output. Its banner cannot be read, so the test asks until it responds. */
async function start(stdout: number | "pipe") {
  const port = await reservePort();
  const { PATH, HOME, NODE_COMPILE_CACHE } = process.env;
  const server = spawn(process.execPath, [join(import.meta.dirname, "main.ts")], {
    env: {
      PATH,
      HOME,
      NODE_COMPILE_CACHE,
      PORT: String(port),
      SANDBOX_API_KEY: "a-key-for-tests-of-the-log",
      DATABASE_URL: `sqlite:${join(testFolder(), "server.db")}`,
    },
    stdio: ["ignore", stdout, "inherit"],
  });
  onTestFinished(() => void server.kill("SIGKILL"));
  for (;;) {
    const response = await fetch(`http://127.0.0.1:${port}/healthz`).catch(() => undefined);
    if (response?.ok) return { server, port };
    if (server.exitCode !== null) throw new Error(`The server ended with ${server.exitCode}`);
  }
}

async function stop(server: ChildProcess) {
  server.kill("SIGTERM");
  const [code] = await once(server, "exit");
  return code as number;
}

test.each<[string, () => number | "pipe", ((server: ChildProcess) => unknown)?]>([
  ["is on a full disk", () => openSync("/dev/full", "w")],
  ["is not read", () => "pipe"],
  ["has lost its reader", () => "pipe", ({ stdout }) => stdout?.destroy()],
])("the server runs and stops if its log %s", async (_, open, disturb) => {
  const output = open();
  const { server, port } = await start(output);
  if (output !== "pipe") closeSync(output);
  disturb?.(server);
  await fillLog(port);
  expect(await stop(server)).toBe(0);
});

test("a log that can be written again says how many lines were dropped", async () => {
  const { server, port } = await start("pipe");
  await fillLog(port);
  let output = "";
  for await (const chunk of server.stdout!) {
    output += String(chunk);
    if (/"dropped":[1-9]\d*,"msg":"log lines were dropped/.test(output)) break;
  }
  expect(output).toContain("log lines were dropped");
});

test("shows no phone number that an error or a refused address contains", async () => {
  const path = join(testFolder(), "log");
  const fd = openSync(path, "w");
  const { log, flush } = createLog("info", fd);
  const context = { phone: 2_257_038_102_473, numbers: ["2257038102473"], deep: { key: "+225 70 38 10 24 73" } };
  const error = Object.assign(new Error("invalid input: 2257038102473"), context, {
    cause: new Error("2257038102473"),
  });
  Object.assign(error, { itself: error });
  log.error({ err: error, status: 500 }, "unexpected error");
  log.warn({ detail: "2257038102473.example resolves to 10.0.0.5" }, "a webhook was refused");
  await flush(1_000);
  closeSync(fd);
  const lines = readFileSync(path, "utf8");
  expect(lines).not.toMatch(/70381024|70 38 10 24/);
  expect(lines).toContain("invalid input: …473");
  expect(lines).toContain("…473.example resolves to 10.0.0.5");
  expect(lines).toMatch(/"time":\d{13},.*"status":500/);
});
