import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { alarmsOf, judged as resultOf } from "../testing/watched.ts";
import { createJudge, type JudgeOptions } from "./judge.ts";
import type { Exchange, Seen, Webhook } from "./traffic.ts";

const start = Date.UTC(2026, 10, 20, 9, 30);
const key = "sk_live_3f9c1d7e5a2b";
const phoneNumber = "2257038102473";
const webhookURL = "https://merchant.example/hooks?shop=1";
const sent = { reference: "order 1", amount: 100, country: "CI", currency: "XOF", phoneNumber, webhookURL };
const created = { reference: "DSB1", merchantsReference: "order 1", amount: 100, fee: 1, status: "pending" };
const record = {
  ...created,
  id: "r1",
  userId: "u1",
  country: "CI",
  currency: "XOF",
  webhookURL,
  merchant: { name: "Ada Stores" },
  customer: { id: "c1", name: "Awa Kone", phoneNumber },
  createdAt: "2026-11-20T09:30:00.000Z",
  updatedAt: "2026-11-20T09:30:00.000Z",
};

/** Seconds from the start, how long it takes, and what differs from the usual exchange. */
type Over = Partial<Exchange> & {
  at?: number;
  for?: number;
  key?: string;
  status?: number;
  type?: string;
};

function exchange(method: string, path: string, body: unknown, response: object, over: Over): Exchange {
  const { at = 0, for: seconds = 0.1, key: other = key, status = 200, type = "application/json", ...rest } = over;
  const sentAt = start + at * 1000;
  return {
    kind: "exchange",
    sentAt,
    endedAt: sentAt + seconds * 1000,
    method,
    path,
    headers: { host: "api.example", "x-api-key": other, "content-type": "application/json" },
    body: typeof body === "string" ? body : JSON.stringify(body),
    response: {
      status,
      headers: { date: "now", "content-type": type, "x-request-id": `${at}` },
      body: JSON.stringify({ statusCode: status, ...response }),
    },
    ...rest,
  };
}
const refused = (status: number) => ({ error: "Refused", message: "Refused.", code: "not_found", statusCode: status });
const create = (data: object = {}, over: Over = {}, request: unknown = {}) => {
  const body = typeof request === "object" && !Array.isArray(request) ? { ...sent, ...request } : request;
  const isRefused = (over.status ?? 200) >= 400;
  return exchange(
    "POST",
    "/v1/disbursements",
    body,
    isRefused ? refused(over.status!) : { data: { ...created, ...data } },
    over,
  );
};
const verify = (data: object = {}, over: Over = {}) => {
  const found = (over.status ?? 200) >= 400 ? refused(over.status!) : { data: { ...record, ...data } };
  return exchange("GET", "/v1/disbursements/DSB1", "", found, { at: 1, ...over });
};
const lost = (each: Exchange): Exchange => ({ ...each, response: undefined as never });
const ended = { status: "success", updatedAt: "2026-11-20T09:30:02.000Z" };
function webhook(data: object = {}, over: Partial<Webhook> & { at?: number; event?: string } = {}): Webhook {
  const { at = 3, event = "disbursement.completed", ...rest } = over;
  const body = JSON.stringify({ event, data: { ...record, ...ended, ...data } });
  return { kind: "webhook", sentAt: start + at * 1000, path: "/hooks?shop=1", headers: {}, body, ...rest };
}
/** A payload in another form than ours, of which nothing can be compared. */
const unclear = '{"event":"disbursement.completed","data":{"reference":"DSB1","amount":"100.00","createdAt":"then"}}';
const without = ({ headers, ...rest }: Exchange, name: string): Exchange => ({
  ...rest,
  headers: Object.fromEntries(Object.entries(headers).filter(([each]) => each !== name)),
});
const pageOf = (status: number) => ({ status, headers: { date: "now", "content-type": "text/html" }, body: "<html>" });
const root = { webhookURL: "https://merchant.example" };
const reset = exchange("POST", "/sandbox/reset", {}, { data: { now: record.createdAt } }, { at: 5 });

const judged = (traffic: readonly Seen[], options: Partial<JudgeOptions> = {}) => {
  const result = resultOf(traffic, { profile: "core", salt: "salt", ...options });
  return { result, alarms: alarmsOf(result).map(({ id }) => id) };
};

const unknown = { absent: "cut" } as const;
const second = { key: "second", at: 9 };
const page = { type: "text/html" };
const listed = (item: object, over: Over = {}) =>
  exchange("GET", "/v1/disbursements", "", { data: { items: [item] } }, { at: 2, ...over });
const another = (data: object = {}, over: Over = {}) =>
  verify(
    { reference: "DSB2", id: "r2", merchantsReference: "order 2", ...data },
    { path: "/v1/disbursements/DSB2", ...over },
  );
const extended = { profile: "extended" } as const;
const complete = { notifiedWithinMs: 10_000, webhookClockMs: 0 };

test.each<[string, Seen[], string[], Partial<JudgeOptions>?]>([
  [
    "a second create with a reference",
    [create(), create({ reference: "DSB2" }, { at: 9 })],
    ["create.duplicate-refused", "life.references-used"],
  ],
  [
    "a second create after one whose response was lost",
    [lost(create()), verify(), create({ reference: "DSB2" }, { at: 9 })],
    ["create.duplicate-refused"],
  ],
  [
    "two records with one reference of the merchant",
    [verify(), another({ merchantsReference: "order 1" })],
    ["create.duplicate-refused"],
  ],
  ["a second create that returns the first payout", [create(), create({}, { at: 9 })], ["create.duplicate-refused"]],
  [
    "a second create with another amount",
    [create(), create({ amount: 7 }, { at: 9 }, { amount: 7 })],
    ["create.duplicate-any-field"],
  ],
  [
    "a create at the same time",
    [create({}, { for: 2 }), create({ reference: "DSB2" }, { at: 1 })],
    ["create.duplicate-race"],
  ],
  [
    "one reference for two payouts",
    [create(), create({ merchantsReference: "order 2" }, { at: 9 }, { reference: "order 2" })],
    ["create.service-reference-unique"],
  ],
  ["another amount in the response", [create({ amount: 99 })], ["create.amount-echoed", "create.result-as-requested"]],
  ["a create without phone number", [create({}, {}, { phoneNumber: undefined })], ["create.phone-required"]],
  [
    "a record with another fee",
    [create(), verify({ fee: 2 })],
    ["verify.agrees-with-create", "life.facts-kept", "fee.on-top"],
    extended,
  ],
  [
    "a record seen before its create, with another recipient",
    [verify({ customer: { ...record.customer, phoneNumber: "2250501020304" } }), create()],
    ["verify.customer"],
  ],
  ["a list with another fee", [verify(), listed({ ...record, fee: 2 })], ["life.facts-kept"], extended],
  ["a record that is lost", [create(), verify({}, { at: 9, status: 404 })], ["life.records-kept", "verify.found"]],
  [
    "a success that fails",
    [verify(ended), verify({ ...ended, status: "failed" }, { at: 9 })],
    ["life.final-status", "status.final-stays"],
    extended,
  ],
  ["a success that is pending again", [verify(ended), verify({}, { at: 9 })], ["life.final-status"], extended],
  [
    "another reference than was asked for",
    [exchange("GET", "/v1/disbursements/DS", "", { data: record }, {})],
    ["access.whole-reference"],
  ],
  ["a webhook with another amount", [verify(), webhook({ amount: 7 })], ["life.webhooks-true", "webhook.amount"]],
  ["a webhook with another end", [verify(ended), webhook({ status: "failed" })], ["webhook.truth"]],
  ["a webhook at another address", [verify(), webhook(), webhook({}, { path: "/other" })], ["life.webhooks-addressed"]],
  ["a webhook that is cut off", [webhook({}, { body: '{"event":' })], ["life.webhooks-true"]],
  [
    "an end that two webhooks announce",
    [verify(), ...["a", "b"].map((id) => webhook({}, { headers: { "webhook-id": id } }))],
    ["events.once"],
    extended,
  ],
  [
    "an end that no webhook announces in time",
    [verify(), verify(ended, { at: 5 }), another({}, { at: 20 })],
    ["life.webhooks-sent", "webhook.disbursement-success"],
    complete,
  ],
  [
    "a record without a key",
    [verify(), without(verify(), "x-api-key")],
    ["auth.verify-needs-key", "auth.record-hidden-without-key"],
  ],
  ["an error of the service", [verify({}, { status: 500 })], ["errors.no-5xx"]],
])("is contradicted by %s", (_, traffic, expected, options) => {
  expect(judged(traffic, options).alarms).toEqual(expect.arrayContaining(expected));
});

test.each<[string, Seen[], Partial<JudgeOptions>?]>([
  ["a payout from beginning to end", [create(), verify(), verify(ended, { at: 4 }), webhook(ended)]],
  ["an exchange that a log has twice", [create(), create()]],
  ["an exchange that two gateways log", [create(), create({}, { at: 0.01 })]],
  ["a webhook that states nothing, before its payout", [webhook({}, { body: unclear }), create()]],
  [
    "a webhook with a reference of the merchant's own",
    [verify(), webhook({ merchantsReference: undefined, amount: 7 }, { path: "/of-another" })],
  ],
  ["callers that a log does not name", ["DSB1", "DSB2"].map((reference) => create({ reference }, { caller: "-" }))],
  ["the beginnings of keys", ["DSB1", "DSB2"].map((reference) => create({ reference }, { key: "sk_live_" }))],
  ["two merchants with one reference", [create(), verify(), create({ reference: "DSB2" }, second)]],
  [
    "two merchants with one service reference",
    [
      create(),
      verify(),
      create({ amount: 7 }, second, { amount: 7 }),
      verify({ amount: 7, id: "r2" }, { ...second, at: 12 }),
      webhook({ amount: 7 }, { at: 15 }),
    ],
  ],
  [
    "a back office that tries the keys of two merchants",
    [webhook(), verify({}, { ...second, status: 404 }), verify({}, { at: 12 }), create({}, { ...second, at: 15 })],
  ],
  ["a key that sees records of two merchants", [verify(), another({ merchantsReference: "order 1", userId: "u2" })]],
  [
    "a 409 or 404 for what was not seen",
    [verify({}, { status: 404 }), create({}, { at: 2, status: 409 }), verify({}, { at: 5 })],
  ],
  ["a create whose response was lost", [lost(create()), create({}, { at: 2, status: 409 }), verify()]],
  ["a replica that is late", [create(), verify({}, { status: 404 }), verify(ended, { at: 2 }), verify({}, { at: 3 })]],
  ["a response that was overtaken", [verify(ended, { at: 5 }), verify({}, { at: 1, for: 9 })]],
  ["what is logged in another order", [webhook(), verify(ended, { at: 4 }), verify(), create()]],
  [
    "a webhook whose clock is late",
    [verify(ended, { at: 9 }), webhook({}, { at: -20 }), verify({}, { at: 8, for: 2 })],
  ],
  ["references that are used again after a reset", [create(), reset, create({}, { at: 9 })]],
  ["a reset that is logged late", [create(), create({ reference: "DSB2" }, { at: 9 }), reset]],
  ["a merchant with another name", [verify(), verify({ merchant: { name: "Ada's" } }, { at: 9 })]],
  [
    "a customer who was erased",
    [create(), verify(), verify({ customer: { id: "c1", name: "", phoneNumber: "2250000000000" } }, { at: 9 })],
  ],
  ["a list of another form", [create(), verify(), listed({ ...created, amount: "1.00" })]],
  ["a list that leaves out addresses", [verify(), listed({ ...record, webhookURL: undefined })], extended],
  [
    "bodies that are not known",
    [
      create(),
      { ...create({ reference: "DSB2", merchantsReference: "order 2" }, { at: 9 }), body: unknown },
      { ...verify(), response: { ...verify().response!, body: unknown } },
    ],
  ],
  [
    "a log without keys",
    [create(), without(create({ reference: "DSB2" }, { at: 9 }), "x-api-key")].map((each) => ({
      ...each,
      headers: {},
    })),
  ],
  [
    "a log with hidden keys",
    [create({}, { key: "[redacted]" }), create({ reference: "DSB2" }, { key: "[redacted]", at: 9 })],
  ],
  ["a log without the headers of responses", [{ ...create(), response: { ...create().response!, headers: {} } }]],
  ["a gateway that is overloaded", [503, 522].map((status) => verify({}, { status }))],
  [
    "the error page of a gateway",
    [create(), ...[404, 500].map((status) => ({ ...verify({}, { at: 9 }), response: pageOf(status) }))],
    extended,
  ],
  [
    "a sandbox that is to fail",
    [exchange("PUT", "/sandbox/chaos", {}, { data: {} }, {}), verify({}, { at: 3, status: 500 })],
  ],
  ["an error of something else on the same host", [verify({}, { path: "/shop/orders", status: 500 })]],
  ["an end that nobody has to notify", [verify(), webhook(), verify(ended, { at: 5 }), verify(ended, { at: 900 })]],
  ["an end before the watch", [verify(ended), another({}, { at: 3 }), another({}, { at: 900 })], complete],
  ["an address without a path", [create({}, {}, root), webhook(root), webhook(root, { path: "/rewritten" })]],
  ["a log that leaves out queries", [verify(), webhook({}, { path: "/hooks" }), webhook({}, { path: "/hooks" })]],
  ["a webhook that is sent again", [verify(ended), webhook(), webhook({}, { at: 9 })]],
  ["a wrong path", [verify({}, { path: "/pay/v1/disbursements/DSB1", status: 404, ...page })]],
])("is not contradicted by %s", (_, traffic, options) => {
  expect(judged(traffic, options).alarms).toEqual([]);
});

test("counts what it saw and what held, and names what it could not judge", () => {
  const judge = createJudge({ profile: "core" });
  for (const each of [create(), verify(), webhook()]) judge.see(each);
  judge.see(create({}, { key: "***", at: 5 }));
  judge.missed("a line that is no JSON");
  judge.missed("a line that is no JSON", 2);
  const { requirements, missed, ...rest } = judge.result();
  expect(rest).toMatchObject({
    exchanges: 3,
    webhooks: 1,
    merchants: 1,
    from: start,
    until: start + 5100,
    forgotten: {},
  });
  expect(missed).toEqual({
    "a line that is no JSON": 3,
    "the caller is not known: only single exchanges were judged": 1,
  });
  expect(requirements.find(({ id }) => id === "verify.agrees-with-create")).toMatchObject({ held: 1 });
});

const payouts = (count: number, at: number, over: Over = {}) =>
  Array.from({ length: count }, (_, index) => {
    const own = { reference: `order ${index}` };
    return create({ reference: `DSB${index}`, merchantsReference: own.reference }, { at: at + index, ...over }, own);
  });

test("remembers on disk what does not fit into memory, in a file that nobody finds", () => {
  const directory = mkdtempSync(join(tmpdir(), "watch-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const judge = createJudge({ profile: "core", directory, mostInMemory: 20 });
  for (const each of payouts(200, 0)) judge.see(each);
  expect(readdirSync(directory)).toEqual([]);
  for (const each of payouts(200, 1000)) judge.see(each);
  const duplicates = judge.result().requirements.find(({ id }) => id === "create.duplicate-refused")!;
  expect(duplicates.contradictions).toMatchObject({ count: 200, shown: { length: 10 } });
  judge.close();
});

test("forgets if there is no space on disk, says so, and goes on", () => {
  const missing = join(tmpdir(), "watch", "missing");
  const traffic = [
    ...payouts(200, 0),
    ...payouts(200, 1000),
    create({ amount: 5, merchantsReference: "last" }, { at: 5000 }, { reference: "last" }),
  ];
  const { alarms, result } = judged(traffic, { directory: missing, mostInMemory: 20 });
  expect(alarms).toEqual(["create.amount-echoed", "create.result-as-requested"]);
  const [[what, count]] = Object.entries(result.forgotten) as [[string, number]];
  expect(what).toContain("ENOENT");
  expect(count).toBeGreaterThan(300);
});
