// Runs every command of the guides, as they are served, against a server in a process of its own.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { blocksOf, openTerminal, type Terminal } from "../../../scripts/testing/reader.ts";
import { startProcess, type ServerProcess } from "../../testing/process.ts";
import { reservePort } from "../../../conformance/target/reserve-port.ts";

const KEY = "a-key-for-the-guides-0000";
let server: ServerProcess;
let terminal: Terminal;

beforeAll(async () => {
  server = await startProcess({ DATABASE_URL: "sqlite::memory:", SANDBOX_API_KEY: KEY });
});
afterAll(async () => {
  server.kill("SIGTERM");
  await server.ended;
});
beforeEach(async () => {
  terminal = openTerminal({
    folder: await mkdtemp(join(tmpdir(), "guides-")),
    ports: { server: server.port, receiver: await reservePort() },
    env: { API_KEY: KEY },
    whenShown: () => vi.waitFor(delivered, { timeout: 30_000 }),
  });
});
afterEach(async () => {
  await terminal.close();
  await rm(terminal.folder, { recursive: true });
});

/** The server has recorded the response to the webhook of the guide. */
async function delivered(): Promise<void> {
  const { body } = await server.client(KEY).request("GET", "/sandbox/deliveries?status=delivered");
  if (body.data.items.length !== 1) throw new Error("The webhook is not delivered yet.");
}

test.each(["first-payout", "webhooks", "checkout", "sandbox", "going-live"])(
  "the commands of %s work, with the responses that it shows",
  async (guide) => {
    const markdown = await (await fetch(`${server.url}/docs/${guide}.md`)).text();
    expect(await terminal.follow(blocksOf(markdown))).toBeGreaterThan(1);
    expect(terminal.unshown()).toBe("");
  },
);
