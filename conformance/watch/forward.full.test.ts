// A forward with its judge in a process of its own, as `certify watch --listen` starts it.
import { hash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { afterEach, beforeEach, expect, test } from "vitest";
import { reportIn, startCertify } from "../testing/command-line.ts";

/** Responds with the hash of the body, once `released` resolves. */
let released: Promise<unknown>;
const service = createServer(async (incoming, response) => {
  const body = await buffer(incoming);
  await released;
  response.end(hash("sha256", body));
});
await once(service.listen(0, "127.0.0.1"), "listening");
const target = `http://127.0.0.1:${(service.address() as AddressInfo).port}`;

let watch: ReturnType<typeof startCertify>;
let urls: string[];
let folder: string;

beforeEach(async () => {
  released = Promise.resolve();
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
  watch.child.kill("SIGKILL");
  rmSync(folder, { recursive: true });
});

/** Sends a body, and expects the service's response to it. */
async function exchange(body = randomBytes(10), url = urls[0]!): Promise<void> {
  const response = await fetch(`${url}/v1/disbursements`, { method: "POST", headers: { "x-api-key": "a-key" }, body });
  expect(await response.text()).toBe(hash("sha256", body));
}

/** Sends an exchange to which the service does not respond until `release` is called, and then SIGTERM. */
async function stopInExchange() {
  const { promise, resolve: release } = Promise.withResolvers<void>();
  released = promise;
  const arrived = once(service, "request");
  const open = exchange();
  await arrived;
  watch.child.kill("SIGTERM");
  await expect.poll(() => fetch(urls[1]!).catch(({ cause }: Error) => cause)).toMatchObject({ code: "ECONNREFUSED" });
  return { open, release };
}

/** Sends a signal to the child of the watch. */
function signalJudge(signal: NodeJS.Signals): void {
  const { pid } = watch.child;
  process.kill(Number(readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8")), signal);
}

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
  await expect(open).rejects.toMatchObject({ cause: { message: /ECONNRESET|closed/ } });
  expect(await ending()).toMatchObject({ watched: { exchanges: 1 } });
});

test("traffic passes when the judge is killed, and the watch says so", async () => {
  await exchange();
  signalJudge("SIGKILL");
  await exchange(randomBytes(20_000_000));
  watch.child.kill("SIGTERM");
  expect(await ending()).toEqual({
    code: 2,
    output: expect.stringContaining("The judge ended (SIGKILL)"),
    watched: undefined,
  });
});

test("traffic passes when the judge does not run, and what was too much for it is counted", async () => {
  await exchange();
  signalJudge("SIGSTOP");
  for (let times = 0; times < 300; times += 1) await exchange(randomBytes(250_000));
  signalJudge("SIGCONT");
  watch.child.kill("SIGTERM");
  const { watched } = await ending();
  const { "exchanges for which the judge was too slow": untold = 0, ...others } = watched!.missed;
  expect([watched!.exchanges + untold, untold > 0, others]).toEqual([301, true, {}]);
});
