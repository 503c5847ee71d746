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
    const { reference } = body.data;
    const [delivery] = (await storage.listDeliveries({ merchantId: id, reference, limit: 1 })).items;
    receiver.respondWith(204);
    return { id: delivery!.id, reference };
  }
  const made: Awaited<ReturnType<typeof delivered>>[] = [];
  for (const status of statuses) made.push(await delivered(status));
  const visitor = await signedIn(server, { merchantId: id, name: "Esi" });
  const area = `/m/${id}`;
  const decidedAt = new Date(server.clock.now()).toISOString();
  const submit = (fields = {}) => visitor.post(`${area}/replays/new`, { status: "failed", decidedAt, ...fields });
  return { id, area, list: `${area}/webhooks`, made, delivered, visitor, submit };
}

test("the list of webhooks filters by each field and by several", async () => {
  const { list, made, visitor, delivered } = await merchantWith(410);
  await server.pass(60_000);
  const fine = await delivered(204);
  const { id: gone } = made[0]!;
  const time = new Date(server.clock.now()).toISOString().slice(0, 16);
  for (const [query, expected] of [
    ["status=delivered", [fine.id]],
    [`from=${time}`, [fine.id]],
    [`to=${time}&status=failed&type=disbursement.completed&host=${host}`, [gone]],
    [`host=${encodeURIComponent(receiver.url)}`, [fine.id, gone]],
    ["host=other.example", []],
    ["type=checkout.completed", []],
  ] as const)
    expect([query, idsIn(await visitor.get(`${list}?${query}`))]).toEqual([query, expected]);
  for (const query of ["type=nothing", "to=2026-11-22"]) await says(visitor.get(`${list}?${query}`), 422);
  const replay = "Replay these…";
  await says(visitor.get(`${list}?status=failed`), 200, replay);
  for (const query of ["", "?host=x.example"]) await says(visitor.get(list + query), 200, not(replay));
});

test("a webhook has a page with each attempt, links to its payment and back, and is replayed with the same id", async () => {
  const { area, list, made, visitor } = await merchantWith(410);
  const { id, reference } = made[0]!;
  const page = `${list}/${id}`;
  const ended = "No further attempt is made: the receiver refused it";
  const payment = (await says(visitor.get(page), 200, "Attempt 1: status 410", ended, receiver.url)).link(reference);
  expect(payment).toBe(`${area}/disbursements/${reference}`);
  expect((await visitor.get(payment)).link("Open or replay it")).toBe(page);
  expect(await done(visitor.post(`${page}/replay`))).toBe(page);
  await server.pass(0);
  expect(receiver.received.at(-1)!.headers["webhook-id"]).toBe(id);
  await says(visitor.get(page), 200, "Attempt 2: status 204");
});

describe("a replay", () => {
  test("leads from a search to its preview, and sends what was found at its pace", async () => {
    const { area, list, made, visitor, submit } = await merchantWith(410, 410, 410);
    const search = await visitor.get(`${list}?status=failed&host=${host}`);
    const warning = "This includes webhooks that were delivered";
    const preview = visitor.get(search.link("Replay these…"));
    await says(preview, 200, "Webhooks: 3", "Status: failed", `${host}: 3`, not(warning));
    await says(visitor.get(`${area}/replays/new?host=${host}`), 200, warning);
    const before = receiver.received.length;
    receiver.respondWith(204);
    const page = await done(submit({ host, pace: "8" }));
    await says(visitor.get(page), 200, "badge waiting");
    for (const count of [1, 2, 3]) {
      await server.pass(count === 1 ? 0 : 125);
      expect(receiver.received.length - before).toBe(count);
    }
    const sent = receiver.received.slice(before).map(({ headers }) => headers["webhook-id"]);
    expect(sent).toEqual(made.map((each) => each.id));
  });

  test("sends what waits for a receiver that was down", async () => {
    const { area, list, visitor, submit } = await merchantWith(503, 503);
    const webhooks = await visitor.get(`${list}?status=pending&host=${host}`);
    await says(visitor.get(webhooks.link("Replay these…")), 200, "Webhooks: 2");
    receiver.respondWith(204);
    await done(submit({ status: "pending", host, pace: "20" }));
    await server.pass(50);
    await says(visitor.get(list), 200, not("badge waiting"));
    const none = visitor.get(`${area}/replays/new?status=failed`);
    await says(none, 200, "There is nothing to replay.", not("Start a replay of webhooks</button>"));
    for (const query of ["status=", "status=failed&type=x"])
      await says(visitor.get(`${area}/replays/new?${query}`), 422);
  });
});
