import { mkdtempSync, rmSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { hostname, tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { Webhook } from "standardwebhooks";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Storage } from "../domain/storage.ts";
import { createSystemClock } from "../domain/clock.ts";
import { openStorage } from "../storage/open.ts";
import { createHttpClient, type HttpClient } from "../testing/http.ts";
import { LIVE, runKeys, startProcess, type ServerProcess } from "../testing/process.ts";
import { startReceiver, type Received, type Receiver } from "../testing/receiver.ts";
import { serve } from "../testing/serve.ts";
import { aPayout } from "../testing/server.ts";

const KEY = "a-key-for-tests-of-live-mode";
const ACTOR = `command ${userInfo().username}@${hostname()}`;
let folder: string;
let env: Record<string, string>;
let server: ServerProcess;
let receiver: Receiver;
let client: HttpClient;
/** The running server's storage, to wait for what the server does. */
let storage: Storage;
let merchantId: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "live-"));
  const path = join(folder, "server.db");
  env = { DATABASE_URL: `sqlite:${path}`, ...LIVE, WEBHOOK_ALLOW_PRIVATE: "true" };
  env = { ...env, WEBHOOK_ALLOW_INSECURE: "true" };
  receiver = await startReceiver();
  server = await startProcess({ ...env, SANDBOX_API_KEY: KEY });
  client = createHttpClient({ port: server.port, key: KEY, sandbox: false });
  storage = await openStorage({ kind: "sqlite", path }, { clock: createSystemClock(), server: false });
  merchantId = (await storage.listMerchants())[0]!.id;
});
afterAll(async () => {
  await storage.close();
  await client.close();
  server.kill("SIGKILL");
  await server.ended;
  await receiver.close();
  rmSync(folder, { recursive: true });
});

async function keys(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await runKeys(env, ...args);
  expect([code, stderr]).toEqual([0, ""]);
  return stdout;
}
const json = async (...args: string[]) => JSON.parse(await keys(...args, "--json"));

async function pay(changes: Parameters<typeof aPayout>[0] = {}): Promise<string> {
  const { status, body } = await client.request("POST", "/v1/disbursements", { body: aPayout(changes) });
  expect(status).toBe(200);
  return body.data.reference;
}
const deliveryOf = async (reference: string) =>
  (await storage.listDeliveries({ merchantId, reference, limit: 1 })).items[0];

/** Makes a payout whose webhook the receiver gets, and resolves when the attempt is recorded. */
async function delivered(status = 204) {
  receiver.respondWith(status);
  const reference = await pay({ webhookURL: receiver.url });
  await expect.poll(async () => (await deliveryOf(reference))?.attempts.length).toBe(1);
  receiver.respondWith(204);
  return { id: (await deliveryOf(reference))!.id, reference };
}
const receivedFor = (id: string) => receiver.received.filter(({ headers }) => headers["webhook-id"] === id);
/** Resolves when `count` attempts of a delivery have been recorded and the last one delivered it. */
async function untilDelivered(reference: string, count: number) {
  await expect.poll(() => deliveryOf(reference)).toMatchObject({ status: "delivered", attempts: { length: count } });
}
const isSignedWith = (secret: string, { text, headers }: Received) =>
  expect(() => new Webhook(secret).verify(text, headers as Record<string, string>)).not.toThrow();

test("shows the secret, and after a rotation both secrets sign", async () => {
  const [, first] = /^Webhook secret: (whsec_\S+)\n$/.exec(await keys("secret", merchantId))!;
  const before = await delivered();
  isSignedWith(first!, receivedFor(before.id)[0]!);

  const rotated = await json("rotate-secret", merchantId);
  expect(rotated).toEqual({
    secret: expect.stringMatching(/^whsec_/),
    previousSecrets: [{ secret: first, expiresAt: expect.stringMatching(/^\d{4}-.+Z$/) }],
  });
  expect(rotated.secret).not.toBe(first);
  expect(await keys("secret", merchantId)).toMatch(
    /^Webhook secret: \S+\nPrevious secret, signs until \S+Z: whsec_\S+\n$/,
  );
  const after = await delivered();
  for (const secret of [first!, rotated.secret]) isSignedWith(secret, receivedFor(after.id)[0]!);

  const trail = await json("audit", merchantId, "--limit", "3");
  const entry = (action: string) => ({
    at: expect.stringMatching(/Z$/),
    actor: ACTOR,
    action,
    merchantId,
    details: {},
  });
  expect(trail.items).toEqual([entry("secret.reveal"), entry("secret.rotate"), entry("secret.reveal")]);
});

test("a delivered webhook can be replayed while the server runs: the same event once more", async () => {
  const { id, reference } = await delivered();
  expect(await keys("replay", merchantId, id)).toBe(`Replay of ${id} requested\n`);
  await untilDelivered(reference, 2);
  const [first, second, ...others] = receivedFor(id);
  expect([first!.text, others]).toEqual([second!.text, []]);

  const listed = await keys("deliveries", merchantId, "--reference", reference);
  const { merchantsReference } = (await storage.findDisbursement(merchantId, reference))!;
  expect(await keys("deliveries", merchantId, "--reference", merchantsReference)).toBe(listed);
  const at = String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`;
  expect(listed).toMatch(
    new RegExp(
      `^${id}  ${at}  disbursement\\.completed  ${reference}  delivered  ${receiver.url}\n` +
        `  attempt 1  ${at}  \\d+ ms  status 204\n  attempt 2  ${at}  \\d+ ms  status 204\n$`,
    ),
  );
  expect(await keys("audit", merchantId, "--limit", "1")).toMatch(
    new RegExp(`^${at}  ${ACTOR}  delivery\\.replay  merchant ${merchantId}  delivery ${id}  status delivered\n`),
  );
});

test("a delivery is not replayed while the server attempts it", async () => {
  const held: ServerResponse[] = [];
  const slow = await serve((_, response) => held.push(response));
  const reference = await pay({ webhookURL: slow.url });
  await expect.poll(() => held).toHaveLength(1);
  const { id } = (await deliveryOf(reference))!;

  const { code, stderr } = await runKeys(env, "replay", merchantId, id);
  expect([code, stderr]).toEqual([
    2,
    "An attempt of this delivery is in progress. Replay the delivery when the attempt has ended.\n",
  ]);
  held[0]!.writeHead(204).end();
  await untilDelivered(reference, 1);
  await slow.close();
});

test("all failed deliveries are counted first, and replayed once that is confirmed", async () => {
  const failed = [await delivered(410), await delivered(410)];
  const listed = await json("deliveries", merchantId, "--status", "failed");
  expect(listed.items).toMatchObject(
    failed
      .toReversed()
      .map(({ id }) => ({ id, status: "ended", attempts: [{ httpStatus: 410, error: expect.any(String) }] })),
  );
  const unconfirmed = await runKeys(env, "replay", merchantId, "--status", "failed");
  expect([unconfirmed.code, unconfirmed.stderr]).toEqual([
    2,
    "2 deliveries match. Nothing was replayed; add --yes to replay them.\n",
  ]);
  expect(await keys("deliveries", merchantId, "--status", "delivered", "--reference", failed[0]!.reference)).toBe(
    "None.\n",
  );

  const { host } = new URL(receiver.url);
  const filter = ["--status", "failed", "--host", host, "--since", "2020-01-01", "--until", "9999-01-01"];
  expect(await keys("replay", merchantId, ...filter, "--dry-run")).toBe(`2 deliveries match.\n  2 to ${host}\n`);
  const started = await keys("replay", merchantId, ...filter, "--pace", "50", "--yes");
  const [, replayId] = /^2 deliveries match\.\nReplay (\S+) started, 50 per second\n$/.exec(started)!;
  for (const { reference } of failed) await untilDelivered(reference, 2);
  for (const { id } of failed) expect(receivedFor(id)).toHaveLength(2);
  expect(await keys("replay", merchantId, "--status", "failed", "--yes")).toBe("0 deliveries match.\n");

  await expect.poll(() => storage.findReplay(merchantId, replayId!)).toMatchObject({ state: "done" });
  expect(await json("replays", merchantId)).toEqual({
    items: [
      {
        id: replayId,
        merchantId,
        filter: { status: "failed", host, since: "2020-01-01T00:00:00.000Z", until: "9999-01-01T00:00:00.000Z" },
        pace: 50,
        expected: 2,
        startedAt: expect.stringMatching(/Z$/),
        startedBy: ACTOR,
        replayed: 2,
        skipped: 0,
        state: "done",
        endedAt: expect.stringMatching(/Z$/),
      },
    ],
  });
});

test("a replay is stopped, and another is refused while it runs", async () => {
  receiver.respondWith(204);
  // More webhooks than the replay sends before it is stopped.
  await Promise.all(Array.from({ length: 50 }, () => pay({ webhookURL: receiver.url })));
  const query = { merchantId, status: "delivered", limit: 50 } as const;
  await expect.poll(async () => (await storage.listDeliveries(query)).items).toHaveLength(50);
  const filter = ["--type", "disbursement.completed", "--status", "delivered", "--pace", "1", "--yes"];
  const started = await keys("replay", merchantId, ...filter);
  const [, replayId] = /Replay (\S+) started, 1 per second\n$/.exec(started)!;
  const second = await runKeys(env, "replay", merchantId, ...filter);
  expect([second.code, second.stderr]).toEqual([
    2,
    expect.stringMatching(/^Another replay of this merchant is running\./),
  ]);
  expect(await keys("stop-replay", merchantId, replayId!)).toBe(`Stopped ${replayId}\n`);
  expect(await keys("stop-replay", merchantId, replayId!)).toBe(`${replayId} is stopped already.\n`);
  expect(await storage.findReplay(merchantId, replayId!)).toMatchObject({ state: "stopped", stoppedBy: ACTOR });
  expect(await keys("replays", merchantId)).toMatch(
    new RegExp(
      `^${replayId}  \\S+Z  ${ACTOR}  stopped  \\d+ of \\d+ replayed, 0 skipped, 1 per second\n  status delivered  `,
    ),
  );
  const trail = await keys("audit", merchantId, "--limit", "2");
  expect(trail).toMatch(new RegExp(`^\\S+  ${ACTOR}  replay\\.stop  merchant ${merchantId}  replay ${replayId}\n`));
  expect(trail).toMatch(
    new RegExp(`replay\\.start  merchant ${merchantId}  replay ${replayId}  status delivered  type `),
  );
});

test("lists page by cursor and filter by time", async () => {
  const made = [await delivered(), await delivered(), await delivered()].map(({ id }) => id).toReversed();
  for (const list of ["events", "deliveries"]) {
    const first = await json(list, merchantId, "--limit", "2");
    const second = await json(list, merchantId, "--limit", "1", "--cursor", first.nextCursor);
    expect([...first.items, ...second.items].map(({ id }) => id)).toEqual(made);
    expect(await keys(list, merchantId, "--limit", "1")).toMatch(
      /^msg_\w+ [^]+\nThere are more\. For the next page add: --cursor \S+\n$/,
    );
  }
  expect(await json("events", merchantId, "--since", "9999-01-01T00:00:00Z")).toEqual({ items: [] });
  expect((await json("deliveries", merchantId, "--since", "2020-01-01", "--limit", "3")).items).toHaveLength(3);
});

test("the default address receives the webhooks of records without a webhookURL (D40)", async () => {
  const url = `${receiver.url}?token=confidential`;
  expect(await keys("default-webhook", merchantId)).toBe("None.\n");
  expect(await keys("default-webhook", merchantId, url)).toBe(`Set to ${url}\n`);
  expect(await keys("default-webhook", merchantId)).toBe(`${url}\n`);
  await untilDelivered(await pay(), 1);
  expect(await keys("default-webhook", merchantId, "--none")).toBe("Removed\n");
  expect(await keys("default-webhook", merchantId)).toBe("None.\n");
  const trail = await keys("audit", merchantId, "--limit", "2");
  expect(trail).toContain(`  default-webhook.set  merchant ${merchantId}  receiver ${new URL(url).host}\n`);
  expect(trail).not.toContain("confidential");
});

test("no list, audit trail or server output contains a secret or key", async () => {
  const { current, previous } = await storage.readSecrets(merchantId);
  const outputs = await Promise.all([keys("audit", "--json"), keys("list", "--json"), keys("merchants", "--json")]);
  for (const output of [...outputs, server.output()]) {
    for (const secret of [current, ...previous.map(({ secret: old }) => old), KEY])
      expect(output).not.toContain(secret);
  }
  expect(JSON.parse(outputs[0]).items.at(-1)).toMatchObject({ actor: ACTOR.replace("command", "server") });
});

test.each<[string[], RegExp]>([
  [["secret", "nobody"], /^There is no merchant nobody\. Run `.+ keys merchants` to list them\.\n$/],
  [["audit", "nobody"], /^There is no merchant nobody\. /],
  [
    ["replay", "M", "msg_nothing"],
    /^The merchant has no delivery msg_nothing\. List them with the command deliveries\. /,
  ],
  [["replay", "M"], /^Give a DELIVERY_ID, or --status/],
  [["replay", "M", "msg_x", "--yes"], /^Give either a DELIVERY_ID or --status\.\n$/],
  [["replay", "M", "--status", "failed", "--pace", "501"], /^--pace must be a whole number from 1 to 500\.\n/],
  [["stop-replay", "M", "nothing"], /^The merchant has no replay nothing\. List them with the command replays\.\n$/],
  [["deliveries", "M", "--type", "lost"], /^--type must be one of disbursement\.completed, /],
  [["deliveries", "M", "--status", "lost"], /^--status must be one of pending, .+\nUsage: /],
  [["deliveries", "M", "--since", "yesterday"], /^--since must be a time in UTC, such as /],
  [["deliveries", "M", "--limit", "0"], /^--limit must be a whole number from 1 to 1000\.\n/],
  [["deliveries", "M", "--cursor", "x"], /^cursor must be a nextCursor that this list returned\.\n$/],
  [
    ["default-webhook", "M", "ftp://confidential.example"],
    /^Refused: webhooks are sent to http and https URLs only, not ftp:\n$/,
  ],
  [["default-webhook", "M", "http://a:confidential@b.example"], /^Refused: .+ contains a user name or password\. /],
])("%j exits with 2 and says what to do", async (args, message) => {
  const given = args.map((arg) => (arg === "M" ? merchantId : arg));
  const { code, stdout, stderr } = await runKeys(env, ...given);
  expect([code, stdout]).toEqual([2, ""]);
  expect(stderr).toMatch(message);
  expect(stderr).not.toContain("confidential");
});
