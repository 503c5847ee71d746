import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
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
  location?: string;
};

function exchange(method: string, path: string, body: unknown, response: object, over: Over): Exchange {
  const {
    at = 0,
    for: seconds = 0.1,
    key: other = key,
    status = 200,
    type = "application/json",
    location,
    ...rest
  } = over;
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
      headers: { date: "now", "content-type": type, "x-request-id": `${at}`, ...(location && { location }) },
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
const reset = exchange("POST", "/sandbox/reset", {}, { data: { now: record.createdAt } }, { at: 5 });

function judged(traffic: readonly Seen[], options: Partial<JudgeOptions> = {}) {
  const judge = createJudge({ profile: "extended", salt: "salt", ...options });
  for (const each of traffic) judge.see(each);
  const result = judge.result();
  judge.close();
  const alarms = result.requirements.filter(({ contradictions }) => contradictions.count > 0).map(({ id }) => id);
  return { alarms, result };
}

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
    [verify(), verify({ reference: "DSB2", id: "r2" }, { path: "/v1/disbursements/DSB2" })],
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
    "a duplicate through the merchant's other key",
    [create(), verify(), verify({}, { key: "second", at: 2 }), create({}, { key: "second", at: 9 })],
    ["create.duplicate-refused"],
    { profile: "core" },
  ],
  [
    "one reference for two payouts",
    [create(), create({ merchantsReference: "order 2" }, { at: 9 }, { reference: "order 2" })],
    ["create.service-reference-unique"],
  ],
  ["another amount in the response", [create({ amount: 99 })], ["create.amount-echoed", "create.result-as-requested"]],
  [
    "a record with another fee",
    [create(), verify({ fee: 2 })],
    ["verify.agrees-with-create", "life.facts-kept", "fee.on-top"],
  ],
  [
    "a record seen before its create, with another recipient",
    [verify({ customer: { ...record.customer, phoneNumber: "2250501020304" } }), create()],
    ["verify.customer"],
  ],
  ["a fact that changes", [verify(), verify({ id: "r2" }, { at: 9 })], ["life.facts-kept"]],
  ["a record that is lost", [create(), verify({}, { at: 9, status: 404 })], ["life.records-kept", "verify.found"]],
  [
    "a success that fails",
    [verify(ended), verify({ ...ended, status: "failed" }, { at: 9 })],
    ["life.final-status", "status.final-stays"],
  ],
  ["a success that is pending again", [verify(ended), verify({}, { at: 9 })], ["life.final-status"]],
  [
    "another reference than was asked for",
    [exchange("GET", "/v1/disbursements/DS", "", { data: record }, {})],
    ["access.whole-reference"],
  ],
  [
    "records of two owners for one key",
    [
      verify(),
      verify({ reference: "DSB1", userId: "u2" }, { key: "other", at: 2 }),
      verify({ userId: "u1" }, { key: "other", at: 3 }),
    ],
    ["life.facts-kept"],
  ],
  [
    "a Location of another payout",
    [create(), create({}, { at: 9, status: 409, location: "/v1/disbursements/DSB1" }, { reference: "order 2" })],
    ["recovery.location", "recovery.lost-answer"],
  ],
  ["a webhook with another amount", [verify(), webhook({ amount: 7 })], ["life.webhooks-true", "webhook.amount"]],
  [
    "a webhook with another end",
    [verify(ended), webhook({ status: "failed" }, { event: "disbursement.failed" })],
    ["life.ends-as-notified", "webhook.truth"],
  ],
  ["a webhook with the event of another end", [webhook({}, { event: "disbursement.failed" })], ["events.disbursement"]],
  ["a webhook at another address", [verify(), webhook(), webhook({}, { path: "/other" })], ["life.webhooks-addressed"]],
  ["a webhook that is cut off", [webhook({}, { body: '{"event":' })], ["life.webhooks-true"]],
  [
    "a status that is not notified in time",
    [
      verify(),
      webhook(),
      verify({ ...ended, reference: "DSB2", id: "r2" }, { path: "/v1/disbursements/DSB2", at: 5 }),
      verify({}, { at: 20, path: "/v1/disbursements/none", status: 404 }),
    ],
    ["life.webhooks-sent", "webhook.disbursement-success"],
    { notifiedWithinMs: 10_000, webhookClockMs: 0 },
  ],
  [
    "a create without a key",
    [create(), without(create({ reference: "DSB2" }, {}, { reference: "b" }), "x-api-key")],
    ["auth.create-needs-key"],
  ],
  [
    "a record without a key",
    [verify(), without(verify(), "x-api-key")],
    ["auth.verify-needs-key", "access.record-hidden-after-owner"],
  ],
  ["an amount of 0", [create({ amount: 0 }, {}, { amount: 0 })], ["create.amount-minimum"]],
  ["a missing phone number", [create({}, {}, { phoneNumber: undefined })], ["create.phone-required"]],
  ["a body that is not JSON", [create({}, {}, "{")], ["json.malformed-refused"]],
  ["an array", [create({}, {}, [sent])], ["json.object-required"]],
  ["an HTML error", [verify({}, { status: 500, type: "text/html" })], ["errors.no-5xx", "json.content-type"]],
  [
    "a list in another order",
    [
      exchange(
        "GET",
        "/v1/disbursements",
        "",
        {
          data: { items: [record, { ...record, reference: "DSB2", id: "r2", createdAt: "2026-11-21T00:00:00.000Z" }] },
        },
        {},
      ),
    ],
    ["lists.newest-first"],
  ],
])("is contradicted by %s", (_, traffic, expected, options) => {
  expect(judged(traffic, options).alarms).toEqual(expect.arrayContaining(expected));
});

const unknown = { absent: "cut" } as const;
const second = { key: "second", at: 9 };

test.each<[string, Seen[], Partial<JudgeOptions>?]>([
  ["a payout from beginning to end", [create(), verify(), verify(ended, { at: 4 }), webhook(ended)]],
  ["an exchange that a log has twice", [create(), create()]],
  ["a webhook that states nothing, before its payout", [webhook({}, { body: unclear }), create()], { profile: "core" }],
  ["callers that a log does not name", ["DSB1", "DSB2"].map((reference) => create({ reference }, { caller: "-" }))],
  ["two merchants with one reference", [create(), verify(), create({ reference: "DSB2" }, second)]],
  [
    "two merchants with one service reference",
    [
      create(),
      verify(),
      create({ amount: 7 }, second, { amount: 7 }),
      verify({ amount: 7, id: "r2" }, { ...second, at: 12 }),
    ],
    { profile: "core" },
  ],
  [
    "a 409 or 404 for what was not seen",
    [
      verify({}, { status: 404 }),
      create({}, { at: 2, status: 409, location: "/v1/disbursements/DSB1" }),
      verify({}, { at: 5 }),
    ],
  ],
  [
    "a create whose response was lost",
    [lost(create()), create({}, { at: 2, status: 409, location: "/v1/disbursements/DSB1" }), verify()],
  ],
  ["a replica that is late", [create(), verify({}, { status: 404 }), verify(ended, { at: 2 }), verify({}, { at: 3 })]],
  ["a response that was overtaken", [verify(ended, { at: 5 }), verify({}, { at: 1, for: 9 })]],
  ["what is logged in another order", [webhook(), verify(ended, { at: 4 }), verify(), create()]],
  [
    "a webhook whose clock is late",
    [verify(ended, { at: 9 }), webhook({}, { at: -20 }), verify({}, { at: 8, for: 2 })],
  ],
  ["references that are used again after a reset", [create(), reset, create({}, { at: 9 })]],
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
  ["a gateway that is overloaded", [verify({}, { status: 503 })], { profile: "core" }],
  ["a status that nobody has to notify", [verify(), webhook(), verify(ended, { at: 5 }), verify(ended, { at: 900 })]],
  ["a webhook that is sent again", [verify(ended), webhook(), webhook({}, { at: 9 })]],
  [
    "a wrong path",
    [verify({}, { path: "/pay/v1/disbursements/DSB1", status: 404, type: "text/html" })],
    { profile: "core" },
  ],
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

test("shows no key, phone number, name or query", () => {
  const traffic = [
    create(),
    verify({ fee: 2 }),
    verify({ customer: { ...record.customer, name: "Ali Sow" } }),
    webhook({ amount: 7 }),
  ];
  const text = JSON.stringify(
    judged([...traffic, { ...verify({ fee: 3 }), path: `/v1/disbursements/DSB1?api_key=${key}` }]).result,
  );
  expect(text).toContain("data.customer.phoneNumber");
  for (const secret of [key, phoneNumber, "Awa Kone", "Ali Sow", "Ada Stores", "shop=1"])
    expect(text).not.toContain(secret);
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
  const { alarms, result } = judged(traffic, { profile: "core", directory: missing, mostInMemory: 20 });
  expect(alarms).toEqual(["create.amount-echoed", "create.result-as-requested"]);
  const [[what, count]] = Object.entries(result.forgotten) as [[string, number]];
  expect(what).toContain("ENOENT");
  expect(count).toBeGreaterThan(300);
});
