import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startServer, type TestServer } from "../testing/server.ts";

let server: TestServer;
/** Service references, newest first. The second is final. */
const made: Record<string, string[]> = {};
beforeAll(async () => {
  server = await startServer();
  const payouts = ["2257038102473", "2257038102001", "2257038102473"];
  made.disbursements = [];
  made.checkouts = [];
  for (const [index, phoneNumber] of payouts.entries()) {
    const reference = `order ${index}/é:1`;
    const payout = await server.createPayout({ phoneNumber, reference });
    made.disbursements.unshift(payout.body.data.reference);
    const checkout = await server.createCheckout({ reference });
    made.checkouts.unshift(checkout.body.data.reference);
    if (index === 1) {
      const path = `/sandbox/checkouts/${checkout.body.data.reference}/finish`;
      await server.request("POST", path, { body: { outcome: "success" } });
    }
    server.clock.advance(1);
  }
});
afterAll(() => server.close());

const get = (path: string, key = server.key) => server.request("GET", path, { key });
const MIDDLE = "2026-11-20T09:30:00.001Z";
const LATER = "2026-11-20T09:30:00.002Z";

describe.each(["disbursements", "checkouts"])("GET /v1/%s", (kind) => {
  const references = async (query: string) => {
    const { status, body } = await get(`/v1/${kind}?${query}`);
    expect(status).toBe(200);
    return body.data.items.map(({ reference }: { reference: string }) => reference);
  };

  test.each<[string, number[]]>([
    ["", [0, 1, 2]],
    ["limit=2", [0, 1]],
    ["status=success", [1]],
    ["status=pending", [0, 2]],
    ["status=failed", []],
    [`merchantsReference=${encodeURIComponent("order 0/é:1")}`, [2]],
    [`merchantsReference=${encodeURIComponent("order 1/é:1")}&status=pending`, []],
    ["merchantsReference=order", []],
    [`createdAfter=${MIDDLE}`, [0, 1]],
    [`createdAfter=${encodeURIComponent(MIDDLE)}`, [0, 1]],
    [`createdBefore=${MIDDLE}`, [2]],
    [`createdAfter=${MIDDLE}&createdBefore=${LATER}`, [1]],
    [`createdAfter=${LATER}&createdBefore=${MIDDLE}`, []],
    ["status=pending&limit=1", [0]],
    ["unknown=1", [0, 1, 2]],
  ])("?%s returns the records %j", async (query, indexes) => {
    expect(await references(query)).toEqual(indexes.map((index) => made[kind]![index]));
  });

  test("shows records as verify does", async () => {
    const { body } = await get(`/v1/${kind}`);
    for (const item of body.data.items) {
      expect((await get(`/v1/${kind}/${item.reference}`)).body.data).toEqual(item);
    }
  });

  test("nextCursor leads through all pages; the last page has none", async () => {
    const seen: string[] = [];
    let query = "limit=1";
    for (let page = 1; page <= 3; page += 1) {
      const { items, nextCursor } = (await get(`/v1/${kind}?${query}`)).body.data;
      seen.push(items[0].reference);
      expect(nextCursor === undefined).toBe(page === 3);
      query = `limit=1&cursor=${nextCursor}`;
    }
    expect(seen).toEqual(made[kind]);
  });

  test.each<[string, number, string, string]>([
    ["limit=0", 422, "limit", "minimum"],
    ["limit=101", 422, "limit", "maximum"],
    ["limit=x", 400, "limit", "type"],
    ["limit=1:5", 400, "limit", "encoding"],
    ["status=lost", 422, "status", "enum"],
    ["merchantsReference=", 422, "merchantsReference", "min_length"],
    ["merchantsReference=a%00", 422, "merchantsReference", "pattern"],
    ["createdAfter=yesterday", 422, "createdAfter", "pattern"],
    ["createdAfter=2026-02-30T00:00:00.000Z", 422, "createdAfter", "format"],
    ["createdAfter=2026-12-31T23:59:60.000Z", 422, "createdAfter", "format"],
    ["createdBefore=2026-11-20", 422, "createdBefore", "pattern"],
    ["cursor=nothing", 422, "cursor", "unknown"],
    ["cursor=", 422, "cursor", "unknown"],
  ])("?%s is refused with %i and names %s (%s)", async (query, status, path, code) => {
    const { status: received, body } = await get(`/v1/${kind}?${query}`);
    expect([received, body.code]).toEqual([status, status === 400 ? "invalid_request" : "invalid_value"]);
    expect(body.fields).toContainEqual({ path, code, message: expect.stringContaining(path) });
  });

  test("another merchant sees nothing, and its cursors are refused", async () => {
    const { key } = await server.addMerchant("Kofi & Sons");
    expect((await get(`/v1/${kind}`, key)).body.data).toEqual({ items: [] });
    const { nextCursor } = (await get(`/v1/${kind}?limit=1`)).body.data;
    const foreign = await get(`/v1/${kind}?cursor=${nextCursor}`, key);
    const invented = await get(`/v1/${kind}?cursor=nothing`, key);
    expect([foreign.status, foreign.body]).toEqual([422, invented.body]);
  });
});

test("a cursor of one list is refused by every other list", async () => {
  const paths = ["/v1/disbursements", "/v1/checkouts", "/sandbox/events"];
  for (const from of paths) {
    const { nextCursor } = (await get(`${from}?limit=1`)).body.data;
    expect(nextCursor).toEqual(expect.any(String));
    for (const to of [...paths, "/sandbox/deliveries"]) {
      const { status } = await get(`${to}?cursor=${nextCursor}`);
      expect.soft(status, `${from} to ${to}`).toBe(from === to ? 200 : 422);
    }
  }
});
