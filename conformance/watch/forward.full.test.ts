// A forward with its judge in a process of its own, as `certify watch --listen` starts it.
import { execFileSync } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { Agent, createServer, request, type IncomingMessage } from "node:http";
import { connect, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { reportIn, startCertify } from "../testing/command-line.ts";

/** Responds with the hash of the body, once `released` resolves. */
let released: Promise<unknown>;
const service = createServer((incoming, response) => {
  const hash = createHash("sha256");
  incoming.on("data", (chunk: Buffer) => hash.update(chunk));
  incoming.on("end", () => void released.then(() => response.end(hash.digest("hex"))));
});
service.listen(0, "127.0.0.1");
await once(service, "listening");
const target = `http://127.0.0.1:${(service.address() as AddressInfo).port}`;

let watch: ReturnType<typeof startCertify>;
let output: string;
let urls: string[];
let folder: string;
let agent: Agent;

beforeEach(async () => {
  released = Promise.resolve();
  agent = new Agent({ keepAlive: true, maxSockets: 1 });
  folder = mkdtempSync(join(tmpdir(), "watch-"));
  const started = Promise.withResolvers<void>();
  const listen = ["--listen", "127.0.0.1:0", "--webhooks-to", target, "--webhooks-listen", "127.0.0.1:0"];
  watch = startCertify(["watch", "--target", target, ...listen, "--report", folder], {
    env: {},
    onOutput(text) {
      output = text;
      if (text.includes("SIGTERM or Ctrl-C")) started.resolve();
    },
  });
  await started.promise;
  urls = [...output.matchAll(/Forwarding (\S+)/g)].map(([, url]) => url!);
});
afterEach(() => {
  agent.destroy();
  watch.child.kill("SIGKILL");
  rmSync(folder, { recursive: true });
});

/** Sends a body, and expects the service's response to it. */
async function exchange(body: Buffer = randomBytes(10), url = urls[0]!): Promise<void> {
  const sent = request(url, { method: "POST", headers: { "x-api-key": "k" }, agent }).end(body);
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  expect(String(await response.reduce((all: string, chunk: Buffer) => all + chunk.toString(), ""))).toBe(
    createHash("sha256").update(body).digest("hex"),
  );
}

function signalJudge(signal: NodeJS.Signals): void {
  process.kill(Number(execFileSync("pgrep", ["-P", String(watch.child.pid)])), signal);
}

/** Sends SIGTERM. Resolves when the watch accepts no connection any more. */
async function terminate(): Promise<void> {
  watch.child.kill("SIGTERM");
  const port = Number(new URL(urls[0]!).port);
  await expect.poll(async () => once(connect(port).unref(), "connect").catch(String)).toContain("ECONNREFUSED");
}

const watched = async () => (await reportIn(folder))?.watched;

/** Sends an exchange to which the service does not respond until `release` is called. */
async function openExchange() {
  const held = Promise.withResolvers<void>();
  released = held.promise;
  const arrived = once(service, "request");
  const open = exchange();
  await arrived;
  return { open, release: held.resolve };
}

test("an exchange that is open is finished, an idle connection closed, and the report written", async () => {
  await exchange(randomBytes(10), urls[1]);
  await exchange();
  const { open, release } = await openExchange();
  await terminate();
  release();
  await open;
  await watch.ended;
  expect(await watched()).toMatchObject({ exchanges: 2, webhooks: 1, missed: {} });
});

test("a second signal cuts what is open", async () => {
  const { open } = await openExchange();
  await terminate();
  watch.child.kill("SIGTERM");
  await expect(open).rejects.toThrow("ECONNRESET");
  await watch.ended;
  expect(await watched()).toMatchObject({ exchanges: 1 });
});

test("traffic passes when the judge is killed, and the watch says so", async () => {
  await exchange();
  signalJudge("SIGKILL");
  await expect.poll(() => output).toContain("The judge ended (SIGKILL)");
  await exchange(randomBytes(20_000_000));
  agent.destroy();
  watch.child.kill("SIGTERM");
  expect((await watch.ended).code).toBe(2);
});

test("traffic passes when the judge does not run, and what was too much for it is said", async () => {
  await exchange();
  signalJudge("SIGSTOP");
  for (let times = 0; times < 5; times += 1) await exchange(randomBytes(20_000_000));
  signalJudge("SIGCONT");
  agent.destroy();
  watch.child.kill("SIGTERM");
  await watch.ended;
  expect((await watched())?.missed).toEqual({ "parts of connections: the judge fell behind": 1 });
});
