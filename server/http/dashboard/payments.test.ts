// Lists and pages of payments, their CSV, and the requests that made them.
import { afterAll, describe, expect, test } from "vitest";
import { done, openDashboard, says, trail } from "../../testing/dashboard.ts";
import { signedIn } from "../../testing/dashboard-visitor.ts";
import { aPayout } from "../../testing/server.ts";

const { server, id, area, close } = await openDashboard();
afterAll(close);

const list = `${area}/disbursements`;
const DAY = 86_400_000;
const references: string[] = [];
for (let index = 0; index < 30; index++) {
  const phoneNumber = index % 10 === 0 ? "2250700000002" : "2257038102473";
  references.push((await server.createPayout({ reference: `order-${index}`, phoneNumber })).body.data.reference);
  if (index === 14) server.clock.advance(DAY);
}
const visitor = await signedIn(server);

const shown = async (path: string) => (await visitor.get(path)).rows.map((cells) => /order-\d+/.exec(cells.join())![0]);
const from = (first: number, last: number) =>
  Array.from({ length: first - last + 1 }, (_, index) => `order-${first - index}`);

describe("the list", () => {
  test.each(["", "?search=2257038102473"])("%s has pages, newest first, which keep the search", async (query) => {
    const all = from(29, 0).filter((name) => query === "" || !/^order-(0|10|20)$/.test(name));
    const first = await visitor.get(list + query);
    const last = await visitor.get(first.link("Older"));
    expect(first.text).not.toContain("First page");
    expect(last.text).not.toContain("Older");
    expect(await shown(last.link("First page"))).toEqual(all.slice(0, 25));
    expect(await shown(first.link("Older"))).toEqual(all.slice(25));
  });

  const [start = "", next = ""] = [DAY, 0].map((ago) => new Date(server.clock.now() - ago).toISOString().slice(0, 10));
  test.each<[Record<string, string>, string[]]>([
    [{ search: "order-7" }, ["order-7"]],
    [{ search: references[8]! }, ["order-8"]],
    [{ search: " +225 07 00 00 00 02 " }, ["order-20", "order-10", "order-0"]],
    [{ search: "order-" }, []],
    [{ to: start }, from(14, 0)],
    [{ from: next }, from(29, 15)],
    [{ from: start, to: start, status: "failed" }, ["order-10", "order-0"]],
    [{ from: next, search: "2250700000002" }, ["order-20"]],
    [{ from: next, search: references[3]! }, []],
    [{ status: "failed", search: "2257038102473" }, []],
  ])("finds by %j", async (query, expected) => {
    expect(await shown(`${list}?${new URLSearchParams(query)}`)).toEqual(expected);
  });
});

const linesOf = async (path: string) => (await visitor.get(path)).html.trim().split("\r\n");

describe("as CSV", () => {
  test("are all payments that the search finds", async () => {
    const { headers } = await visitor.get(`${list}.csv`);
    expect(headers.get("content-type")).toBe("text/csv; charset=utf-8");
    expect(headers.get("content-disposition")).toBe("attachment; filename=disbursements.csv");
    expect(await trail(server)).toMatchObject([{ actor: "dashboard Ada", action: "payments.export" }]);
    const [head, first, ...others] = await linesOf(`${list}.csv`);
    const columns = "reference,merchantsReference,status,amount,fee,currency,country,phoneNumber,createdAt,updatedAt";
    expect(head).toBe(`${columns},failureCode,failureMessage`);
    expect(first).toMatch(/^DSB\w+,order-29,pending,10000,100,XOF,CI,2257038102473,\d{4}-.+Z,\d{4}-.+Z,,$/);
    expect(others).toHaveLength(29);
    const reason = "The provider rejected the request for the payment.";
    const [, ...failed] = await linesOf(`${list}.csv?status=failed`);
    expect(failed).toEqual(failed.map(() => expect.stringMatching(new RegExp(`Z,rejected,${reason}$`))));
    const { rows } = await visitor.get(`${list}?status=failed`);
    expect([failed.length, rows.every((cells) => cells.join().includes("rejected"))]).toEqual([3, true]);
    await says(visitor.get(`${list}/${failed[0]!.split(",")[0]}`), 200, `${reason} rejected`);
  });

  test("are more than one page of the storage", async () => {
    const { merchant, key } = await server.addMerchant("Large");
    await Promise.all(Array.from({ length: 101 }, () => server.createPayout({}, { key })));
    expect(new Set(await linesOf(`/m/${merchant.id}/disbursements.csv`)).size).toBe(102);
  });

  test.each([
    ["=1+1", "'=1+1"],
    ["+1", "'+1"],
    ["-1", "'-1"],
    ["@SUM(A1)", "'@SUM(A1)"],
    // A spreadsheet may split at semicolons.
    ["x;=1+1; ＝2;3", "x;'=1+1;' ＝2;3"],
  ])("have no formula for a spreadsheet: %s", async (reference, written) => {
    const { merchant, key } = await server.addMerchant("Formula");
    expect((await server.createPayout({ reference }, { key })).status).toBe(200);
    const { html } = await visitor.get(`/m/${merchant.id}/disbursements.csv`);
    expect(html).toContain(`,${written},pending`);
  });
});

const log = `${area}/requests`;
/** Waits until a request is in its merchant's log. Returns its id. */
async function logged({ headers }: { headers: object }, merchantId = id): Promise<string> {
  const requestId = (headers as Record<string, string>)["x-request-id"]!;
  await expect
    .poll(() => (server.clock.advance(500), server.storage.listRequests({ merchantId, requestId, limit: 1 })))
    .toMatchObject({ items: { length: 1 } });
  return requestId;
}
/** The ids of the requests on a page, in order. */
const idsIn = (html: string) => [...html.matchAll(/data-key="(req_\w+)"/g)].map(([, each]) => each);
const found = async (query: string) => idsIn((await visitor.get(log + query)).html);

describe("the log of requests", () => {
  test("is where a payment leads to the request that created it, and the request to the payment", async () => {
    const [body, program] = [aPayout({ reference: "traced" }), `<b>shop</b>/1 ${server.key}`];
    const create = () => server.request("POST", "/v1/disbursements", { body, headers: { "user-agent": program } });
    const [created, repeated] = [await create(), await create()];
    const [one, two] = [await logged(created), await logged(repeated)];
    const { reference } = created.body.data;
    const payment = `${list}/${reference}`;
    // The program that sent the request is shown as data, and the API key by its hint.
    const [by, hint] = ["by <b>shop</b>/1 …", `API key …${server.key.slice(-4)}`];
    await says(visitor.get(payment), 200, `/requests?request=${one}"`, `Requested ${by} · ${hint}`, "&lt;b&gt;shop");
    const request = ["POST /v1/disbursements", "traced", "…473", "Sent", "Returned", `Sent ${by}`, hint];
    const { html } = await says(visitor.get(`${log}?request=${one}`), 200, `${payment}"`, ...request);
    expect(idsIn(html)).toEqual([one]);
    // The refused duplicate leads to the same payment, and so does a request with the payment's path.
    const three = await logged(await server.request("GET", `/v1/disbursements/${reference}`));
    expect(await found(`?reference=${reference}`)).toEqual([three, two, one]);
    expect(await found("?reference=traced")).toEqual([three, two, one]);
  });

  test("has no phone number, key, secret or name, wherever a caller puts them", async () => {
    const { merchant, key } = await server.addMerchant("Private Stores");
    const phoneNumber = "2250701020389";
    const pay = (body: unknown) => server.request("POST", "/v1/disbursements", { key, body });
    await pay(aPayout({ phoneNumber, webhookURL: "https://a.example/t0ken" }));
    await pay({ ...aPayout(), name: "Lovelace", apiKey: key, [phoneNumber]: "Lovelace" });
    await pay({ ...aPayout(), reference: `${key} ${phoneNumber}`, amount: 0 });
    await pay(`{"phoneNumber":"${phoneNumber}","name":"Lovelace"`);
    for (const wanted of [`/${phoneNumber}`, `/${key}`, "/whsec_s3cret", `?merchantsReference=${phoneNumber}`])
      await server.request("GET", `/v1/disbursements${wanted}`, { key });
    const { body } = await server.request("GET", "/sandbox/webhook-secret", { key });
    await logged(await server.request("GET", "/sandbox/events", { key }), merchant.id);
    const { items } = await server.storage.listRequests({ merchantId: merchant.id, limit: 100 });
    expect(items).toHaveLength(10);
    const text = JSON.stringify(items);
    for (const each of [key, body.data.secret, "s3cret", "t0ken", phoneNumber, "0102038", "Lovelace", "Private"])
      expect.soft(text, each).not.toContain(each);
    expect(text).toContain("…389");
  });

  test("has no request without a valid key, of no operation, or of the dashboard", async () => {
    const count = async () => (await server.storage.listRequests({ merchantId: id, limit: 1_000 })).items.length;
    const request = async () => logged(await server.request("GET", "/sandbox/clock"));
    await request();
    const before = await count();
    for (const key of [null, "sk_unknown_but_long_enough"]) await server.request("GET", "/v1/disbursements", { key });
    await server.request("GET", "/nothing");
    await visitor.get(log);
    await request();
    expect(await count()).toBe(before + 1);
  });
});

test("the page of a pending payout of a sandbox finishes it, and no other page does", async () => {
  const finish = (reference: string) => visitor.post(`${area}/payments/${reference}/finish`, { outcome: "success" });
  const payout = async () => (await server.createPayout()).body.data.reference as string;
  const [pending, button] = [await payout(), "Finish the disbursement now"];
  const page = `${list}/${pending}`;
  await says(visitor.get(page), 200, button, "The wallet may not take part.");
  expect(await done(finish(pending))).toBe(page);
  await says(visitor.get(page), 200, "success", { not: button });
  await server.storage.setMerchantLimits(id, { approvalFrom: { XOF: 1 } }, "command ada@host");
  const waiting = await payout();
  await says(visitor.get(`${list}/${waiting}`), 200, "Waits for", { not: button });
  await says(finish(waiting), 409, "waits for approval");
});
