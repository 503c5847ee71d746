import { describe, expect, test } from "vitest";
import type { TargetResponse } from "../target/exchange.ts";
import { stateFacts, stateRecord, stateStatus, type History } from "./history.ts";

const history = (): History => ({
  kind: "disbursement",
  merchant: "own",
  reference: "DSB1",
  facts: new Map(),
  statuses: [],
});

/** Returns a response to a verify that was sent at this time, in milliseconds. */
const response = (sentAt: number) =>
  ({
    request: { method: "GET", path: "/v1/disbursements/DSB1" },
    exchange: { at: new Date(sentAt).toISOString() },
  }) as unknown as TargetResponse;

const record = (over: Record<string, unknown> = {}) => ({
  id: "r1",
  reference: "DSB1",
  amount: 100,
  customer: { id: "c1", phoneNumber: "2257038102473" },
  status: "pending",
  ...over,
});

/** States these statuses one after the other. */
const state = (seen: History, statuses: string[]) =>
  statuses.flatMap((status, index) => stateStatus(seen, status, response(10 * index), 10 * index + 5));

describe("a fact", () => {
  test("contradicts the first response that stated another value, and names both", () => {
    const seen = history();
    expect(stateFacts(seen, { fee: 1 }, response(0))).toEqual([]);
    expect(stateFacts(seen, { fee: 2 }, response(2500))).toMatchObject([
      {
        what: "fact",
        expected: "fee 1, as in GET /v1/disbursements/DSB1",
        actual: "fee 2 in GET /v1/disbursements/DSB1, 2.5 s later",
      },
    ]);
  });

  test("is compared with the first value again, so that a value which changes back is no contradiction", () => {
    const seen = history();
    for (const fee of [1, 2]) stateFacts(seen, { fee }, response(0));
    expect(stateFacts(seen, { fee: 1 }, response(1))).toEqual([]);
  });

  test.each([[[]], [{ a: 1, b: [null] }], [-0]])("of any JSON type (%j) is the same in two responses", (fee) => {
    const seen = history();
    stateFacts(seen, { fee: structuredClone(fee) }, response(0));
    expect(stateFacts(seen, { fee: fee === 0 ? 0 : structuredClone(fee) }, response(1))).toEqual([]);
    expect(stateFacts(seen, { fee: [fee] }, response(2))).toHaveLength(1);
  });

  test("is no field that the interface does not define", () => {
    const seen = history();
    const stated = ["a", "b"].flatMap((redirectURL) => stateRecord(seen, record({ redirectURL }), response(0), 0));
    expect(stated).toEqual([]);
  });

  test("that is undefined states nothing", () => {
    const seen = history();
    stateFacts(seen, { fee: undefined }, response(0));
    expect(stateFacts(seen, { fee: 1 }, response(1))).toEqual([]);
  });

  test("that is a phone number is not shown", () => {
    const seen = history();
    stateRecord(seen, record(), response(0), 0);
    const changed = record({ customer: { id: "c1", phoneNumber: "2250501020304" } });
    const [found] = stateRecord(seen, changed, response(1), 1);
    expect(found).toMatchObject({ actual: expect.stringContaining("another customer.phoneNumber") as string });
    expect(JSON.stringify([found?.expected, found?.actual])).not.toMatch(/225\d/);
  });
});

describe("a record", () => {
  test.each([
    ["id", { id: "r2" }],
    ["amount", { amount: 101 }],
    ["customer.id", { customer: { id: "c2", phoneNumber: "2257038102473" } }],
    ["webhookURL", { webhookURL: "https://merchant.example" }],
  ])("whose %s differs later contradicts itself", (field, over) => {
    const seen = history();
    stateRecord(seen, record(), response(0), 0);
    const found = stateRecord(seen, record(over), response(1), 1);
    expect(found).toMatchObject([{ what: "fact", expected: expect.stringContaining(field) as string }]);
  });

  test.each([
    ["updatedAt", { updatedAt: "later" }],
    ["an extra field", { note: "x" }],
    ["the customer's name", { customer: { id: "c1", phoneNumber: "2257038102473", name: "N" } }],
    ["a webhookURL of null", { webhookURL: null }],
    ["the status, from pending", { status: "success" }],
  ])("may change %s", (_, over) => {
    const seen = history();
    stateRecord(seen, record(), response(0), 0);
    expect(stateRecord(seen, record(over), response(1), 1)).toEqual([]);
    expect(seen.record).toEqual(record(over));
  });
});

describe("a status", () => {
  test.each([
    [["pending", "success"], 0],
    [["success", "success"], 0],
    [["success", "failed"], 1],
    [["failed", "pending"], 1],
    [["cancelled", "pending"], 1],
    [["success", "pending", "success"], 1],
  ])("%j contradicts a final one %i times", (statuses, count) => {
    expect(state(history(), statuses)).toHaveLength(count);
  });

  test("of a response that another one overtook is ignored", () => {
    const seen = history();
    stateStatus(seen, "success", response(10), 20);
    expect(stateStatus(seen, "pending", response(15), 30)).toEqual([]);
    expect(seen.statuses.map(({ status }) => status)).toEqual(["success"]);
  });

  test("that is no text is ignored", () => {
    const seen = history();
    expect([stateStatus(seen, 1, response(0), 0), seen.statuses]).toEqual([[], []]);
  });
});
