// A forward with its judge in a process of its own, as `certify watch --listen` starts it.
import { execFileSync } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { Agent, createServer, request, type IncomingMessage } from "node:http";
import { connect, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer, text } from "node:stream/consumers";
import { afterEach, beforeEach, expect, test } from "vitest";
import { reportIn, startCertify } from "../testing/command-line.ts";

const hashOf = (body: Buffer) => createHash("sha256").update(body).digest("hex");

/** Responds with the hash of the body, once `released` resolves. */
let released: Promise<unknown>;
const service = createServer(async (incoming, response) => {
  const hash = hashOf(await buffer(incoming));
  await released;
  response.end(hash);
});
service.listen(0, "127.0.0.1");
await once(service, "listening");
const target = `http://127.0.0.1:${(service.address() as AddressInfo).port}`;

let watch: ReturnType<typeof startCertify>;
let urls: string[];
let folder: string;
let agent: Agent;

beforeEach(async () => {
  released = Promise.resolve();
  agent = new Agent({ keepAlive: true, maxSockets: 1 });
  folder = mkdtempSync(join(tmpdir(), "watch-"));
  const listen = ["--listen", "127.0.0.1:0", "--webhooks-to", target, "--webhooks-listen", "127.0.0.1:0"];
  await new Promise<void>((resolve) => {
    watch = startCertify(["watch", "--target", target, ...listen, "--report", folder], {
      env: {},
      onOutput(output) {
        urls = [...output.matchAll(/Forwarding (\S+)/g)].map(([, url]) => url!);
        if (output.includes("SIGTERM or Ctrl-C")) resolve();
      },
    });
  });
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
  expect(await text(response)).toBe(hashOf(body));
}

/** Sends an exchange to which the service does not respond until `release` is called, and then SIGTERM. */
async function stopInExchange() {
  const { promise, resolve: release } = Promise.withResolvers<void>();
  released = promise;
  const arrived = once(service, "request");
  const open = exchange();
  await arrived;
  watch.child.kill("SIGTERM");
  const port = Number(new URL(urls[0]!).port);
  await expect.poll(async () => once(connect(port).unref(), "connect").catch(String)).toContain("ECONNREFUSED");
  return { open, release };
}

/** Sends a signal to the child of the watch. */
const signalJudge = (name: string) => execFileSync("pkill", [`-${name}`, "-P", String(watch.child.pid)]);

/** Resolves when the watch has ended. */
async function ending() {
  const { code, output } = await watch.ended;
  return { code, output, watched: (await reportIn(folder))?.watched };
}

test("an exchange that is open is finished, an idle connection closed, and the report written", async () => {
  await exchange(randomBytes(10), urls[1]);
  const { open, release } = await stopInExchange();
  release();
  await open;
  expect(await ending()).toMatchObject({ watched: { exchanges: 1, webhooks: 1, missed: {} } });
});

test("a second signal cuts what is open", async () => {
  const { open } = await stopInExchange();
  watch.child.kill("SIGTERM");
  await expect(open).rejects.toThrow("ECONNRESET");
  expect(await ending()).toMatchObject({ watched: { exchanges: 1 } });
});

test("traffic passes when the judge is killed, and the watch says so", async () => {
  await exchange();
  signalJudge("KILL");
  await exchange(randomBytes(20_000_000));
  agent.destroy();
  watch.child.kill("SIGTERM");
  expect(await ending()).toEqual({
    code: 2,
    output: expect.stringContaining("The judge ended (SIGKILL)"),
    watched: undefined,
  });
});

test("traffic passes when the judge does not run, and what was too much for it is said", async () => {
  await exchange();
  signalJudge("STOP");
  for (let times = 0; times < 5; times += 1) await exchange(randomBytes(20_000_000));
  signalJudge("CONT");
  agent.destroy();
  watch.child.kill("SIGTERM");
  expect(await ending()).toMatchObject({ watched: { missed: { "parts of connections: the judge fell behind": 1 } } });
});
