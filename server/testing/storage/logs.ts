// What people and programs learn of the work of the server: audit trail, log of requests, backlog, reports and figures.
import { beforeEach, expect, test } from "vitest";
import type { ActorName } from "../../domain/audit.ts";
import { InvalidCursorError, ServiceError } from "../../domain/errors.ts";
import { REQUESTS_KEPT, type LoggedRequest } from "../../domain/request-log.ts";
import { ACTOR, ADA, aKey, aRequest, concurrently, KOFI, nextId, type Current } from "./fixtures.ts";
import { DAY, HOUR, MINUTE, SECOND, START } from "../times.ts";
import type { PaymentKind } from "../../domain/records.ts";
import { DAY_MS } from "../../domain/time.ts";

/** Expects that the storage refuses what it is asked for. */
const refused = (work: Promise<unknown>) => expect(work).rejects.toThrow(ServiceError);

export function auditTests({ storage, key: addKey, delivery, claims, report }: Current): void {
  type Query = Partial<Parameters<typeof storage.listAudit>[0]>;
  const audit = async (query: Query = {}) => (await storage.listAudit({ limit: 100, ...query })).items.toReversed();
  const actions = async (query?: Query) => (await audit(query)).map(({ action }) => action);

  /** What somebody does, and the entry that it leaves. What has no effect leaves none. */
  type Step = [act: () => Promise<unknown>, action?: string, details?: object, actor?: ActorName];

  test("says who did what and when, without secrets, and nothing about what had no effect", async () => {
    const id = ADA;
    const [server, program] = ["server app@host", "key 1"] as const;
    const key = aKey(id, { name: "Shop", scopes: ["read", "disburse"] });
    const made = { key: key.id, name: "Shop", scopes: "read,disburse" };
    const limits = { perDay: { XOF: 7, GHS: 9 }, countries: ["CI", "GH"] };
    const keyLimits = { key: key.id, perDay: "XOF:7,GHS:9", countries: "CI,GH" };
    const url = "https://merchant.example:8443/hook?token=confidential";
    const { id: webhook } = await delivery(id);
    const replay = (status: string) => ({ delivery: webhook, status });
    const filter = { status: "failed", host: "b.example", createdAfter: START } as const;
    const many = { merchantId: id, filter, pace: 7 };
    const began = { ...filter, createdAfter: "2026-11-20T09:30:00.000Z", pace: "7 per second" };
    const adjust = (amount: number) =>
      storage.adjustBalance(id, { id: nextId(), currency: "XOF", amount, reason: "Bank" }, ACTOR);
    const adjusted = { reference: expect.any(String), currency: "XOF", reason: "Bank" };
    const person = { id: "session-1", merchantId: id, name: "Ada", role: "finance" } as const;
    const link = { ...person, hash: "0a".repeat(32), lifetimeMs: HOUR };
    const session = { hash: "0b".repeat(32), lifetimeMs: HOUR };
    const issuer = "https://id.example";
    const other = { ...link, id: "session-2", hash: "0c".repeat(32) };
    const provided = { session: other.id, provider: issuer, role: "finance" };
    const setState = (state?: "suspended") => storage.setMerchantState(id, state, ACTOR);
    const endSessions = (of: { id: string } | { name: string }) =>
      storage.endSessions({ merchantId: id, ...of }, ACTOR);
    const steps: Step[] = [
      [() => storage.insertKey(key, server), "key.create", made, server],
      [() => storage.insertKey(key, ACTOR)],
      [() => storage.setKeyLimits(key.id, limits, ACTOR), "key.limit", keyLimits],
      [() => storage.setKeyLimits(key.id, undefined, ACTOR), "key.limit", { key: key.id }],
      [() => storage.setKeyLimits("unknown", limits, ACTOR)],
      [() => setState("suspended"), "merchant.suspend"],
      [() => setState("suspended")],
      [() => setState(), "merchant.reopen"],
      [() => setState()],
      [() => storage.rotateSecret(id, "whsec_new", program), "secret.rotate", {}, program],
      [() => storage.setDefaultWebhook(id, url, ACTOR), "default-webhook.set", { receiver: "merchant.example:8443" }],
      [() => storage.setDefaultWebhook(id, undefined, ACTOR), "default-webhook.remove"],
      [() => storage.setChaos(id, undefined, ACTOR), "sandbox.chaos", { chaos: "off" }],
      [() => refused(storage.requestReplay(id, "msg_nothing", ACTOR))],
      [async () => report((await claims())[0]!, { status: "ended", step: 1 })],
      [() => storage.requestReplay(id, webhook, ACTOR), "delivery.replay", replay("ended")],
      [() => storage.requestReplay(id, webhook, program), "delivery.replay", replay("pending"), program],
      [() => claims()],
      [() => refused(storage.requestReplay(id, webhook, ACTOR))],
      [() => storage.replayAll(many, ACTOR), "replay.start", began],
      [() => adjust(20_000), "balance.top-up", { ...adjusted, amount: "20000" }],
      [() => adjust(-200), "balance.withdraw", { ...adjusted, amount: "-200" }],
      [() => adjust(-20_000)],
      [() => storage.pauseRail("mobile", "Broken", ACTOR), "rail.pause", { rail: "mobile", reason: "Broken" }],
      [() => storage.pauseRail("mobile", "again", ACTOR)],
      [async () => expect(await storage.readPauses()).toMatchObject([{ rail: "mobile", by: ACTOR, reason: "Broken" }])],
      [() => storage.insertLink(link, ACTOR), "dashboard.link", { name: "Ada", role: "finance" }],
      [() => storage.signIn(link.hash, session), "dashboard.sign-in", { session: link.id }, "merchant Ada"],
      [() => endSessions({ id: "nothing" })],
      [() => storage.endSessions({ id: link.id }, ACTOR)],
      [() => endSessions({ id: link.id }), "dashboard.sign-out", { name: "Ada", session: link.id }],
      [() => endSessions({ name: "Ada" })],
      [() => storage.signInFrom(issuer, other), "dashboard.sign-in", provided, "merchant Ada"],
      [() => endSessions({ name: "Ada" }), "dashboard.sign-out", { name: "Ada", session: "all" }],
      [() => storage.revokeKey(key.id, START, ACTOR), "key.revoke", { key: key.id }],
      [() => storage.revokeKey(key.id, START, ACTOR)],
      [() => storage.revokeKey("unknown", START, ACTOR)],
      [() => storage.moveClock(id, { by: HOUR }, ACTOR), "sandbox.advance", { to: "2026-11-20T10:30:00.000Z" }],
      [() => refused(storage.moveClock(id, { by: 366 * DAY }, ACTOR))],
      [() => storage.reset(id, ACTOR), "sandbox.reset"],
    ];
    for (const [act, action, details = {}, actor = ACTOR] of steps) {
      const before = (await audit()).length;
      await act();
      const entry = { at: START, actor, action, merchantId: action?.startsWith("rail.") ? "" : id, details };
      expect((await audit()).slice(before)).toEqual(action === undefined ? [] : [entry]);
    }
    expect(JSON.stringify(await audit())).not.toMatch(/whsec_|confidential|0a0a|0b0b|0c0c/);
  });

  test("lists what was done to one merchant, newest first", async () => {
    await storage.revokeKey((await addKey(KOFI)).id, START, ACTOR);
    expect(await actions({ merchantId: ADA })).toEqual(["merchant.create"]);
    const { cursor } = await storage.listAudit({ merchantId: KOFI, limit: 1 });
    expect(await actions({ merchantId: KOFI, cursor: cursor! })).toEqual(["merchant.create", "key.create"]);
    await expect(actions({ merchantId: ADA, cursor: cursor! })).rejects.toThrow(InvalidCursorError);
  });
}

const idsOf = (requests: readonly LoggedRequest[]) => requests.map(({ requestId }) => requestId);

export function requestTests({ storage, pass }: Current): void {
  const [ada, kofi] = [ADA, KOFI];
  const list = async (merchantId: string) => (await storage.listRequests({ merchantId, limit: 2_000 })).items;

  test.each([
    ["that succeeded", { status: 399 }, [{ status: 400 }, { status: 500 }]],
    ["that failed", { status: 400 }, [{ status: 200 }, { status: 399 }]],
  ])("keeps the newest of each merchant %s, whatever else it has", async (_, changes, different) => {
    const others = different.map((each) => aRequest(ada, each));
    const requests = Array.from({ length: REQUESTS_KEPT.newest + 3 }, () => aRequest(ada, changes));
    await storage.insertRequests([aRequest(kofi, changes), ...others, ...requests.slice(0, -1)]);
    await storage.insertRequests(requests.slice(-1));
    expect(idsOf(await list(ada))).toEqual(idsOf([...others, ...requests.slice(3)]).toReversed());
    expect(await list(kofi)).toHaveLength(1);
  });

  test("lists requests as they were inserted, forgets them after a day, and deletes them in steps", async () => {
    const how = { merchantsReference: "Pâques 🐣", sent: '{"amount":1}' };
    const requests = [1, 0, 0, 0].map((later) => aRequest(ada, { at: START + later, ...how }));
    await storage.insertRequests(requests);
    pass(DAY - 1);
    expect((await list(ada)).toSorted((one, other) => one.number - other.number)).toEqual(requests);
    expect(await storage.prune(2)).toBe(0);
    pass(1);
    expect(await list(ada)).toEqual(requests.slice(0, 1));
    expect([await storage.prune(2), await storage.prune(2), await storage.prune(2)]).toEqual([2, 1, 0]);
  });
}

export function backlogTests({ storage, now, pass, payout, delivery, claims, report, settleAll }: Current): void {
  const id = ADA;
  const NOTHING = { dueDeliveries: 0, waitingDeliveries: 0, dueSettlements: 0 };

  test("has the records and deliveries that are due in real time, and what waits for a retry or the end of a lease", async () => {
    for (const afterMs of [2 * SECOND, 5 * SECOND, HOUR]) await payout(id, { due: { afterMs, status: "success" } });
    pass(10 * SECOND);
    const due = { ...NOTHING, dueSettlements: 2, oldestSettlementDueAt: START + 2 * SECOND };
    expect(await storage.readBacklog()).toEqual(due);
    await settleAll();
    expect(await storage.readBacklog()).toEqual(NOTHING);
    await storage.moveClock(id, { by: MINUTE }, ACTOR);
    const start = now();
    await delivery(id, { webhookURL: "https://b.example" });
    expect(await storage.readBacklog()).toMatchObject({ dueDeliveries: 1, oldestDeliveryDueAt: start });
    const [claimed] = await claims({ leaseMs: SECOND });
    const waiting = { ...NOTHING, waitingDeliveries: 1 };
    expect(await storage.readBacklog()).toEqual(waiting);
    pass(SECOND);
    expect(await storage.readBacklog()).toMatchObject({ dueDeliveries: 1, waitingDeliveries: 0 });
    await report(claimed!, { status: "pending", step: 1, nextAttemptAt: start + MINUTE + 5 * SECOND });
    expect(await storage.readBacklog()).toEqual(waiting);
    pass(4 * SECOND);
    await delivery(id, { webhookURL: "https://a.example" });
    const retry = { dueDeliveries: 2, waitingDeliveries: 0, oldestDeliveryDueAt: start + 5 * SECOND };
    expect(await storage.readBacklog()).toMatchObject(retry);
    await storage.promoteDue(10);
    expect(await storage.readBacklog()).toMatchObject(retry);
  });
}

export function reportTests({ reported, payout }: Current): void {
  test("creates that arrive together are reported as one commit", async () => {
    await concurrently(3, () => payout(ADA));
    expect(reported("commit")).toEqual([{ name: "commit", items: 3, durationMs: expect.any(Number) }]);
  });
}

const TODAY = Math.floor(START / DAY_MS);
const LARGEST = 2 ** 53 - 1;
const ALL = { from: TODAY - 7, to: TODAY + 7 };
const FAILED = { status: "failed" } as const;
const hook = (host: string) => ({ webhookURL: `https://${host}/` });
const endsAfter = (afterMs: number) => ({ due: { afterMs, status: "success" } as const });

/** What pages of the dashboard count. */
export function figureTests(current: Current): void {
  const { storage, pass, payout, finalPayout, attempted, settleAll } = current;
  let [merchantId, other] = ["", ""];
  beforeEach(async () => {
    // An answer about a merchant is kept for a minute, also over the end of a test.
    [merchantId, other] = [(await current.merchant()).id, (await current.merchant()).id];
  });

  /** Payments and amounts by day, status and currency. */
  async function figures(query: { merchantId?: string; kind?: PaymentKind; from?: number; to?: number } = {}) {
    const found = await storage.readFigures({ merchantId, kind: "disbursement", ...ALL, ...query });
    const sums = Map.groupBy(found, ({ day, status, currency }) => `${day - TODAY} ${status} ${currency}`);
    return Object.fromEntries(
      [...sums].map(([name, of]) => [
        name,
        [of.reduce((sum, { payments }) => sum + payments, 0), of.reduce((sum, { amount }) => sum + amount, 0n)],
      ]),
    );
  }
  const ONE = [1, 10_000n];

  test("counts payments by the day of their creation, and keeps the answer for a minute", async () => {
    expect(await figures()).toEqual({});
    for (let made = 0; made < 3; made += 1) await finalPayout(merchantId, { amount: LARGEST });
    await finalPayout(merchantId, FAILED);
    await finalPayout(merchantId, { currency: "GHS" });
    await payout(merchantId, endsAfter(2 * DAY));
    await finalPayout(other);
    await current.checkout(merchantId, { due: { afterMs: 2 * DAY, status: "cancelled" } });
    expect(await figures()).toEqual({});
    pass(MINUTE);
    const final = { "0 failed XOF": ONE, "0 success GHS": ONE };
    const pending = { ...final, "0 success XOF": [3, 3n * BigInt(LARGEST)], "0 pending XOF": ONE };
    expect(await figures()).toEqual(pending);
    // A payment of hours that are over becomes final.
    pass(DAY);
    expect(await figures()).toEqual(pending);
    pass(DAY);
    await settleAll();
    await finalPayout(merchantId);
    const settled = { "0 success XOF": [4, 3n * BigInt(LARGEST) + 10_000n], "2 success XOF": ONE };
    expect(await figures()).toEqual({ ...final, ...settled });
    expect(await figures({ kind: "checkout" })).toEqual({ "0 cancelled XOF": [1, 2_500_000n] });
    expect(await figures({ to: TODAY - 1 })).toEqual({});
    expect(await figures({ merchantId: other, from: TODAY, to: TODAY })).toEqual({ "0 success XOF": ONE });
  });

  test("counts a payment once that settles during the count, and nothing after a reset", async () => {
    await payout(merchantId, endsAfter(0));
    const counting = figures();
    await settleAll();
    expect(Object.values(await counting)).toEqual([ONE]);
    await storage.reset(merchantId, ACTOR);
    expect(await figures()).toEqual({});
  });

  test("has what pages of the dashboard say about payments and receivers", async () => {
    for (let made = 0; made < 2; made += 1) await payout(other, endsAfter(DAY));
    await attempted(other, "pending", hook("b.example"));
    pass(1);
    for (const afterMs of [DAY, MINUTE]) await payout(merchantId, endsAfter(afterMs));
    for (const host of ["a.example", "a.example"]) await attempted(merchantId, "pending", hook(host));
    for (const status of ["exhausted", "ended"] as const) await attempted(merchantId, status, hook("gone.example"));
    await attempted(merchantId, "delivered", hook("good.example"));
    pass(MINUTE);
    await settleAll();

    const [at, limit] = [START + 1, 10];
    const waiting = { merchantId, host: "a.example", count: 2, since: at };
    const others = { merchantId: other, host: "b.example", count: 1, since: START };
    const gone = { ...waiting, host: "gone.example" };
    const late = { merchantId: other, count: 2, since: START };
    const later = { merchantId, count: 1, since: at };
    expect(await storage.listFailingReceivers({ merchantId, limit })).toEqual([waiting]);
    expect(await storage.listFailingReceivers({ limit })).toEqual([waiting, others]);
    expect(await storage.listFailingReceivers({ limit: 1 })).toEqual([waiting]);
    expect(await storage.listGivenUp({ after: at, limit })).toEqual([gone]);
    expect(await storage.listGivenUp({ merchantId, after: at, limit })).toEqual([gone]);
    expect(await storage.listLate({ before: at, limit })).toEqual([late, later]);
    expect(await storage.listLate({ before: START, limit })).toEqual([late]);
    expect(await storage.listLate({ merchantId, before: at, limit })).toEqual([later]);
    // What was long ago in the merchant's time is not listed.
    await storage.moveClock(merchantId, { by: DAY }, ACTOR);
    expect(await storage.listGivenUp({ merchantId, after: at, limit })).toEqual([]);
  });
}
