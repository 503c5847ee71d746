import { describe, expect, test } from "vitest";
import type { Notification } from "../target/receiver.ts";
import type { TargetResponse } from "../target/exchange.ts";
import type { Facts } from "./facts.ts";
import { createHistories } from "./history.ts";
import { falseStatements, notNotified, statements } from "./webhooks.ts";

type Fields = Record<string, unknown>;

const sent = { reference: "order-0001", amount: 100, country: "CI", currency: "XOF", phoneNumber: "2257038102473" };
const created = { reference: "DSB-00000001", merchantsReference: "order-0001", amount: 100, fee: 1 };

type Made = { mailbox?: string; number?: string; status?: string }[];

/** Returns the facts of a run in which these payouts were accepted. */
function factsOf(attempts: Made): Facts {
  const at = new Date(0);
  const histories = createHistories(() => at);
  const records = attempts.map(({ mailbox, number = "1", status = "success" }) => {
    const json = { ...sent, reference: `order-000${number}`, webhookURL: `https://shop.example/${mailbox}?a=1` };
    const data = { ...created, reference: `DSB-0000000${number}`, merchantsReference: json.reference, status };
    const request = { method: "POST", path: "/v1/disbursements", effect: "moves-money", json };
    const exchange = { at: at.toISOString() };
    const response = { request, status: 200, json: { data }, exchange } as unknown as TargetResponse;
    histories.see(response);
    return { kind: "disbursement", sent: json, key: "own", response, at, mailbox } as const;
  });
  return { records, refusals: [], uncertain: [], histories, answered: () => undefined };
}

const notification = (box: string, json: unknown, path = `/hooks/${box}?a=1`): Notification =>
  ({ box, path, json, body: JSON.stringify(json), method: "POST", headers: {}, at: new Date(0) }) as Notification;

const about = (number: string, over: Fields = {}) => ({ data: { reference: `DSB-0000000${number}`, ...over } });

describe("a statement", () => {
  const facts = factsOf([{ mailbox: "a" }]);
  const made = (...bodies: unknown[]) =>
    statements(
      facts,
      bodies.map((body) => notification("a", body)),
    );
  const wrong = (...bodies: unknown[]) => falseStatements(made(...bodies)).flatMap(({ fields }) => fields);

  test("is found in an object with several fields of a record, at an address of one record", () => {
    expect(made({ amount: 100, fee: 1, status: "success" })).toHaveLength(1);
    expect(made({ amount: 100, fee: 1 })).toHaveLength(0);
  });

  test.each([
    ["the amount as text", { amount: "100" }, ["amount"]],
    ["another amount", { amount: 101 }, ["amount"]],
    ["a currency in words", { currency: "francs" }, []],
    ["the phone number with a plus sign", { phoneNumber: "+2257038102473" }, []],
    ["another phone number", { phoneNumber: "2250501020304" }, ["phoneNumber"]],
    ["a masked phone number", { phoneNumber: "***473" }, []],
  ])("with %s", (_, over, expected) => {
    expect(wrong(about("1", over))).toEqual(expected);
  });

  test("with a foreign reference is false only if webhooks of this target put the record's reference there", () => {
    const foreign = { reference: "event-77", id: "DSB-00000001" };
    expect(wrong(foreign)).toEqual([]);
    expect(wrong(about("1"), foreign)).toEqual(["reference"]);
  });
});

describe("a record is not notified", () => {
  type Sent = [box: string, json: unknown];
  const due = (attempts: Made, ...sentTo: Sent[]) => {
    const received = sentTo.map(([box, json]) => notification(box, json));
    const state = notNotified(factsOf(attempts), received, "disbursement");
    return [state.due, state.lost.length];
  };

  test.each<[string, Made, Sent[], number[]]>([
    ["if nothing arrived", [{ mailbox: "a" }], [], [1, 1]],
    ["unless a webhook that names no record arrived", [{ mailbox: "a" }], [["a", { paid: true }]], [1, 0]],
    ["if its webhook went to another address", [{ mailbox: "a" }], [["b", about("1")]], [1, 1]],
    ["only if it is final", [{ mailbox: "a", status: "pending" }], [], [0, 0]],
    [
      "if the address's only webhook is about another record",
      [{ mailbox: "a" }, { mailbox: "a", number: "2" }],
      [["a", about("2")]],
      [2, 1],
    ],
  ])("%s", (_, attempts, received, expected) => {
    expect(due(attempts, ...received)).toEqual(expected);
  });

  const two = [{ mailbox: "a" }, { mailbox: "b", number: "2" }];
  test("if other webhooks name their records, and the webhook at its address names none", () => {
    expect(due(two, ["a", about("1")], ["b", { paid: true }])).toEqual([2, 1]);
    expect(due(two, ["a", { paid: true }], ["b", { paid: true }])).toEqual([2, 0]);
  });

  test.each([
    ["a success that became pending", ["pending", "success", "pending", "success"], ["success"], false, [2, 1]],
    ["the same, if responses may be stale", ["success", "pending", "success"], ["success"], true, [1, 0]],
    ["a success that became a failure", ["success", "failed"], ["failed"], false, [2, 1]],
    ["both of them", ["success", "failed"], ["success", "failed"], false, [2, 0]],
  ])("as often as its status became final: %s", (_, statuses, notified, mayBeStale, expected) => {
    const facts = factsOf([{ mailbox: "a", status: "pending" }]);
    for (const [index, status] of statuses.entries()) {
      const request = { method: "GET", path: "/v1/disbursements/DSB-00000001" } as const;
      const exchange = { at: new Date(1000 * (index + 1)).toISOString() };
      const json = { data: { reference: "DSB-00000001", status } };
      facts.histories.see({ request, status: 200, json, exchange } as unknown as TargetResponse);
    }
    const received = notified.map((status) => notification("a", { data: { reference: "DSB-00000001", status } }));
    const { due: all, lost } = notNotified(facts, received, "disbursement", mayBeStale);
    expect([all, lost.length]).toEqual(expected);
  });
});
