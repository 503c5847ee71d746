import { expect, test } from "vitest";
import type { TargetRequest, TargetResponse } from "../target/exchange.ts";
import { createHistories } from "./history.ts";

const phoneNumber = "2257038102473";
const sent = { reference: "order 1", amount: 100, country: "CI", currency: "XOF", phoneNumber };
const created = { reference: "DSB 1", merchantsReference: "order 1", amount: 100, fee: 1, status: "pending" };
const record = { ...created, id: "r1", country: "CI", currency: "XOF", customer: { phoneNumber, id: "c1" } };

const create: TargetRequest = { method: "POST", path: "/v1/disbursements", effect: "moves-money", json: sent };
const verify: TargetRequest = { method: "GET", path: "/v1/disbursements/DSB%201" };
const list: TargetRequest = { method: "GET", path: "/v1/disbursements?limit=3" };

/** A response. It was requested at the moment at which it was received, or `early` milliseconds before. */
type Seen = [request: TargetRequest, status: number | undefined, data?: unknown, early?: number];

/** Returns the histories of responses that were received one second after the other. */
function histories(seen: readonly Seen[]) {
  let time = 0;
  const all = createHistories(() => new Date(time));
  for (const [request, status, data, early = 0] of seen) {
    const at = new Date((time += 1000) - early).toISOString();
    all.see({ request, status, json: { data }, exchange: { at } } as unknown as TargetResponse);
  }
  return all;
}
const reads = (...records: object[]) => records.map((over): Seen => [verify, 200, { ...record, ...over }]);
const statuses = (...each: unknown[]) => reads(...each.map((status) => ({ status })));
const made: Seen = [create, 200, created];
const read: Seen = [verify, 200, record];

test.each<[string, Seen[], contradicts?: string]>([
  ["a create with another amount than was sent", [[create, 200, { ...created, amount: 99 }]], "fact: amount 99"],
  ["a verify with another fee than the create", [made, ...reads({ fee: 2 })], "fact: fee 2"],
  ["another phone number", [made, ...reads({ customer: { phoneNumber: "2250501020304" } })], "fact: another customer."],
  ["another id of the customer", reads({}, { customer: { phoneNumber, id: "c2" } }), "fact: customer.id"],
  ["a webhookURL that appears", reads({}, { webhookURL: "https://a.example" }), "fact: webhookURL"],
  ["a list with another amount", [made, [list, 200, { items: [{ ...record, amount: 1 }, null] }]], "fact: amount 1"],
  ["a success that becomes a failure", statuses("success", "failed"), "final-status: status failed"],
  ["a record that is no longer found", [read, [verify, 404]], "existence: 404"],
  ["an updatedAt that changes", reads({}, { updatedAt: "later" })],
  ["the customer's name", reads({}, { customer: { phoneNumber, id: "c1", name: "N" } })],
  ["a webhookURL of null", reads({}, { webhookURL: null })],
  ["the order of an object's fields", reads({ fee: { a: 1, b: [null] } }, { fee: { b: [null], a: 1 } })],
  ["a status that becomes final and stays", statuses("pending", "success", "success", 1)],
  ["a status of a response that another overtook", [...statuses("success"), [verify, 200, record, 1500]]],
  ["a list with an unknown record", [made, [list, 200, { items: [{ ...record, reference: "unknown" }] }]]],
  ["a record that verify has not returned before", [made, [verify, 404]]],
  ["a 500, a 429 and no response", [read, [verify, 500], [verify, 429], [verify, undefined]]],
  ["a request with another key", [read, [{ ...verify, key: { value: "wrong" } }, 401]]],
  ["a request with a query", [read, [{ ...verify, path: `${verify.path}?x=1` }, 400]]],
  ["another merchant's record", [made, [{ ...create, key: "second" }, 200, { ...created, fee: 9 }]]],
  ["a checkout", [made, [{ ...create, path: "/v1/checkouts", json: {} }, 200, { ...created, fee: 9 }]]],
  ["what JSON cannot state", [[{ ...create, json: { ...sent, amount: 2 ** 60, reference: "\uD800" } }, 200, created]]],
  ["what had to be refused", [[{ ...create, effect: "must-be-rejected", json: { amount: 5 } }, 200, created]]],
  ["data that is no object", [[create, 200, [created]], read]],
])("the histories of a run with %s", (_, seen, contradicts) => {
  const { contradictions } = histories(seen);
  const found = contradictions.map(({ what, actual }) => `${what}: ${actual}`);
  expect(found).toEqual(contradicts === undefined ? [] : [expect.stringContaining(contradicts)]);
  expect(JSON.stringify(contradictions.map(({ expected, actual }) => [expected, actual]))).not.toMatch(/225\d/);
});

test("a contradiction names the first response with the fact, with which later ones are compared", () => {
  const { contradictions } = histories(reads({ fee: 1 }, { fee: 2 }, { fee: 1 }));
  const [expected, actual] = ["fee 1, as in GET /v1/disbursements/DSB%201", "fee 2 in GET /v1/disbursements/DSB%201"];
  expect(contradictions).toMatchObject([{ expected, actual: `${actual}, 1.0 s later` }]);
});
