import { describe, expect, test } from "vitest";
import type { TargetRequest, TargetResponse } from "../target/exchange.ts";
import { createHistories, merchantOf } from "./history.ts";

const sent = { reference: "order 1", amount: 100, country: "CI", currency: "XOF", phoneNumber: "2257038102473" };
const created = { reference: "DSB 1", merchantsReference: "order 1", amount: 100, fee: 1, status: "pending" };
const { phoneNumber, reference: merchantsReference, ...rest } = sent;
const record = { ...created, ...rest, reference: "DSB 1", merchantsReference, customer: { phoneNumber } };

const create: TargetRequest = { method: "POST", path: "/v1/disbursements", effect: "moves-money", json: sent };
const verify: TargetRequest = { method: "GET", path: "/v1/disbursements/DSB%201" };

/**
 * Returns histories, and a function that shows them a response. Each response is received 1 s after the previous
 * response. It was requested at the same moment, or `early` milliseconds before.
 */
function observed() {
  let time = 0;
  const histories = createHistories(() => new Date(time));
  const see = (request: TargetRequest, status: number | undefined, data?: unknown, early = 0) => {
    const at = new Date((time += 1000) - early).toISOString();
    histories.see({ request, status, json: { data }, exchange: { at } } as unknown as TargetResponse);
  };
  const found = () => histories.contradictions.map(({ what, actual }) => `${what}: ${actual}`);
  return { histories, see, found };
}

describe("the histories of a run", () => {
  test("contain what create and verify say of a payout", () => {
    const { histories, see, found } = observed();
    see(create, 200, created);
    see(verify, 200, { ...record, status: "success" });
    const history = histories.find("own", "disbursement", "DSB 1");
    expect(history?.statuses.map(({ status }) => status)).toEqual(["pending", "success"]);
    expect(history?.record).toMatchObject({ fee: 1 });
    expect([histories.all.length, found()]).toEqual([1, []]);
  });

  test.each([
    ["a create that returns another amount than was sent", create, { ...created, amount: 99 }, "fact: amount 99"],
    ["a verify with another fee than the create", verify, { ...record, fee: 2 }, "fact: fee 2"],
    ["a fee of another type", verify, { ...record, fee: [1] }, "fact: fee [1]"],
    ["a verify with another currency than was sent", verify, { ...record, currency: "GHS" }, 'fact: currency "GHS"'],
    [
      "another phone number, without showing it",
      verify,
      { ...record, customer: { phoneNumber: "2250501020304" } },
      "fact: another customer.phoneNumber in",
    ],
  ])("contradict %s", (_, request, data, expected) => {
    const { see, found, histories } = observed();
    if (request === verify) see(create, 200, created);
    see(request, 200, data);
    expect(found()).toEqual([expect.stringContaining(expected)]);
    expect(JSON.stringify(histories.contradictions.map(({ expected: text, actual }) => [text, actual]))).not.toMatch(
      /225\d/,
    );
  });

  test("name the first response with a fact, which later ones are compared with", () => {
    const { histories, see } = observed();
    for (const fee of [1, 2, 1]) see(verify, 200, { ...record, fee });
    expect(histories.contradictions).toMatchObject([
      {
        expected: "fee 1, as in GET /v1/disbursements/DSB%201",
        actual: "fee 2 in GET /v1/disbursements/DSB%201, 1.0 s later",
      },
    ]);
  });

  test.each([
    ["id", { id: "r2" }, 1],
    ["amount", { amount: 101 }, 1],
    ["customer.id", { customer: { phoneNumber, id: "c2" } }, 1],
    ["webhookURL", { webhookURL: "https://merchant.example" }, 1],
    ["updatedAt", { updatedAt: "later" }, 0],
    ["redirectURL, which a disbursement does not have", { redirectURL: "x" }, 0],
    ["the customer's name", { customer: { phoneNumber, id: "c1", name: "N" } }, 0],
    ["a webhookURL of null", { webhookURL: null }, 0],
    ["the order of an object's fields", { fee: { b: [null], a: 1 } }, 0],
    ["the status, from pending", { status: "success" }, 0],
  ])("count a record that changes %s: %j", (_, over, count) => {
    const { see, found } = observed();
    const before = {
      ...record,
      id: "r1",
      customer: { phoneNumber, id: "c1" },
      fee: "fee" in over ? { a: 1, b: [null] } : 1,
    };
    for (const data of [before, { ...before, ...over }]) see(verify, 200, data);
    expect(found()).toHaveLength(count);
  });

  test.each([
    [["pending", "success"], 0],
    [["success", "success"], 0],
    [["success", 1], 0],
    [["success", "failed"], 1],
    [["failed", "pending"], 1],
    [["cancelled", "pending"], 1],
    [["success", "pending", "success"], 1],
  ])("count the statuses %j that contradict a final one", (statuses, count) => {
    const { see, found } = observed();
    for (const status of statuses) see(verify, 200, { ...record, status });
    expect(found()).toHaveLength(count);
  });

  test("ignore the status of a response that another one overtook", () => {
    const { histories, see, found } = observed();
    see(verify, 200, { ...record, status: "success" });
    see(verify, 200, { ...record, status: "pending" }, 1500);
    expect([histories.all[0]?.statuses.map(({ status }) => status), found()]).toEqual([["success"], []]);
  });

  test("contradict a list that shows a known record differently", () => {
    const { histories, see, found } = observed();
    see(create, 200, created);
    const items = [{ ...record, amount: 1 }, { ...record, reference: "unknown" }, null];
    see({ method: "GET", path: "/v1/disbursements?limit=3" }, 200, { items });
    expect(found()).toEqual([expect.stringContaining("fact: amount 1")]);
    expect(histories.all).toHaveLength(1);
  });

  test("miss a record that verify has returned before", () => {
    const { see, found } = observed();
    see(verify, 200, record);
    see(verify, 404);
    expect(found()).toEqual(["existence: 404"]);
  });

  test.each([
    ["before verify has returned it", verify, 404, false],
    ["after a 500", verify, 500, true],
    ["after a 429", verify, 429, true],
    ["after no response", verify, undefined, true],
    ["for another key", { ...verify, key: { value: "wrong" } } as TargetRequest, 401, true],
    ["for a request with a query", { ...verify, path: `${verify.path}?x=1` }, 400, true],
    ["for a request with a body", { ...verify, json: {} }, 400, true],
  ])("do not miss a record %s", (_, request, status, wasRead) => {
    const { see, found } = observed();
    if (wasRead) see(verify, 200, record);
    else see(create, 200, created);
    see(request, status);
    expect(found()).toEqual([]);
  });

  test("are kept apart by merchant and kind", () => {
    const { histories, see, found } = observed();
    see(create, 200, created);
    see({ ...create, key: "second" }, 200, { ...created, fee: 9 });
    see({ ...create, path: "/v1/checkouts", json: {} }, 200, { ...created, fee: 9 });
    expect([histories.all.length, found()]).toEqual([3, []]);
  });

  test("do not compare what a request cannot state exactly", () => {
    const { see, found } = observed();
    see({ ...create, json: { ...sent, amount: 2 ** 60, reference: "\uD800" } }, 200, created);
    see({ ...create, effect: "must-be-rejected", json: { ...sent, amount: 5 } }, 200, {
      ...created,
      reference: "DSB2",
    });
    expect(found()).toEqual([]);
  });

  test("ignore a response whose data is not an object", () => {
    const { histories, see } = observed();
    see(create, 200, [created]);
    see(verify, 200, "text");
    expect(histories.all).toEqual([]);
  });
});

test.each([
  [{}, "own"],
  [{ key: "second" }, "second"],
  [{ key: "none" }, undefined],
  [{ key: { value: "x" } }, undefined],
  [{ headers: { "X-Api-Key": "x" } }, undefined],
] as const)("the merchant of a request with %j is %s", (over, expected) => {
  expect(merchantOf({ request: { ...verify, ...over } } as unknown as TargetResponse)).toBe(expected);
});
