import { describe, expect, test } from "vitest";
import type { TargetRequest, TargetResponse } from "../target/exchange.ts";
import { createHistories, merchantOf } from "./histories.ts";

const sent = { reference: "order 1", amount: 100, country: "CI", currency: "XOF", phoneNumber: "2257038102473" };
const created = { reference: "DSB 1", merchantsReference: "order 1", amount: 100, fee: 1, status: "pending" };
const { phoneNumber, reference: merchantsReference, ...rest } = sent;
const record = { ...created, ...rest, reference: "DSB 1", merchantsReference, customer: { phoneNumber } };

const create: TargetRequest = { method: "POST", path: "/v1/disbursements", effect: "moves-money", json: sent };
const verify: TargetRequest = { method: "GET", path: "/v1/disbursements/DSB%201" };

/**
 * Returns histories, and a function that shows them a response. Each response is received 1 s after the previous
 * response.
 */
function observed() {
  let time = 0;
  const histories = createHistories(() => new Date(time));
  const see = (request: TargetRequest, status: number | undefined, data?: unknown) => {
    const at = new Date((time += 1000)).toISOString();
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
    ["a verify with another currency than was sent", verify, { ...record, currency: "GHS" }, 'fact: currency "GHS"'],
  ])("contradict %s", (_, request, data, expected) => {
    const { see, found } = observed();
    if (request === verify) see(create, 200, created);
    see(request, 200, data);
    expect(found()).toEqual([expect.stringContaining(expected)]);
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
