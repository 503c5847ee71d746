// Lists, pages, finding a record by the merchant's own reference, and balances.
import { describe, expect, test } from "vitest";
import type { DisbursementClient, RequestInfo } from "./index.ts";
import { checkoutCreated, list, ok, page, record, refusal, respond, scriptedClient } from "./testing/fakes.ts";
import type { Step } from "./testing/fakes.ts";

const pageOf = (references: string[], nextCursor?: unknown) =>
  ok({ items: references.map((reference) => ({ ...record, reference })), nextCursor });

async function referencesOf(records: AsyncIterable<{ reference: string }>): Promise<string[]> {
  const references: string[] = [];
  for await (const { reference } of records) references.push(reference);
  return references;
}

const readAll = ({ disbursements }: DisbursementClient) => referencesOf(disbursements.list());

describe("a list", () => {
  test("returns the records of all pages in order, with the filters on each request", async () => {
    const { client, time, sent } = scriptedClient([pageOf(["a", "b"], "c 1"), pageOf([], "c2"), pageOf(["d"], null)]);
    const times = { createdAfter: new Date(0), createdBefore: "1970-01-01T00:00:00.001Z" };
    const payouts = client.disbursements.list({ status: "failed", pageSize: 2, ...times });
    expect(await time.run(referencesOf(payouts))).toEqual(["a", "b", "d"]);
    const queries = sent.map(({ url }) => Object.fromEntries(new URL(url).searchParams));
    const first = { status: "failed", limit: "2", ...times, createdAfter: "1970-01-01T00:00:00.000Z" };
    expect(queries).toEqual([first, { ...first, cursor: "c 1" }, { ...first, cursor: "c2" }]);
    expect(sent.map(({ method, url }) => `${method} ${url.split("?")[0]}`)).toEqual(
      Array(3).fill("GET https://pay.example/v1/disbursements"),
    );
  });

  test("and a read return a failure whose code this version does not know", async () => {
    const failed = { ...record, status: "failed", failure: { code: "from_the_future", message: "New.", more: 1 } };
    const { client, time, sent, read } = scriptedClient([list(failed), ok(failed)]);
    const records = client.disbursements.list()[Symbol.asyncIterator]();
    expect((await time.run(records.next())).value).toEqual(failed);
    expect(sent[0]!.url).toBe("https://pay.example/v1/disbursements");
    expect(await read()).toEqual(failed);
  });

  test("sends nothing until it is read, and requests a page only when the one before is used up", async () => {
    const { client, time, sent } = scriptedClient([pageOf(["a", "b"], "next"), pageOf(["c"])]);
    const records = client.disbursements.list()[Symbol.asyncIterator]();
    expect(sent).toHaveLength(0);
    for (const requests of [1, 1, 2]) {
      await time.run(records.next());
      expect(sent).toHaveLength(requests);
    }
    expect(await time.run(records.next())).toEqual({ done: true, value: undefined });
  });

  test("of checkouts finds a record by the merchant's reference", async () => {
    const { client, time, sent } = scriptedClient([list(checkoutCreated)]);
    const checkouts = client.checkouts.list({ merchantsReference: "order #1" }, { headers: { "x-team": "web" } });
    expect(await time.run(referencesOf(checkouts))).toEqual(["CHK1"]);
    expect(sent[0]!.url).toBe("https://pay.example/v1/checkouts?merchantsReference=order%20%231");
    expect(sent[0]!.headers.get("x-team")).toBe("web");
  });

  test("retries a page, and reports the attempts to hooks", async () => {
    const seen: unknown[] = [];
    const hooks = { onRequest: ({ operation, reference }: RequestInfo) => void seen.push([operation, reference]) };
    const { client, time } = scriptedClient([refusal(503), pageOf(["a"])], { hooks });
    const payouts = client.disbursements.list({ merchantsReference: "payroll-1" });
    expect(await time.run(referencesOf(payouts))).toEqual(["a"]);
    expect(seen).toEqual(["listDisbursements", "listDisbursements"].map((name) => [name, "payroll-1"]));
  });

  test.each<[string, Step[], string, string?]>([
    ["404", [refusal(404)], "NotFoundError", "has no list"],
    ["405", [refusal(405)], "NotFoundError", "has no list"],
    ["a gateway's 404", [page(404)], "UnexpectedAnswerError", "without the service's JSON"],
    ["a repeated cursor", [pageOf(["a"], "c1"), pageOf(["b"], "c1")], "UnexpectedAnswerError"],
    ["no items", [ok({})], "UnexpectedAnswerError"],
    ["no data", [respond(200, { statusCode: 200 })], "UnexpectedAnswerError"],
  ])("fails after %s, and says why", async (_, steps, name, message = "") => {
    const { failure, sent } = scriptedClient(steps, { retry: { tries: 1 } });
    expect(await failure(readAll)).toMatchObject({ name, message: expect.stringContaining(message) });
    expect(sent).toHaveLength(steps.length);
  });

  test.each<[string, object, object, RegExp]>([
    ["an unknown filter", { merchantReference: "x" }, {}, /"merchantReference".*merchantsReference/],
    ["a cursor", { cursor: "x" }, {}, /"cursor"/],
    ["an invalid date", { createdAfter: new Date("soon") }, {}, /createdAfter/],
    ["an invalid option", {}, { timeout: -1 }, /timeout/],
  ])("refuses %s before it sends anything", async (_, filters, options, message) => {
    const { failure, sent } = scriptedClient([]);
    for (const read of [
      ({ disbursements }: DisbursementClient) => referencesOf(disbursements.list(filters, options)),
      ({ checkouts }: DisbursementClient) => checkouts.list(filters, options).page(),
    ])
      expect(await failure(read)).toMatchObject({ name: "UsageError", message: expect.stringMatching(message) });
    expect(sent).toHaveLength(0);
  });
});

test("page reads one page, and the page at a cursor", async () => {
  const { client, time, sent } = scriptedClient([ok({ items: [record], nextCursor: "c1" }), list()]);
  const payouts = client.disbursements.list({ pageSize: 1 });
  const first = await time.run(payouts.page());
  expect(first).toEqual({ items: [record], nextCursor: "c1" });
  expect(await time.run(payouts.page(first.nextCursor))).toEqual({ items: [] });
  expect(sent.map(({ url }) => new URL(url).search)).toEqual(["?limit=1", "?limit=1&cursor=c1"]);
});

describe("find", () => {
  test("returns the record with the merchant's reference, as a read returns it", async () => {
    const other = { ...record, merchantsReference: "x" };
    const steps = [list(null, other, { reference: "DSB1", merchantsReference: "payroll-1" }), ok(record)];
    const { client, time, sent } = scriptedClient(steps);
    expect(await time.run(client.disbursements.find("payroll-1"))).toEqual(record);
    expect(sent.map(({ url }) => new URL(url).pathname + new URL(url).search)).toEqual([
      "/v1/disbursements?merchantsReference=payroll-1",
      "/v1/disbursements/DSB1",
    ]);
  });

  test("returns undefined if no record has it, and throws without a list or without a reference", async () => {
    const { client, time, failure } = scriptedClient([list(), refusal(404)]);
    expect(await time.run(client.checkouts.find("order-1"))).toBeUndefined();
    const find = (reference: string) => failure(({ disbursements }) => disbursements.find(reference));
    expect(await find("payroll-1")).toMatchObject({ name: "NotFoundError" });
    const message = "merchantsReference is missing. It must be a text of your own.";
    expect(await find("")).toMatchObject({ name: "UsageError", message });
  });
});

describe("balances", () => {
  const entry = { kind: "top-up", reference: "t", currency: "XOF", amount: 5, balance: 5, createdAt: "1970" };

  test("are read with one request", async () => {
    const balances = [{ currency: "XOF", available: 5, reserved: 0, enforced: true }];
    const { client, time, sent } = scriptedClient([refusal(503), list(...balances)]);
    expect(await time.run(client.balances.list())).toEqual(balances);
    expect(sent.map(({ url }) => url)).toEqual(Array(2).fill("https://pay.example/v1/balances"));
  });

  test("have a statement, read page by page, for a period", async () => {
    const { client, time, sent, failure } = scriptedClient([ok({ items: [entry], nextCursor: "c" }), list(entry)]);
    const statement = client.balances.statement({ from: new Date(0), pageSize: 1 });
    expect(await time.run(referencesOf(statement))).toEqual(["t", "t"]);
    const path = "https://pay.example/v1/statements?from=1970-01-01T00%3A00%3A00.000Z&limit=1";
    expect(sent.map(({ url }) => url)).toEqual([path, `${path}&cursor=c`]);
    const error = await failure(({ balances }) => balances.statement({ status: "failed" } as object).page());
    expect(error.name).toBe("UsageError");
  });
});
