import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { signedIn, type Visitor } from "../../testing/dashboard-visitor.ts";
import { startReceiver, type Receiver } from "../../testing/receiver.ts";
import { startServer, type TestServer } from "../../testing/server.ts";

let server: TestServer;
let receiver: Receiver;
let visitor: Visitor;
let list: string;
beforeAll(async () => {
  [server, receiver] = await Promise.all([startServer(), startReceiver()]);
  visitor = await signedIn(server, { merchantId: server.merchant.id, name: "Kofi" });
  list = `/m/${server.merchant.id}/webhooks`;
});
afterAll(() => Promise.all([server.close(), receiver.close()]));

/** Creates a payout that is final from the start, lets its webhook be attempted, and returns the delivery's id. */
async function delivered(status: number, url = receiver.url) {
  receiver.respondWith(status);
  const { body } = await server.createPayout({ phoneNumber: "2250700000001", webhookURL: url });
  await server.pass(0);
  const { reference, merchantsReference } = body.data as Record<string, string>;
  const { items } = await server.storage.listDeliveries({
    merchantId: server.merchant.id,
    reference: reference!,
    limit: 1,
  });
  return { id: items[0]!.id, reference: reference!, merchantsReference: merchantsReference! };
}
/** The ids of the webhooks in a part of a page, in order. */
const idsIn = (html: string) => [...html.matchAll(/\/webhooks\/(msg_\w+)"/g)].map(([, id]) => id);

/** True if a search offers to replay what it found. */
const offers = async (query: string) => (await visitor.get(list + query)).html.includes("Replay these…");

describe("the list", () => {
  test("has the failed ones first, then all, newest first", async () => {
    const gone = await delivered(410);
    const fine = await delivered(204);
    const { html } = await visitor.get(list);
    expect(idsIn(html)).toEqual([gone.id, fine.id, gone.id]);
    expect(html).toContain(receiver.url);
  });

  test("filters by each field and by several, and has pages", async () => {
    const gone = await delivered(410);
    await server.pass(60_000);
    const fine = await delivered(204);
    const found = async (query: string) => idsIn((await visitor.get(list + query)).html);
    const { host } = new URL(receiver.url);
    const time = new Date(server.clock.now()).toISOString().slice(0, 16);
    expect(await found("?status=failed")).toContain(gone.id);
    expect(await found("?status=delivered")).not.toContain(gone.id);
    expect(await found(`?from=${time}`)).toEqual([fine.id]);
    expect(await found(`?to=${time}&status=failed&type=disbursement.completed&host=${host}`)).toContain(gone.id);
    expect(await found(`?to=${time}`)).not.toContain(fine.id);
    expect(await found(`?host=${encodeURIComponent(receiver.url)}`)).toContain(fine.id);
    expect(await found("?host=other.example")).toEqual([]);
    expect(await found("?type=checkout.completed")).toEqual([]);
    for (const reference of [fine.reference, fine.merchantsReference]) {
      expect(await found(`?reference=${reference}`)).toEqual([fine.id]);
      expect(await found(`?reference=${reference}&status=failed`)).toEqual([]);
    }
    expect(await found("?reference=nothing")).toEqual([]);
    for (let index = 0; index < 25; index++) await delivered(204);
    const first = await visitor.get(`${list}?status=delivered`);
    const [, next] = /href="(\?status=delivered&amp;cursor=[^"]+)">Older/.exec(first.html)!;
    expect(await found(next!.replace("&amp;", "&"))).toContain(fine.id);
    for (const query of ["?status=nothing", "?type=nothing", "?from=yesterday", "?to=2026-11-22", "?cursor=x"]) {
      expect((await visitor.get(list + query)).status).toBe(422);
    }
  });

  test("has no form to replay a single payment's webhook, or everything", async () => {
    await delivered(410);
    expect(await offers("?status=failed")).toBe(true);
    for (const query of ["", `?reference=${(await delivered(410)).reference}`, "?host=x.example"]) {
      expect([query, await offers(query)]).toEqual([query, false]);
    }
  });
});

describe("a webhook", () => {
  test("has a page with each attempt, and links to its payment and back", async () => {
    const { id, reference } = await delivered(410);
    const { html } = await visitor.get(`${list}/${id}`);
    expect(html).toContain("Attempt 1: status 410");
    expect(html).toContain("No further attempt is made: the receiver refused it");
    expect(html).not.toMatch(/>(ended|exhausted)</);
    expect(html).toContain(`POST ${receiver.url}`);
    expect(html).toContain(`webhook-timestamp: ${Math.floor(server.clock.now() / 1_000)}`);
    expect(html).toContain(`disbursements/${reference}">${reference}</a>`);
    const payment = await visitor.get(`/m/${server.merchant.id}/disbursements/${reference}`);
    expect(payment.html).toContain(`/webhooks/${id}">Open or replay it</a>`);
  });

  test("is replayed, delivered or not, with the same id; without scripts the page reloads until the attempt was made", async () => {
    for (const status of [204, 410]) {
      const { id } = await delivered(status);
      receiver.respondWith(204);
      const before = receiver.received.length;
      const { status: sent, headers } = await visitor.post(`${list}/${id}/replay`);
      expect([sent, headers.get("location")]).toEqual([303, `/dashboard${list}/${id}`]);
      const reload = `<noscript><meta http-equiv="refresh" content="2"></noscript>`;
      expect((await visitor.get(`${list}/${id}`)).html).toContain(reload);
      await server.pass(0);
      expect(receiver.received.slice(before).map((webhook) => webhook.headers["webhook-id"])).toEqual([id]);
      const after = await visitor.get(`${list}/${id}`);
      expect(after.html).not.toContain(reload);
      expect(after.html).toContain("Attempt 2: status 204");
      const [entry] = (await server.storage.listAudit({ merchantId: server.merchant.id, limit: 1 })).items;
      expect(entry).toMatchObject({ actor: "merchant Kofi", action: "delivery.replay", details: { delivery: id } });
    }
  });

  test("of another merchant can be neither seen nor replayed", async () => {
    const { id } = await delivered(410);
    const { merchant } = await server.addMerchant("Other");
    const stranger = await signedIn(server, { merchantId: merchant.id });
    const page = `/m/${merchant.id}/webhooks/${id}`;
    expect([(await stranger.get(page)).status, (await stranger.post(`${page}/replay`)).status]).toEqual([404, 404]);
    const found = await server.storage.findDelivery(server.merchant.id, id);
    expect(found).toMatchObject({ status: "ended", attempts: [{ number: 1 }] });
  });
});

test("many attempts with one result are one moment, and the body is indented", async () => {
  const { id } = await delivered(503);
  for (const minutes of [1, 6, 36]) await server.pass(minutes * 60_000);
  await server.storage.requestReplay(server.merchant.id, id, "command ada@host");
  receiver.respondWith(204);
  await server.pass(0);
  const { html } = await visitor.get(`${list}/${id}`);
  expect(html).toMatch(
    /<p>4 attempts: The receiver returned 503[^]*Attempts 1 to 4, since[^]*<p>Attempt 5: status 204/,
  );
  expect(html).not.toContain("Attempt 2:");
  expect(html).toContain("{\n  &quot;event&quot;: &quot;disbursement.completed&quot;,\n");
});
