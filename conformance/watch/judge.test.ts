import { expect, test } from "vitest";
import { alarmsOf, judged } from "../testing/watched.ts";
import { createJudge, type JudgeOptions } from "./judge.ts";
import type { Exchange, Seen, Webhook } from "./traffic.ts";

const start = Date.UTC(2026, 10, 20, 9, 30);
const phoneNumber = "2257038102473";
const webhookURL = "https://merchant.example/hooks?shop=1";
const sent = { reference: "order 1", amount: 100, country: "CI", currency: "XOF", phoneNumber, webhookURL };
const created = {
  reference: "DSB1N2B3V4C5X6Z7K8J9",
  merchantsReference: "order 1",
  amount: 100,
  fee: 1,
  status: "pending",
};
const customer = { id: "c1", name: "Awa Kone", phoneNumber };
const times = { createdAt: "2026-11-20T09:30:00.000Z", updatedAt: "2026-11-20T09:30:02.000Z" };
const merchant = { id: "0192f0c4-7b1e-7c5a-9d2f-3a4b5c6d7e81", userId: "u1", merchant: { name: "Ada Stores" } };
const record = { ...created, ...merchant, ...times, customer, country: "CI", currency: "XOF", webhookURL };
const other = {
  reference: "DSB2N2B3V4C5X6Z7K8J9",
  id: "0192f0c4-7b1e-7c5a-9d2f-3a4b5c6d7e82",
  merchantsReference: "order 2",
};
const twin = { ...other, merchantsReference: "order 1" };
const paid = (number: string) => ({ customer: { ...customer, phoneNumber: number } });
const again = { reference: "DSB2N2B3V4C5X6Z7K8J9" };
const seven = { amount: 7 };
const [ended, failed] = [{ status: "success" }, { status: "failed" }];
const why = { ...failed, failure: { code: "declined", message: "The customer declined." } };
const later = { createdAt: "2026-11-20T09:31:00.000Z", updatedAt: "2026-11-20T09:31:00.000Z" };
const stranger = { customer: { ...customer, id: "c2" } };

/** What differs from the usual exchange: how many seconds it takes, its key, what was sent, the status. */
type Over = Partial<Exchange> & { for?: number; key?: string; sent?: object; status?: number };

/** @param at seconds from the start */
function exchange(at: number, method: string, path: string, body: object | "", data: object, over: Over): Exchange {
  const { for: seconds = 0.1, key = "sk_live_3f9c1d7e5a2b", status = 200, ...rest } = over;
  const refusal = { error: "Refused", message: "Refused.", code: "not_found" };
  return {
    kind: "exchange",
    sentAt: start + at * 1000,
    endedAt: start + (at + seconds) * 1000,
    method,
    path,
    headers: { host: "api.example", "x-api-key": key, "content-type": "application/json" },
    body: body === "" ? "" : JSON.stringify(body),
    response: {
      status,
      headers: { date: "now", "content-type": "application/json", "x-request-id": `${at}` },
      body: JSON.stringify({ statusCode: status, ...(status < 400 ? { data } : refusal) }),
    },
    ...rest,
  };
}
const create = (at: number, data: object = {}, over: Over = {}) =>
  exchange(at, "POST", "/v1/disbursements", { ...sent, ...over.sent }, { ...created, ...data }, over);
const verify = (at: number, data: Partial<typeof record> = {}, over: Over = {}) =>
  exchange(
    at,
    "GET",
    `/v1/disbursements/${data.reference ?? "DSB1N2B3V4C5X6Z7K8J9"}`,
    "",
    { ...record, ...data },
    over,
  );
const list = (at: number, data: object, query = "", nextCursor?: string) =>
  exchange(at, "GET", `/v1/disbursements${query}`, "", { items: [{ ...record, ...data }], nextCursor }, {});
const emptyList = (at: number) =>
  exchange(at, "GET", "/v1/disbursements?merchantsReference=order%201", "", { items: [] }, {});
const sandbox = (at: number, method: string, control: string) =>
  exchange(at, method, `/sandbox/${control}`, {}, {}, {});
function webhook(at: number, data: object = {}, over: Partial<Webhook> = {}): Webhook {
  const body = JSON.stringify({ event: "disbursement.completed", data: { ...record, ...ended, ...data } });
  return { kind: "webhook", sentAt: start + at * 1000, path: "/hooks?shop=1", headers: {}, body, ...over };
}
const without = (each: Exchange, header: string): Exchange => ({
  ...each,
  headers: Object.fromEntries(Object.entries(each.headers).filter(([name]) => name !== header)),
});
const lost = (each: Exchange): Exchange => ({ ...each, response: undefined as never });
/** An exchange whose response was this instead. */
const answered = (each: Exchange, response: Partial<NonNullable<Exchange["response"]>>): Exchange => ({
  ...each,
  response: { ...each.response!, ...response },
});

const named = (id: string) => ({ headers: { "webhook-id": id } });
const core = { profile: "core", salt: "salt" } as const;
const extended = { profile: "extended" } as const;
const complete = { notifiedWithinMs: 10_000, webhookClockMs: 0 };
const alarms = (seen: readonly Seen[], options: Partial<JudgeOptions> = {}) =>
  alarmsOf(judged(seen, { ...core, ...options })).map(({ id }) => id);

test.each<[string, Seen[], string, Partial<JudgeOptions>?]>([
  ["a second create", [create(0), create(9, again)], "create.duplicate-refused"],
  ["a second create that returns the first payout", [create(0), create(9)], "life.references-used"],
  ["a create after one whose response was lost", [lost(create(0)), verify(1), create(9)], "create.duplicate-refused"],
  ["a create with another amount", [create(0), create(9, {}, { sent: seven })], "create.duplicate-any-field"],
  ["a create at the same time", [create(0, {}, { for: 2 }), create(1, again)], "create.duplicate-race"],
  ["two records with one reference", [verify(0), verify(1, twin)], "create.duplicate-refused"],
  [
    "one service reference for two payouts",
    [create(0), create(9, { merchantsReference: "b" }, { sent: { reference: "b" } })],
    "create.service-reference-unique",
  ],
  ["another amount in the response", [create(0, { amount: 99 })], "create.amount-echoed"],
  ["a record with another fee", [create(0), verify(1, { fee: 2 })], "fee.on-top", extended],
  ["another recipient", [verify(1, paid("2250501020304")), create(0)], "verify.customer"],
  ["a list with another fee", [verify(1), list(2, { fee: 2 })], "life.facts-kept", extended],
  ["a record that is lost", [create(0), verify(9, {}, { status: 404 })], "life.records-kept"],
  ["a success that fails", [verify(1, ended), verify(9, failed)], "life.final-status", extended],
  ["a success that is pending again", [verify(1, ended), verify(9)], "status.final-stays", extended],
  ["another reference than was asked for", [verify(1, {}, { path: "/v1/disbursements/DS" })], "access.whole-reference"],
  ["a webhook with another amount", [verify(1), webhook(3, seven)], "webhook.amount"],
  ["a webhook with another end", [verify(1, ended), webhook(3, failed)], "webhook.truth"],
  ["a webhook without amount", [webhook(3, { amount: undefined })], "events.data-is-the-record", extended],
  ["another address", [verify(1), webhook(3), webhook(4, {}, { path: "/other" })], "life.webhooks-addressed"],
  ["a webhook that is cut off", [webhook(3, {}, { body: '{"event":' })], "life.webhooks-true"],
  [
    "an end that two webhooks announce",
    [verify(1), webhook(3, {}, named("a")), webhook(4, {}, named("b"))],
    "events.once",
    extended,
  ],
  ["an end without webhook", [verify(1), verify(5, ended), verify(20, other)], "life.webhooks-sent", complete],
  ["a record without a key", [verify(1), without(verify(2), "x-api-key")], "auth.verify-needs-key"],
  [
    "another merchant's record",
    [create(0), verify(1), verify(2, { ...other, userId: "u2" })],
    "uniqueness.merchants-apart",
    extended,
  ],
  ["another owner later", [create(0), verify(1), verify(9, { userId: "u2" })], "life.facts-kept"],
  ["a 409 that leads elsewhere", [create(0), create(9, {}, { status: 409 })], "recovery.location", extended],
  ["an item that the filter excludes", [list(1, {}, "?status=failed")], "lists.filters", extended],
  [
    "an x-request-id that is used again",
    [verify(1), { ...verify(1), sentAt: start + 9000 }],
    "answers.request-id-own",
    extended,
  ],
  ["another name of an event", [webhook(3, failed)], "events.disbursement", extended],
  [
    "the time of a sandbox in a webhook",
    [webhook(3, {}, { headers: { "webhook-timestamp": "1" } })],
    "signature.timestamp-real",
    extended,
  ],
  [
    "a webhook that is sent again otherwise",
    [verify(1), webhook(3, {}, named("a")), webhook(4, { updatedAt: "" }, named("a"))],
    "retries.after-failure",
    extended,
  ],
  ["an end that moves", [verify(1, ended), verify(9, { ...ended, ...later })], "status.updated-at-moves", extended],
  ["a failure that a webhook leaves out", [verify(1, why), webhook(3, failed)], "failure.same-everywhere", extended],
  ["a list without a payout that was shown", [verify(1), emptyList(9)], "lists.every-status", extended],
  ["a page that begins anew", [list(1, {}, "", "next"), list(2, later, "?cursor=next")], "lists.pages", extended],
  [
    "a recipient who is two customers",
    [verify(1), verify(2, { ...other, ...stranger })],
    "references.customer",
    extended,
  ],
  [
    "references that count",
    Array.from({ length: 8 }, (_, at) => create(at, { reference: `DSB${1e15 + at}` })),
    "references.unguessable",
    extended,
  ],
  ["an error of the service", [verify(1, {}, { status: 500 })], "errors.no-5xx"],
])("is contradicted by %s", (_, traffic, id, options) => {
  expect(alarms(traffic, options)).toContain(id);
});

/** A webhook of another form, of which nothing can be compared. */
const unclear =
  '{"event":"disbursement.completed","data":{"reference":"DSB1N2B3V4C5X6Z7K8J9","amount":"100.00","createdAt":"then"}}';
const mention = '{"reference":"DSB1N2B3V4C5X6Z7K8J9"}';
const cut = { absent: "cut" } as const;
const page = { headers: { date: "now", "content-type": "text/html" }, body: "<html>" };
const twice = (over: Over) => [create(0, {}, over), create(9, again, over)];
const second = { key: "second" };
const bare = { path: "/hooks" };
const root = { webhookURL: "https://merchant.example" };

test.each<[string, Seen[], Partial<JudgeOptions>?]>([
  ["a payout from beginning to end", [create(0), verify(1), verify(4, ended), webhook(5)]],
  ["an exchange that a log has twice", [create(0), create(0)]],
  ["an exchange that two gateways log", [create(0), create(0.01)]],
  ["a webhook that states nothing, before its payout", [webhook(-1, {}, { body: unclear }), create(0)]],
  [
    "a reference of another merchant's own",
    [verify(1), webhook(3, { ...seven, merchantsReference: undefined }, { path: "/of-b" })],
  ],
  ["callers that a log does not name", twice({ caller: "-" })],
  ["keys that a log hides", twice({ key: "[redacted]" })],
  ["the beginnings of keys", twice({ key: "sk_live_" })],
  ["a log without keys", [create(0), { ...create(9, again), headers: {} }]],
  ["two merchants with one reference", [create(0), verify(1), create(9, again, second)]],
  [
    "two merchants with one service reference",
    [
      create(0),
      create(9, seven, { ...second, sent: seven }),
      verify(12, { ...seven, id: "0192f0c4-7b1e-7c5a-9d2f-3a4b5c6d7e82" }, second),
      webhook(15, seven),
    ],
  ],
  [
    "a back office that tries both keys",
    [webhook(0), verify(1, {}, { ...second, status: 404 }), verify(2), create(9, again, second)],
  ],
  ["an operator's key", [verify(1), verify(2, { ...twin, userId: "u2" })]],
  ["a 409 or 404 for what was not seen", [verify(0, {}, { status: 404 }), create(2, {}, { status: 409 }), verify(5)]],
  ["a create whose response was lost", [lost(create(0)), create(2, {}, { status: 409 }), verify(5)]],
  ["a replica that is late", [create(0), verify(1, {}, { status: 404 }), verify(2, ended), verify(3)]],
  ["a response that was overtaken", [verify(5, ended), verify(1, {}, { for: 9 })]],
  ["what is logged in another order", [webhook(3), verify(4, ended), verify(1), create(0)]],
  ["a webhook whose clock is late", [verify(9, ended), webhook(-20), verify(8, {}, { for: 2 })]],
  ["references that are used again after a reset", [create(0), sandbox(5, "POST", "reset"), create(9)]],
  ["a reset that is logged late", [create(0), create(9), sandbox(5, "POST", "reset")]],
  ["a merchant with another name", [verify(1), verify(9, { merchant: { name: "Ada's" } })]],
  ["a customer who was erased", [create(0), verify(9, paid("2250000000000"))]],
  ["a list of another form", [create(0), verify(1), list(2, { amount: "1.00" })]],
  ["a list that leaves out addresses", [verify(1), list(2, { webhookURL: undefined })], extended],
  ["bodies that are not known", [create(0), { ...create(9, other), body: cut }, answered(verify(9), { body: cut })]],
  ["a log without the headers of responses", [answered(create(0), { headers: {} })]],
  ["a gateway that is overloaded", [verify(1, {}, { status: 503 }), verify(2, {}, { status: 522 })]],
  [
    "the error pages of a gateway",
    [create(0), answered(verify(8), { status: 404, ...page }), answered(verify(9), { status: 500, ...page })],
    extended,
  ],
  ["a sandbox that is to fail", [sandbox(0, "PUT", "chaos"), verify(3, {}, { status: 500 })]],
  ["an error of something else on the same host", [verify(1, {}, { path: "/shop/orders", status: 500 })]],
  [
    "a wrong path",
    [answered(verify(1, {}, { path: "/pay/v1/disbursements/DSB1N2B3V4C5X6Z7K8J9" }), { status: 404, ...page })],
  ],
  ["an end that nobody has to notify", [verify(1), webhook(3), verify(5, ended), verify(900, ended)]],
  ["an end before the watch", [verify(1, ended), verify(3, other), verify(900, other)], complete],
  ["an address without a path", [create(0, {}, { sent: root }), webhook(3, root), webhook(3, root, bare)]],
  ["a log that leaves out queries", [verify(1), webhook(3, {}, bare), webhook(4, {}, bare)]],
  [
    "webhooks of several events",
    [verify(1), webhook(2, {}, { body: mention, ...named("a") }), webhook(3, {}, named("b"))],
    { ...extended, ...complete },
  ],
  ["a webhook that is sent again", [verify(1, ended), webhook(3), webhook(9)]],
])("is not contradicted by %s", (_, traffic, options) => {
  expect(alarms(traffic, options)).toEqual([]);
});

test("counts what it saw and what held, and names what it could not judge", () => {
  const judge = createJudge(core);
  for (const each of [create(0), verify(1), webhook(3), create(5, {}, { key: "***" })]) judge.see(each);
  judge.missed("a line that is no JSON");
  judge.missed("a line that is no JSON", 2);
  const { requirements, ...rest } = judge.result();
  expect(rest).toEqual({
    profile: "core",
    exchanges: 3,
    webhooks: 1,
    merchants: 1,
    from: start,
    until: start + 5100,
    missed: { "a line that is no JSON": 3, "the caller is not known: only single exchanges were judged": 1 },
    forgotten: {},
  });
  expect(requirements.find(({ id }) => id === "verify.agrees-with-create")).toMatchObject({ held: 1 });
});

const payouts = (count: number, at: number) =>
  Array.from({ length: count }, (_, index) => {
    const reference = `order ${index}`;
    return create(at + index, { reference: `DSB${index}`, merchantsReference: reference }, { sent: { reference } });
  });

const notEnough = { ...core, mostInMemory: 20 };
const many = [...payouts(200, 0), ...payouts(200, 1000)];

test("remembers on disk what does not fit into memory", () => {
  const { requirements, forgotten } = judged(many, notEnough);
  const { contradictions } = requirements.find(({ id }) => id === "create.duplicate-refused")!;
  expect(contradictions).toMatchObject({ count: 200, shown: { length: 10 } });
  expect(forgotten).toEqual({});
});

test("forgets if there is no space on disk, says so, and goes on", () => {
  const traffic = [...many, create(5000, { amount: 99 }, { key: "second" })];
  const result = judged(traffic, { ...notEnough, mostOnDisk: 40_000 });
  const ids = alarmsOf(result).map(({ id }) => id);
  expect(ids).toEqual(expect.arrayContaining(["create.amount-echoed", "create.result-as-requested"]));
  expect(Object.entries(result.forgotten)).toEqual([[expect.stringContaining("full"), expect.any(Number)]]);
});
