// Tests the README's walkthrough with the tools that it uses, which are curl and scripts/receiver.ts.
import { execFile, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";

const KEY = "walkthrough-key-0000";
const path = (file: string) => fileURLToPath(new URL(file, import.meta.url));
const children: ChildProcess[] = [];
let server: string;

/** Starts a script and iterates over the lines that it prints. */
function start(file: string, args: string[], env: Record<string, string>): AsyncIterableIterator<string> {
  const child = spawn(process.execPath, [path(file), ...args], {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  children.push(child);
  return createInterface({ input: child.stdout })[Symbol.asyncIterator]();
}

async function curl(...args: string[]): Promise<any> {
  const { stdout } = await promisify(execFile)("curl", ["-sS", "-H", `x-api-key: ${KEY}`, ...args]);
  return JSON.parse(stdout).data;
}

const post = (to: string, body: object) =>
  curl(server + to, "-H", "content-type: application/json", "-d", JSON.stringify(body));

beforeAll(async () => {
  const env = { PORT: "0", DATABASE_URL: "sqlite::memory:", SANDBOX_API_KEY: KEY, LOG_LEVEL: "silent" };
  for await (const line of start("../server/main.ts", [], env)) {
    const [url] = /http:\/\/127\.0\.0\.1:\d+/.exec(line) ?? [];
    if (url) return void (server = url);
  }
});

afterAll(async () => {
  for (const child of children.filter(({ exitCode }) => exitCode === null)) {
    child.kill();
    await once(child, "exit");
  }
});

test("the receiver finds the server that runs in its folder, and says what to do about a port in use", async () => {
  const env = { DATABASE_URL: `sqlite:${await mkdtemp(join(tmpdir(), "walkthrough-"))}/server.db`, API_KEY: KEY };
  const lines = start("../server/main.ts", [], { ...env, PORT: "0", SANDBOX_API_KEY: KEY, LOG_LEVEL: "silent" });
  for await (const line of lines) if (line.includes("curl")) break;
  const { value } = await start("receiver.ts", ["0"], env).next();
  const [, port] = /^Receiving webhooks at http:\/\/127\.0\.0\.1:(\d+)\/$/.exec(value)!;
  const second = promisify(execFile)(process.execPath, [path("receiver.ts"), port!], {
    env: { ...process.env, ...env },
  });
  await expect(second).rejects.toMatchObject({
    stderr: `Port ${port} is in use, perhaps by a receiver that runs already. Stop it, or choose another port.\n`,
  });
});

test("sends a webhook with the verified record once a payout settles", async () => {
  const received = start("receiver.ts", ["0", server], { API_KEY: KEY });
  const [webhookURL] = /http:\S+/.exec((await received.next()).value)!;

  const { reference } = await post("/v1/disbursements", {
    reference: "walkthrough-1",
    amount: 10_000,
    phoneNumber: "2257038102473",
    country: "CI",
    currency: "XOF",
    webhookURL,
  });
  await post("/sandbox/clock/advance", { seconds: 2 });

  const { event, data } = JSON.parse((await received.next()).value);
  expect(event).toBe("disbursement.completed");
  expect(data).toEqual(await curl(`${server}/v1/disbursements/${reference}`));
  expect(data.status).toBe("success");
});
