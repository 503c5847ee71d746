import { afterAll, describe, expect, test } from "vitest";
import { done, not, openDashboard, says } from "../../testing/dashboard.ts";
import { signedIn, type Visited } from "../../testing/dashboard-visitor.ts";

const { server, receiver, close } = await openDashboard();
const { storage } = server;
const { host } = new URL(receiver.url);
afterAll(close);

/** The ids of the webhooks on a page, in order. */
const idsIn = ({ html }: Visited) => [...html.matchAll(/\/webhooks\/(msg_\w+)"/g)].map(([, id]) => id);

/** A merchant of its own for each test, with its person Esi, and webhooks that their receiver answers with a status. */
async function merchantWith(...statuses: number[]) {
  const { merchant, key } = await server.addMerchant("Own");
  const { id } = merchant;
  /** Creates a payout that is final at once, and lets its webhook be attempted. */
  async function delivered(status: number) {
    receiver.respondWith(status);
    const { body } = await server.createPayout({ phoneNumber: "2250700000001", webhookURL: receiver.url }, { key });
    await server.pass(0);
    const { reference, merchantsReference } = body.data as Record<"reference" | "merchantsReference", string>;
    const [delivery] = (await storage.listDeliveries({ merchantId: id, reference, limit: 1 })).items;
    receiver.respondWith(204);
    return { id: delivery!.id, reference, merchantsReference };
  }
  const made: Awaited<ReturnType<typeof delivered>>[] = [];
  for (const status of statuses) made.push(await delivered(status));
  const visitor = await signedIn(server, { merchantId: id, name: "Esi" });
  const area = `/m/${id}`;
  const submit = (fields = {}) => visitor.post(`${area}/replays/new`, { status: "failed", pace: "4", ...fields });
  return { id, area, list: `${area}/webhooks`, made, delivered, visitor, submit };
}
const sentTo = (from: number) => receiver.received.slice(from).map(({ headers }) => headers["webhook-id"]);

describe("the list of webhooks", () => {
  test("has the newest first, and pages", async () => {
    const { list, made, visitor, delivered } = await merchantWith(410, 204);
    const [gone, fine] = made.map(({ id }) => id);
    expect(idsIn(await says(visitor.get(list), 200, receiver.url))).toEqual([fine, gone]);
    for (let index = 0; index < 25; index++) await delivered(204);
    const first = await visitor.get(`${list}?status=delivered`);
    expect(idsIn(await visitor.get(first.link("Older")))).toEqual([fine]);
  });

  test("filters by each field and by several", async () => {
    const { list, made, visitor, delivered } = await merchantWith(410);
    await server.pass(60_000);
    const fine = await delivered(204);
    const { id: gone } = made[0]!;
    const time = new Date(server.clock.now()).toISOString().slice(0, 16);
    const address = encodeURIComponent(receiver.url);
    for (const [query, expected] of [
      ["status=delivered", [fine.id]],
      [`from=${time}`, [fine.id]],
      [`to=${time}&status=failed&type=disbursement.completed&host=${host}`, [gone]],
      [`to=${time}`, [gone]],
      [`host=${address}`, [fine.id, gone]],
      ["host=other.example", []],
      ["type=checkout.completed", []],
    ] as const)
      expect([query, idsIn(await visitor.get(`${list}?${query}`))]).toEqual([query, expected]);
    for (const query of ["type=nothing", "to=2026-11-22"]) await says(visitor.get(`${list}?${query}`), 422);
    const replay = "Replay these…";
    await says(visitor.get(`${list}?status=failed`), 200, replay);
    for (const query of ["", "?host=x.example"]) await says(visitor.get(list + query), 200, not(replay));
  });
});

describe("a webhook", () => {
  test("has a page with each attempt, and links to its payment and back", async () => {
    const { area, list, made, visitor } = await merchantWith(410);
    const { id, reference } = made[0]!;
    const ended = "No further attempt is made: the receiver refused it";
    const sent = [`POST ${receiver.url}`, `webhook-timestamp: ${Math.floor(server.clock.now() / 1_000)}`];
    const page = await says(visitor.get(`${list}/${id}`), 200, "Attempt 1: status 410", ended, ...sent);
    const payment = page.link(reference);
    expect(payment).toBe(`${area}/disbursements/${reference}`);
    expect((await visitor.get(payment)).link("Open or replay it")).toBe(`${list}/${id}`);
  });

  test.each([204, 410])("that got %i is replayed with the same id", async (status) => {
    const { list, made, visitor } = await merchantWith(status);
    const page = `${list}/${made[0]!.id}`;
    const before = receiver.received.length;
    expect(await done(visitor.post(`${page}/replay`))).toBe(page);
    await server.pass(0);
    expect(sentTo(before)).toEqual([made[0]!.id]);
    await says(visitor.get(page), 200, "Attempt 2: status 204");
  });
});

describe("a replay", () => {
  test("leads from a search to its preview, to its progress, to the list", async () => {
    const { id, area, list, made, visitor, delivered, submit } = await merchantWith(410, 410, 410);
    await says(visitor.get(`${area}/replays`), 200, "There is nothing here.");
    const search = await visitor.get(`${list}?status=failed&host=${host}`);
    const warning = "This includes webhooks that were delivered";
    const preview = visitor.get(search.link("Replay these…"));
    await says(preview, 200, "Webhooks: 3", "Status: failed", `${host}: 3`, not(warning));
    await says(visitor.get(`${area}/replays/new?host=${host}`), 200, warning);
    const before = receiver.received.length;
    const page = await done(submit({ host, pace: "8" }));
    const late = await delivered(204);
    await says(visitor.get(page), 200, "2 of 3", "Stop the replay of webhooks");
    await server.pass(1_000);
    const facts = /Esi Status: failed, Host of the receiver: .* done .*3 of 3 8 per second 3 0 0/;
    await says(visitor.get(page), 200, facts, not("Stop the replay of webhooks"));
    const { items } = await storage.listDeliveries({ merchantId: id, limit: 10 });
    const twice = ["delivered", 2];
    expect(items.map(({ status, attempts }) => [status, attempts.length])).toEqual([
      ["delivered", 1],
      twice,
      twice,
      twice,
    ]);
    expect(sentTo(before).toSorted()).toEqual([...made, late].map((each) => each.id).toSorted());
  });

  test("to a receiver that is down waits, and can be sent at once when the receiver is back", async () => {
    const { list, visitor, submit } = await merchantWith(410, 410);
    receiver.respondWith(503);
    const page = await done(submit({ pace: "20" }));
    await server.pass(0);
    await says(visitor.get(page), 200, "0 0 2 2 failed again");
    const webhooks = await visitor.get(`${list}?status=pending&host=${host}`);
    receiver.respondWith(204);
    await says(visitor.get(webhooks.link("Replay these…")), 200, "Webhooks: 2");
    const sent = await done(submit({ status: "pending", host, pace: "20" }));
    await server.pass(0);
    await says(visitor.get(sent), 200, " 2 0 0 ");
  });

  test("is stopped by its button, and runs alone", async () => {
    const { id, visitor, submit } = await merchantWith(410, 410, 410);
    const page = await done(submit());
    await says(submit(), 409, "Another replay is running.");
    await server.pass(0);
    // Stopping a replay that has ended is not an error.
    const [replay] = await storage.listReplays(id, 5);
    for (const _ of [1, 2]) await done(visitor.post(`${page}/${replay!.id}/stop`));
    await server.pass(60_000);
    await says(visitor.get(page), 200, "1 of 3", "stopped by Esi");
    await done(submit());
  });

  test("needs something to replay", async () => {
    const { area, visitor } = await merchantWith();
    const preview = visitor.get(`${area}/replays/new?status=failed`);
    await says(preview, 200, "There is nothing to replay.", not("Start a replay of webhooks</button>"));
    for (const query of ["status=", "status=failed&type=x"])
      await says(visitor.get(`${area}/replays/new?${query}`), 422);
  });
});
