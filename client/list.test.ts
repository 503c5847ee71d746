import { describe, expect, test } from "vitest";
import { NotFoundError, UnexpectedAnswerError, UsageError } from "./index.ts";
import type { RequestInfo } from "./index.ts";
import { checkoutCreated, ok, record, refusal, rejectionOf, respond, scriptedClient } from "./testing/fakes.ts";
import type { Step } from "./testing/fakes.ts";

const page = (references: string[], nextCursor?: unknown) =>
  ok({ items: references.map((reference) => ({ ...record, reference })), nextCursor });

async function referencesOf(records: AsyncIterable<{ reference: string }>): Promise<string[]> {
  const references: string[] = [];
  for await (const { reference } of records) references.push(reference);
  return references;
}

describe("a list", () => {
  test("returns the records of all pages in order, with the filters on each request", async () => {
    const { client, time, sent } = scriptedClient([page(["a", "b"], "c 1"), page([], "c2"), page(["d"])]);
    const filters = { status: "failed", pageSize: 2, createdAfter: new Date(0), createdBefore: new Date(1) };
    expect(await time.run(referencesOf(client.disbursements.list({ ...filters, status: "failed" })))).toEqual([
      "a",
      "b",
      "d",
    ]);
    const queries = sent.map(({ url }) => Object.fromEntries(new URL(url).searchParams));
    const first = {
      status: "failed",
      limit: "2",
      createdAfter: "1970-01-01T00:00:00.000Z",
      createdBefore: "1970-01-01T00:00:00.001Z",
    };
    expect(queries).toEqual([first, { ...first, cursor: "c 1" }, { ...first, cursor: "c2" }]);
    expect(sent.map(({ method, url }) => `${method} ${url.split("?")[0]}`)).toEqual(
      Array(3).fill("GET https://pay.example/v1/disbursements"),
    );
  });

  test("and a read return a failure whose code this version does not know", async () => {
    const failed = { ...record, status: "failed", failure: { code: "from_the_future", message: "New.", more: 1 } };
    const { client, time } = scriptedClient([ok({ items: [failed] }), ok(failed)]);
    const records = client.disbursements.list()[Symbol.asyncIterator]();
    expect((await time.run(records.next())).value).toEqual(failed);
    expect(await time.run(client.disbursements.verify("DSB1"))).toEqual(failed);
  });

  test("ends at a page whose nextCursor is null", async () => {
    const { client, time, sent } = scriptedClient([page(["a"], null)]);
    expect(await time.run(referencesOf(client.disbursements.list()))).toEqual(["a"]);
    expect(sent[0]!.url).toBe("https://pay.example/v1/disbursements");
  });

  test("sends nothing until it is read, and requests a page only when the one before is used up", async () => {
    const { client, time, sent } = scriptedClient([page(["a", "b"], "next"), page(["c"])]);
    const records = client.disbursements.list()[Symbol.asyncIterator]();
    expect(sent).toHaveLength(0);
    for (const [reference, requests] of [
      ["a", 1],
      ["b", 1],
      ["c", 2],
    ]) {
      expect((await time.run(records.next())).value).toMatchObject({ reference });
      expect(sent).toHaveLength(requests as number);
    }
    expect(await time.run(records.next())).toEqual({ done: true, value: undefined });
  });

  test("of checkouts finds a record by the merchant's reference", async () => {
    const { client, time, sent } = scriptedClient([ok({ items: [checkoutCreated] })]);
    const checkouts = client.checkouts.list({ merchantsReference: "order #1" }, { headers: { "x-team": "web" } });
    expect(await time.run(referencesOf(checkouts))).toEqual(["CHK1"]);
    expect(sent[0]!.url).toBe("https://pay.example/v1/checkouts?merchantsReference=order%20%231");
    expect(sent[0]!.headers.get("x-team")).toBe("web");
  });

  test("retries a page, and reports the attempts to hooks", async () => {
    const seen: unknown[] = [];
    const hooks = { onRequest: ({ operation, reference }: RequestInfo) => void seen.push([operation, reference]) };
    const { client, time } = scriptedClient([refusal(503), page(["a"])], { hooks });
    const payouts = client.disbursements.list({ merchantsReference: "payroll-1" });
    expect(await time.run(referencesOf(payouts))).toEqual(["a"]);
    const attempt = ["listDisbursements", "payroll-1"];
    expect(seen).toEqual([attempt, attempt]);
  });

  test.each([404, 405])("says after %i whether the service has no list or a gateway is in the way", async (status) => {
    for (const [step, name, message] of [
      [refusal(status), "NotFoundError", "has no list"],
      [respond(status, "<html>"), "UnexpectedAnswerError", "without the service's JSON"],
    ] as const) {
      const { client, time, sent } = scriptedClient([step]);
      const error = await time.run(rejectionOf(referencesOf(client.disbursements.list())));
      expect(error).toMatchObject({ name, status, message: expect.stringContaining(message) });
      expect(sent).toHaveLength(1);
    }
  });

  const unusable: [string, Step[]][] = [
    ["repeats the cursor", [page(["a"], "c1"), page(["b"], "c1")]],
    ["has no items", [ok({})]],
    ["has no data", [respond(200, { statusCode: 200 })]],
  ];
  test.each(unusable)("fails on a page that %s", async (_, steps) => {
    const { client, time } = scriptedClient(steps, { retry: { tries: 1 } });
    expect(await time.run(rejectionOf(referencesOf(client.disbursements.list())))).toBeInstanceOf(
      UnexpectedAnswerError,
    );
  });

  const invalid: [string, object, RegExp][] = [
    ["an unknown filter", { merchantReference: "x" }, /"merchantReference".*merchantsReference/],
    ["a cursor", { cursor: "x" }, /"cursor"/],
    ["an invalid date", { createdAfter: new Date("soon") }, /createdAfter/],
  ];
  test.each(invalid)("refuses %s before it sends anything", async (_, filters, message) => {
    const { client, sent } = scriptedClient([]);
    const error = await rejectionOf(referencesOf(client.disbursements.list(filters)));
    expect(error).toBeInstanceOf(UsageError);
    expect(error).toMatchObject({ message: expect.stringMatching(message) });
    expect(sent).toHaveLength(0);
  });
});

describe("page", () => {
  test("reads one page, and the page at a cursor", async () => {
    const { client, time, sent } = scriptedClient([ok({ items: [record], nextCursor: "c1" }), ok({ items: [] })]);
    const payouts = client.disbursements.list({ pageSize: 1 });
    const first = await time.run(payouts.page());
    expect(first).toEqual({ items: [record], nextCursor: "c1" });
    expect(await time.run(payouts.page(first.nextCursor))).toEqual({ items: [] });
    expect(sent.map(({ url }) => new URL(url).search)).toEqual(["?limit=1", "?limit=1&cursor=c1"]);
  });

  test("rejects for an invalid filter or option, and sends nothing", async () => {
    const { client, sent } = scriptedClient([]);
    for (const list of [client.checkouts.list({ limit: 3 } as object), client.checkouts.list({}, { timeout: -1 })])
      expect(await rejectionOf(list.page())).toBeInstanceOf(UsageError);
    expect(sent).toEqual([]);
  });
});

describe("find", () => {
  test("returns the record with the merchant's reference, as a read returns it", async () => {
    const { client, time, sent } = scriptedClient([
      ok({
        items: [null, { ...record, merchantsReference: "x" }, { reference: "DSB1", merchantsReference: "payroll-1" }],
      }),
      ok(record),
    ]);
    expect(await time.run(client.disbursements.find("payroll-1"))).toEqual(record);
    expect(sent.map(({ url }) => new URL(url).pathname + new URL(url).search)).toEqual([
      "/v1/disbursements?merchantsReference=payroll-1",
      "/v1/disbursements/DSB1",
    ]);
  });

  test("returns undefined if no record has it", async () => {
    const { client, time } = scriptedClient([ok({ items: [] })]);
    expect(await time.run(client.checkouts.find("order-1"))).toBeUndefined();
  });

  test("throws NotFoundError if the service has no list, and UsageError without a reference", async () => {
    const { client, time } = scriptedClient([refusal(404)]);
    expect(await time.run(rejectionOf(client.disbursements.find("payroll-1")))).toBeInstanceOf(NotFoundError);
    const error = await rejectionOf(client.disbursements.find(""));
    expect(error).toBeInstanceOf(UsageError);
    expect((error as Error).message).toBe("merchantsReference is missing. It must be a text of your own.");
  });
});

describe("balances", () => {
  const entry = { kind: "top-up", reference: "t", currency: "XOF", amount: 5, balance: 5, createdAt: "1970" };

  test("are read with one request", async () => {
    const balances = [{ currency: "XOF", available: 5, reserved: 0, enforced: true }];
    const { client, time, sent } = scriptedClient([refusal(503), ok({ items: balances })]);
    expect(await time.run(client.balances.list())).toEqual(balances);
    expect(sent.map(({ url }) => url)).toEqual(Array(2).fill("https://pay.example/v1/balances"));
  });

  test("have a statement, read page by page, for a period", async () => {
    const { client, time, sent } = scriptedClient([ok({ items: [entry], nextCursor: "c" }), ok({ items: [entry] })]);
    const statement = client.balances.statement({ from: new Date(0), pageSize: 1 });
    expect(await time.run(referencesOf(statement))).toEqual(["t", "t"]);
    const path = "https://pay.example/v1/statements?from=1970-01-01T00%3A00%3A00.000Z&limit=1";
    expect(sent.map(({ url }) => url)).toEqual([path, `${path}&cursor=c`]);
    await expect(time.run(client.balances.statement({ status: "failed" } as object).page())).rejects.toThrow(
      UsageError,
    );
  });
});
