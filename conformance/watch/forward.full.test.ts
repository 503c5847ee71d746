// A forward with its judge in a process of its own, as `certify watch --listen` has it.
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { Agent, createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, expect, test } from "vitest";
import type { Report } from "../results.ts";
import { reservePort } from "../target/reserve-port.ts";
import { startForward, type Forward } from "./forward.ts";

const anyPort = { host: "127.0.0.1", port: 0 };
const folder = mkdtempSync(join(tmpdir(), "watch-"));
const metrics = { host: "127.0.0.1", port: await reservePort() };

/** Responds with the hash of the body, once `release` resolves. */
let release: Promise<unknown> = Promise.resolve();
const service = createServer((incoming, response) => {
  const hash = createHash("sha256");
  incoming.on("data", (chunk: Buffer) => hash.update(chunk));
  incoming.on("end", () => void release.then(() => response.end(hash.digest("hex"))));
});
let forward: Forward;
let said: string[];
/** Callers whose requests use one connection after another. */
let agent: Agent;

beforeEach(async () => {
  service.listen(0, "127.0.0.1");
  await once(service, "listening");
  const target = `http://127.0.0.1:${(service.address() as AddressInfo).port}`;
  said = [];
  agent = new Agent({ keepAlive: true, maxSockets: 1 });
  forward = await startForward(
    { target, listen: anyPort, webhooks: { to: target, listen: anyPort } },
    { judge: { profile: "core" }, outlet: { source: target, declared: { visibleAfterMs: 0 }, folder, metrics } },
    (text) => said.push(text),
  );
});
afterEach(() => {
  forward.cut();
  forward.signalJudge("SIGKILL");
  agent.destroy();
  service.close();
});

afterAll(() => rmSync(folder, { recursive: true }));

/** Sends a body, and expects the service's response to it. */
async function exchange(body: Buffer = randomBytes(10), url = forward.urls[0]!): Promise<void> {
  const sent = request(url, { method: "POST", headers: { "x-api-key": "k" }, agent });
  sent.end(body);
  const [response] = (await once(sent, "response")) as [AsyncIterable<Buffer>];
  let text = "";
  for await (const chunk of response) text += chunk.toString();
  expect(text).toBe(createHash("sha256").update(body).digest("hex"));
}

const watched = () => (JSON.parse(readFileSync(join(folder, "report.json"), "utf8")) as Report).watched;
const seen = async () => {
  const text = await fetch(`http://127.0.0.1:${metrics.port}/metrics`).then((response) => response.text(), String);
  return Number(/exchanges_total (\d+)/.exec(text)?.[1]);
};

test("an exchange that is open is finished, an idle connection closed, and the report written", async () => {
  await exchange(randomBytes(10), forward.urls[1]);
  await exchange();
  const held = Promise.withResolvers<void>();
  release = held.promise;
  const arrived = once(service, "request");
  const open = exchange();
  await arrived;
  const stopped = forward.stop();
  await expect(fetch(forward.urls[0]!)).rejects.toThrow("fetch failed");
  held.resolve();
  await open;
  await stopped;
  expect(watched()).toMatchObject({ exchanges: 2, webhooks: 1, missed: {} });
});

test("traffic passes when the judge is killed, and the next one goes on with open connections", async () => {
  await exchange();
  await expect.poll(seen).toBe(1);
  forward.signalJudge("SIGKILL");
  await expect.poll(() => said).toEqual([expect.stringMatching("The judge ended .SIGKILL.")]);
  await expect
    .poll(async () => {
      await exchange();
      return seen();
    })
    .toBeGreaterThan(0);
  await forward.stop();
  expect(watched()?.missed).toEqual({
    "connections that were judged by a judge that ended: its findings are lost": 1,
    "parts of connections: the judge ended and was started again": 1,
  });
});

test("traffic passes when the judge does not run, and what was too much for it is said", async () => {
  await exchange();
  forward.signalJudge("SIGSTOP");
  for (let times = 0; times < 5; times += 1) await exchange(randomBytes(20_000_000));
  forward.signalJudge("SIGCONT");
  await expect
    .poll(async () => {
      await exchange();
      return seen();
    })
    .toBeGreaterThan(5);
  await forward.stop();
  expect(watched()?.missed).toEqual({ "parts of connections: the judge fell behind": 1 });
});
