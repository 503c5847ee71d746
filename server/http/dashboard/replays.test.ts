import { afterAll, beforeAll, expect, test } from "vitest";
import { signedIn, type Visitor } from "../../testing/dashboard-visitor.ts";
import { startReceiver, type Receiver } from "../../testing/receiver.ts";
import { startServer, type TestServer } from "../../testing/server.ts";

let server: TestServer;
let receiver: Receiver;
beforeAll(async () => {
  [server, receiver] = await Promise.all([startServer(), startReceiver()]);
});
afterAll(() => Promise.all([server.close(), receiver.close()]));

/** A merchant of its own for each test, with this many webhooks that failed, and its visitor. */
async function merchantWith(count: number) {
  const { merchant, key } = await server.addMerchant("Own");
  receiver.respondWith(410);
  const payout = () => server.createPayout({ phoneNumber: "2250700000001", webhookURL: receiver.url }, { key });
  for (let made = 0; made < count; made += 1) await payout();
  await server.pass(0);
  receiver.respondWith(204);
  const visitor = await signedIn(server, { merchantId: merchant.id, name: "Kofi" });
  return { merchant, visitor, area: `/m/${merchant.id}`, payout };
}

async function started(visitor: Visitor, area: string, fields: Record<string, string> = {}): Promise<string> {
  const { status, headers } = await visitor.post(`${area}/replays/new`, { status: "failed", pace: "4", ...fields });
  expect(status).toBe(303);
  return headers.get("location")!.replace("/dashboard", "");
}
const sentTo = (from: number) => receiver.received.slice(from).map(({ headers }) => headers["webhook-id"]);

test("from a search to its preview, to the replay with its progress, to the list", async () => {
  const { merchant, visitor, area, payout } = await merchantWith(3);
  const { host } = new URL(receiver.url);
  expect((await visitor.get(`${area}/replays`)).html).toContain("No replays yet.");
  const { html: found } = await visitor.get(`${area}/webhooks?status=failed&host=${host}`);
  const [, link] = /href="\/dashboard([^"]+)">Replay these…/.exec(found)!;
  const { html: preview } = await visitor.get(link!.replaceAll("&amp;", "&"));
  expect(preview).toContain("3 webhooks");
  expect(preview).toContain(`<td>${host}</td><td class="number">3</td>`);
  expect(preview).toContain("<li>status: failed</li>");
  const warning = "This includes webhooks that were delivered";
  expect(preview).not.toContain(warning);
  expect((await visitor.get(`${area}/replays/new?host=${host}`)).html).toContain(warning);

  const before = receiver.received.length;
  const page = await started(visitor, area, { host, pace: "8" });
  await payout();
  const running = await visitor.get(page);
  expect(running.html).toContain(`http-equiv="refresh"`);
  expect(running.html).toContain("0 of 3");
  await server.pass(0);
  expect((await visitor.get(page)).html).toContain("2 of 3");
  await server.pass(1_000);
  const done = await visitor.get(page);
  expect(done.html).not.toContain(`http-equiv="refresh"`);
  expect(done.html).toMatch(/3 of 3[^]*8 per second/);
  expect(done.html).not.toContain("Stop the replay");
  expect(done.html).toContain('<span class="under">Kofi</span>');
  expect(done.html).toMatch(/badge delivered[^]*Delivered<\/dt><dd>3<[^]*Failed<\/dt><dd>0<[^]*Waiting<\/dt><dd>0</);
  const { items } = await server.storage.listDeliveries({ merchantId: merchant.id, limit: 10 });
  expect(items.map(({ status, attempts }) => [status, attempts.length])).toEqual([
    ["delivered", 1],
    ["delivered", 2],
    ["delivered", 2],
    ["delivered", 2],
  ]);
  expect(sentTo(before).toSorted()).toEqual(items.map(({ id }) => id).toSorted());
  expect((await visitor.get(`${area}/webhooks`)).html).toContain("No webhook waits or is being sent.");
  const { html: list } = await visitor.get(`${area}/replays`);
  expect(list).toContain(page);
  expect(list).toContain(`<span class="under">Kofi</span>`);
});

test("a replay to a receiver that is down waits, and the page of webhooks shows how the receiver does", async () => {
  const { visitor, area } = await merchantWith(2);
  receiver.respondWith(503);
  const page = await started(visitor, area, { pace: "20" });
  await server.pass(0);
  const { html } = await visitor.get(page);
  expect(html).toMatch(/badge waiting[^]*Waiting<\/dt><dd>2<span class="under">2 failed again</);
  expect(html).toContain(`http-equiv="refresh"`);
  const { html: webhooks } = await visitor.get(`${area}/webhooks`);
  expect(webhooks).not.toContain("No webhook waits");
  expect(webhooks).toMatch(/<td class="number">0 %<\/td>/);
  const [, sendNow] = /href="\/dashboard([^"]+)">Send them now…/.exec(webhooks)!;
  receiver.respondWith(204);
  const { html: preview } = await visitor.get(sendNow!.replaceAll("&amp;", "&"));
  expect(preview).toMatch(/Send waiting webhooks now[^]*2 webhooks/);
  const sent = await started(visitor, area, { status: "pending", host: new URL(receiver.url).host, pace: "20" });
  await server.pass(0);
  expect((await visitor.get(sent)).html).toMatch(/badge delivered[^]*Delivered<\/dt><dd>2</);
});

test("replays successes of a period, too", async () => {
  const { visitor, area, payout } = await merchantWith(0);
  await payout();
  await server.pass(0);
  await server.pass(60_000);
  const from = new Date(server.clock.now()).toISOString().slice(0, 16);
  await payout();
  await server.pass(0);
  const before = receiver.received.length;
  const page = await started(visitor, area, { status: "delivered", from });
  await server.pass(0);
  expect(sentTo(before)).toHaveLength(1);
  expect((await visitor.get(page)).html).toContain("1 of 1");
});

test("is stopped by its button, and one runs at a time", async () => {
  const { merchant, visitor, area } = await merchantWith(3);
  const page = await started(visitor, area);
  const second = await visitor.post(`${area}/replays/new`, { status: "failed", pace: "4" });
  expect([second.status, second.html]).toEqual([409, expect.stringContaining("Another replay is running.")]);
  await server.pass(0);
  expect((await visitor.post(`${page}/stop`)).status).toBe(303);
  // Stopping a replay that has ended is not an error.
  expect((await visitor.post(`${page}/stop`)).status).toBe(303);
  await server.pass(60_000);
  const { html } = await visitor.get(page);
  expect(html).toContain("1 of 3");
  expect(html).toContain("stopped by Kofi");
  const { items } = await server.storage.listAudit({ merchantId: merchant.id, limit: 2 });
  const actor = "merchant Kofi";
  expect(items).toMatchObject([
    { action: "replay.stop", actor },
    { action: "replay.start", actor },
  ]);
  await started(visitor, area);
});

test("a reset of the sandbox ends it", async () => {
  const { visitor, area } = await merchantWith(2);
  const page = await started(visitor, area);
  await visitor.post(`${area}/sandbox/reset`);
  const { html } = await visitor.get(page);
  expect(html).toContain("by a reset of the sandbox");
});

test("another merchant's replay does not exist", async () => {
  const { merchant, visitor, area } = await merchantWith(2);
  const id = (await started(visitor, area)).split("/").at(-1)!;
  const other = await server.addMerchant("Other");
  const stranger = await signedIn(server, { merchantId: other.merchant.id });
  const page = `/m/${other.merchant.id}/replays/${id}`;
  expect([(await stranger.get(page)).status, (await stranger.post(`${page}/stop`)).status]).toEqual([404, 404]);
  expect((await stranger.get(`/m/${other.merchant.id}/replays`)).html).not.toContain(id);
  expect(await server.storage.findReplay(merchant.id, id)).toMatchObject({ state: "running" });
});

test.each([
  [{ status: "" }, "Choose what to replay"],
  [{ reference: "DSB1" }, "Open the payment’s webhook"],
  [{ host: "a.example", type: "x" }, "There is no such choice: x."],
  [{ pace: "0" }, "The pace is a whole number from 1 to 500 per second."],
  [{ pace: "501" }, "The pace is a whole number"],
  [{ pace: "1.5" }, "The pace is a whole number"],
  [{ pace: "" }, "The pace is a whole number"],
])("refuses %j and says why", async (fields, message) => {
  const { visitor, area, merchant } = await merchantWith(0);
  const response = await visitor.post(`${area}/replays/new`, { status: "failed", pace: "4", ...fields });
  expect([response.status, response.html]).toEqual([422, expect.stringContaining(message)]);
  expect(await server.storage.listReplays(merchant.id, 10)).toEqual([]);
  const { pace, ...filter } = fields as Record<string, string>;
  if (pace === undefined) {
    const preview = await visitor.get(`${area}/replays/new?${new URLSearchParams({ status: "failed", ...filter })}`);
    expect(preview.status).toBe(422);
  }
});

test("a preview without a match offers no start", async () => {
  const { visitor, area } = await merchantWith(0);
  const { html } = await visitor.get(`${area}/replays/new?status=failed`);
  expect(html).toContain("There is nothing to replay.");
  expect(html).not.toContain("Start the replay");
});
