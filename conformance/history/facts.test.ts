import { describe, expect, test } from "vitest";
import { createBudget } from "../target/budget.ts";
import type { HttpClient } from "../target/http.ts";
import { createReceiver } from "../target/receiver.ts";
import { createRedactor } from "../target/redact.ts";
import { createTarget } from "../target/target.ts";
import { collectFacts } from "./facts.ts";

const now = () => new Date(0);

/** Returns a target that responds to every request with this status, and the facts that are collected about it. */
function facts(status: number, receiver?: Parameters<typeof collectFacts>[1]) {
  const http: HttpClient = {
    send: async () => ({ status, headers: {}, body: Buffer.from('{"data":{"reference":"DSB1"}}') }),
    close() {},
  };
  const target = createTarget(
    { baseUrl: "http://127.0.0.1:1", effects: "money", key: "k", headers: {}, timeoutMs: 1000, seed: 1, runId: "r1" },
    { http, budget: createBudget(9, 9000), redact: createRedactor([], []), now, sleep: async () => {} },
  );
  return { target, facts: collectFacts(target, receiver, now) };
}

const body = { reference: "order 1", amount: 100 };
const create = { method: "POST", path: "/v1/disbursements", effect: "moves-money", json: body } as const;

describe("collected facts", () => {
  test("contain each accepted create with what was sent, the key and the service's reference", async () => {
    const { target, facts: collected } = facts(200);
    await target.send({ ...create, key: { value: "wrong" } });
    await target.send({ ...create, path: "/v1/checkouts", json: undefined, body: '{"amount":5}' });
    await target.send({ method: "GET", path: "/v1/disbursements/DSB1" });
    expect(collected.records).toMatchObject([
      { kind: "disbursement", sent: body, key: { value: "wrong" }, reference: "DSB1", status: 200, at: now() },
      { kind: "checkout", sent: { amount: 5 }, key: "own" },
    ]);
    expect(collected.refusals).toEqual([]);
  });

  test.each([400, 401, 403, 404, 405, 409, 413, 415, 422])("contain requests refused with %i", async (status) => {
    const { target, facts: collected } = facts(status);
    await target.send(create);
    await target.send({ ...create, method: "PUT", path: "/v1//disbursements" });
    await target.send({ method: "GET", path: "/v1/disbursements/DSB1" });
    expect(collected.refusals).toMatchObject([
      { kind: "disbursement", sent: body, status },
      { status, request: { method: "PUT" } },
    ]);
    expect(collected.records).toEqual([]);
  });

  test.each([302, 408, 410, 500, 501])("contain creates whose outcome is unknown, such as %i", async (status) => {
    const { target, facts: collected } = facts(status);
    await target.send(create);
    expect(collected.uncertain).toMatchObject([{ sent: body, status }]);
    expect(collected.refusals).toEqual([]);
    expect([target.budget.payouts, target.ledger.created]).toMatchObject([1, [{ uncertain: true }]]);
  });

  test("keep no valid create that was refused as one to send again: a balance may cover it later", async () => {
    const { target, facts: collected } = facts(422);
    const invalid = { ...create, effect: "must-be-rejected" } as const;
    await target.send({ ...invalid, json: { amount: 1 } });
    await target.send(create);
    expect(collected.answered("POST /v1/disbursements", 422)?.request).toMatchObject({ json: { amount: 1 } });
  });

  test("name the mailbox to which a webhookURL leads", async () => {
    const receiver = await createReceiver({ host: "127.0.0.1", port: 0 }, now);
    const { url, name } = receiver.openMailbox();
    const { target, facts: collected } = facts(200, receiver);
    for (const webhookURL of [`${url}?a=/b`, "https://merchant.example/box-1", `${url}0`, 1]) {
      await target.send({ ...create, json: { ...body, webhookURL } });
    }
    await receiver.close();
    expect(collected.records.map(({ mailbox }) => mailbox)).toEqual([name, undefined, undefined, undefined]);
  });
});
