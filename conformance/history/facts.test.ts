import { expect, test } from "vitest";
import { createReceiver } from "../target/receiver.ts";
import { scriptedTarget } from "../testing/scripted-target.ts";
import { collectFacts } from "./facts.ts";

const now = () => new Date(0);

/** Sends requests to a target that responds to every request with this status. Returns the facts about it. */
async function factsOf(status: number, ...requests: object[]) {
  const receiver = await createReceiver({ host: "127.0.0.1", port: 0 }, now);
  const body = Buffer.from('{"data":{"reference":"DSB1"}}');
  const { target } = scriptedTarget(async () => ({ status, headers: {}, body }));
  const facts = collectFacts(target, receiver, now);
  const { url, name } = receiver.openMailbox();
  for (const request of requests) {
    await target.send({ ...create, ...request });
    await target.send({ ...create, json: { ...sent, webhookURL: `${url}?a=/b` }, ...request });
  }
  await receiver.close();
  return { facts, target, name };
}

const sent = { reference: "order 1", amount: 100 };
const create = { method: "POST", path: "/v1/disbursements", effect: "moves-money", json: sent } as const;

test("facts contain each accepted create with its key, the service's reference and the mailbox of its address", async () => {
  const read = { method: "GET", path: "/v1/disbursements/DSB1" };
  const { facts, name } = await factsOf(200, { key: { value: "wrong" } }, { path: "/v1/checkouts" }, read);
  const disbursement = { kind: "disbursement", key: { value: "wrong" }, reference: "DSB1", status: 200, at: now() };
  expect(facts.records).toMatchObject([
    { ...disbursement, sent },
    { ...disbursement, mailbox: name },
    { kind: "checkout", sent, key: "own" },
    { kind: "checkout", mailbox: name },
  ]);
  expect([facts.records[0]!.mailbox, facts.refusals]).toEqual([undefined, []]);
});

test.each([
  [[400, 401, 403, 404, 405, 409, 413, 415, 422], "refusals"],
  [[302, 408, 410, 500, 501], "uncertain"],
] as const)("creates with a status of %j are %s", async (statuses, kind) => {
  for (const status of statuses) {
    const { facts, target } = await factsOf(status, {});
    const others = { refusals: [], uncertain: [], records: [], [kind]: [{ sent, status }, { status }] };
    expect(facts).toMatchObject(others);
    expect(target.budget.payouts).toBe(kind === "uncertain" ? 2 : 0);
  }
});

test("a valid create that was refused is not sent again, because a balance may cover it later", async () => {
  const { facts } = await factsOf(422, { effect: "must-be-rejected" }, {});
  expect(facts.answered("POST /v1/disbursements", 422)?.request.effect).toBe("must-be-rejected");
});
