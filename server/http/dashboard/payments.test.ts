import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { signedIn, type Visitor } from "../../testing/dashboard-visitor.ts";
import { startReceiver } from "../../testing/receiver.ts";
import { startServer, type TestServer } from "../../testing/server.ts";

let server: TestServer;
let visitor: Visitor;
let list: string;
const made: { reference: string; merchantsReference: string }[] = [];
const DAY = 86_400_000;
beforeAll(async () => {
  server = await startServer();
  list = `/m/${server.merchant.id}/disbursements`;
  for (let index = 0; index < 30; index++) {
    const phoneNumber = index % 10 === 0 ? "2250700000002" : "2257038102473";
    const { body } = await server.createPayout({ reference: `order-${index}`, phoneNumber });
    made.push(body.data);
    if (index === 14) server.clock.advance(DAY);
  }
  visitor = await signedIn(server);
});
afterAll(() => server.close());

/** The merchant's references in a list, in order. */
const shown = (html: string) => [...html.matchAll(/<bdi>(order-\d+)<\/bdi>/g)].map(([, reference]) => reference);
const search = async (query: Record<string, string>) =>
  shown((await visitor.get(`${list}?${new URLSearchParams(query)}`)).html);
const from = (first: number, last: number) =>
  Array.from({ length: first - last + 1 }, (_, index) => `order-${first - index}`);

describe("the list", () => {
  test("has pages, newest first, which keep the search", async () => {
    const first = await visitor.get(list);
    expect(shown(first.html)).toEqual(from(29, 5));
    expect(first.html).not.toContain("First page");
    const [, next] = /href="(\?cursor=[^"]+)">Older/.exec(first.html)!;
    const last = await visitor.get(list + next);
    expect(shown(last.html)).toEqual(from(4, 0));
    expect(last.html).not.toContain("Older");
    expect(last.html).toContain("First page");

    const some = await visitor.get(`${list}?search=2257038102473`);
    const [, more] = /href="(\?search=2257038102473&amp;cursor=[^"]+)">Older/.exec(some.html)!;
    expect(shown((await visitor.get(list + more!.replace("&amp;", "&"))).html)).toEqual(["order-2", "order-1"]);
  });

  test("finds by either reference and by phone number as people write it", async () => {
    expect(await search({ search: "order-7" })).toEqual(["order-7"]);
    expect(await search({ search: made[8]!.reference })).toEqual(["order-8"]);
    expect(await search({ search: " +225 07 00 00 00 02 " })).toEqual(["order-20", "order-10", "order-0"]);
    expect(await search({ search: "order-" })).toEqual([]);
    expect(await search({ search: "2250700000009" })).toEqual([]);
  });

  test("finds by status and day, alone and together", async () => {
    const [start, next] = [0, DAY].map((later) =>
      new Date(server.clock.now() - DAY + later).toISOString().slice(0, 10),
    );
    expect(await search({ status: "failed" })).toEqual(["order-20", "order-10", "order-0"]);
    expect(await search({ to: start! })).toEqual(from(14, 0));
    expect(await search({ from: next! })).toEqual(from(29, 15));
    expect(await search({ from: start!, to: start!, status: "failed" })).toEqual(["order-10", "order-0"]);
    expect(await search({ from: next!, search: "2250700000002" })).toEqual(["order-20"]);
    // The list says why.
    const { html } = await visitor.get(`${list}?status=failed`);
    expect(html.match(/badge failed">failed<\/span><span class="under">rejected</g)).toHaveLength(3);
    expect(await search({ from: next!, search: "order-3" })).toEqual([]);
    expect(await search({ from: next!, search: made[3]!.reference })).toEqual([]);
    expect(await search({ status: "failed", search: "2257038102473" })).toEqual([]);
  });

  test.each(["status=paid", "from=yesterday", "to=2026-13-01"])("refuses %s", async (query) => {
    expect((await visitor.get(`${list}?${query}`)).status).toBe(422);
  });
});

describe("the export", () => {
  test("has all payments that the search finds, as CSV", async () => {
    const all = await visitor.get(`${list}.csv`);
    expect(all.headers.get("content-type")).toBe("text/csv; charset=utf-8");
    expect(all.headers.get("content-disposition")).toBe("attachment; filename=disbursements.csv");
    const lines = all.html.split("\r\n");
    expect(lines[0]).toBe(
      "reference,merchantsReference,status,amount,fee,currency,country,phoneNumber,createdAt,updatedAt,failureCode,failureMessage",
    );
    expect(lines).toHaveLength(32);
    expect(lines[1]).toMatch(/^DSB\w+,order-29,pending,10000,100,XOF,CI,2257038102473,\d{4}-.+Z,\d{4}-.+Z,,$/);
    const failed = await visitor.get(`${list}.csv?status=failed`);
    const [, ...failures] = failed.html.trim().split("\r\n");
    expect(failures).toHaveLength(3);
    for (const line of failures)
      expect(line).toMatch(/Z,rejected,The provider rejected the request for the payment\.$/);
    const { html } = await visitor.get(`${list}/${failures[0]!.split(",")[0]}`);
    expect(html).toContain("The provider rejected the request for the payment. <code>rejected</code>");
    const [entry] = (await server.storage.listAudit({ merchantId: server.merchant.id, limit: 1 })).items;
    expect(entry).toMatchObject({ actor: "dashboard Ada", action: "payments.export" });
  });

  test("reads more than one page of the storage", async () => {
    const { merchant, key } = await server.addMerchant("Large");
    await Promise.all(Array.from({ length: 101 }, () => server.createPayout({}, { key })));
    const { html } = await visitor.get(`/m/${merchant.id}/disbursements.csv`);
    expect(new Set(html.trim().split("\r\n").slice(1)).size).toBe(101);
  });

  test.each(["=1+1", "+1", "-1", "@SUM(A1)"])("does not let a spreadsheet take %j as a formula", async (reference) => {
    const { merchant, key } = await server.addMerchant("Formula");
    const { status } = await server.createPayout({ reference: `${reference},"` }, { key });
    const { html } = await visitor.get(`/m/${merchant.id}/disbursements.csv`);
    if (status === 200) expect(html).toContain(`,"'${reference},""",pending`);
    else expect(html.trim().split("\r\n")).toHaveLength(1);
  });

  test("does not let a spreadsheet that splits at semicolons find a formula", async () => {
    const { merchant, key } = await server.addMerchant("Semicolon");
    await server.createPayout({ reference: "x;=1+1; ＝2;3" }, { key });
    const { html } = await visitor.get(`/m/${merchant.id}/disbursements.csv`);
    expect(html).toContain(",x;'=1+1;' ＝2;3,pending");
  });
});

test("a payment's page tells its story to the last attempt of its webhook", async () => {
  const receiver = await startReceiver();
  const webhookURL = receiver.url;
  const { body } = await server.createPayout({ reference: "story", webhookURL });
  const page = `${list}/${body.data.reference}`;
  const before = (await visitor.get(page)).html;
  expect(before).toContain("Succeeds");
  await server.pass(server.config.settleDelayMs);
  const { html } = await visitor.get(page);
  const [created, became, event, attempt] = ["Created", "Succeeded", "Event disbursement.completed", "Attempt 1"].map(
    (text) => html.indexOf(`<p>${text}`),
  );
  expect([created! > 0, became! > created!, event! > became!, attempt! > event!]).toEqual([true, true, true, true]);
  expect(html).toContain(`For ${webhookURL}`);
  expect(html).toContain("Attempt 1: status 204");
  expect((await visitor.get(`${list}/DSBNONE`)).status).toBe(404);
  await receiver.close();
});
