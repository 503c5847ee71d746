// What people and programs learn of the server's work: audit trail, log of requests, backlog and reports.
import { expect, test } from "vitest";
import type { ActorName } from "../../domain/audit.ts";
import { InvalidCursorError } from "../../domain/errors.ts";
import type { Limits } from "../../domain/limits.ts";
import { REQUESTS_KEPT, type RequestQuery, type LoggedRequest } from "../../domain/request-log.ts";
import {
  ACTOR,
  ADA,
  aKey,
  DAY,
  HOUR,
  KOFI,
  LATEST,
  MINUTE,
  nextId,
  pagesOf,
  SECOND,
  START,
  type Current,
} from "./fixtures.ts";

export function auditTests({ storage, key: addKey, delivery, claims, report }: Current): void {
  type Query = Partial<Parameters<typeof storage.listAudit>[0]>;
  const audit = async (query: Query = {}) => (await storage.listAudit({ limit: 100, ...query })).items.toReversed();
  const actions = async (query?: Query) => (await audit(query)).map(({ action }) => action);

  /** What somebody does, and the entry that it leaves. What has no effect leaves none. */
  type Step = [act: () => Promise<unknown>, action?: string, details?: object, actor?: ActorName];

  test("says who did what and when, without secrets, and nothing about what had no effect", async () => {
    const id = ADA;
    const [server, program, kofi] = ["server app@host", "key 1", "dashboard Kofi"] as const;
    const key = aKey(id, { name: "Shop", scopes: ["read", "disburse"] });
    const made = { key: key.id, name: "Shop", scopes: "read,disburse" };
    const limits = { perDay: { XOF: 7, GHS: 9 }, countries: ["CI", "GH"] };
    const keyLimits = { key: key.id, perDay: "XOF:7,GHS:9", countries: "CI,GH" };
    const url = "https://merchant.example:8443/hook?token=confidential";
    const chaos = { latencyMs: 250, failedRequestsPercent: 0, lostResponsesPercent: 5, lostWebhooksPercent: 0 };
    const { id: webhook } = await delivery(id);
    const replay = (status: string) => ({ delivery: webhook, status });
    const filter = { status: "failed", host: "b.example", createdAfter: START } as const;
    const many = { id: "replay-1", merchantId: id, filter, pace: 7, expected: 3 };
    const began = { ...filter, createdAfter: "2026-11-20T09:30:00.000Z", pace: "7 per second", deliveries: "3" };
    const adjust = (amount: number) =>
      storage.adjustBalance(id, { id: nextId(), currency: "XOF", amount, reason: "Bank" }, ACTOR);
    const adjusted = { reference: expect.any(String), currency: "XOF", reason: "Bank" };
    const link = { merchantId: id, name: "Ada", role: "finance", hash: "0a".repeat(32), lifetimeMs: HOUR } as const;
    const session = { id: "session-1", hash: "0b".repeat(32), lifetimeMs: HOUR };
    const issuer = "https://id.example";
    const other = { ...session, id: "session-2", hash: "0c".repeat(32) };
    const provided = { session: other.id, provider: issuer, role: "finance" };
    const limit = (given?: Limits) => storage.setMerchantLimits(id, given, ACTOR);
    const setState = (state?: "suspended") => storage.setMerchantState(id, state, ACTOR);
    const endSessions = (of: { id: string } | { name: string }) =>
      storage.endSessions({ merchantId: id, ...of }, ACTOR);
    const steps: Step[] = [
      [() => storage.insertKey(key, server), "key.create", made, server],
      [() => storage.insertKey(key, ACTOR)],
      [() => storage.setKeyLimits(key.id, limits, ACTOR), "key.limit", keyLimits],
      [() => storage.setKeyLimits(key.id, undefined, ACTOR), "key.limit", { key: key.id }],
      [() => storage.setKeyLimits("unknown", limits, ACTOR)],
      [() => storage.renameMerchant(id, "After", ACTOR), "merchant.rename", { from: "Ada Stores", to: "After" }],
      [() => limit({ perPayment: { XOF: 5 } }), "merchant.limit", { perPayment: "XOF:5" }],
      [() => limit(), "merchant.limit"],
      [() => setState("suspended"), "merchant.suspend"],
      [() => setState("suspended")],
      [() => setState(), "merchant.reopen"],
      [() => setState()],
      [() => storage.rotateSecret(id, "whsec_new", program), "secret.rotate", {}, program],
      [() => storage.revealSecrets(id, ACTOR), "secret.reveal"],
      [() => storage.setDefaultWebhook(id, url, ACTOR), "default-webhook.set", { receiver: "merchant.example:8443" }],
      [() => storage.setDefaultWebhook(id, undefined, ACTOR), "default-webhook.remove"],
      [() => storage.setChaos(id, chaos, ACTOR), "sandbox.chaos", { latencyMs: "250", lostResponsesPercent: "5" }],
      [() => storage.setChaos(id, undefined, ACTOR), "sandbox.chaos", { chaos: "off" }],
      [() => storage.requestReplay(id, "msg_nothing", ACTOR)],
      [async () => report((await claims())[0]!, { status: "ended", step: 1 })],
      [() => storage.requestReplay(id, webhook, ACTOR), "delivery.replay", replay("ended")],
      [() => storage.requestReplay(id, webhook, program), "delivery.replay", replay("pending"), program],
      [() => claims()],
      [() => storage.requestReplay(id, webhook, ACTOR)],
      [() => storage.startReplay(many, ACTOR), "replay.start", { replay: many.id, ...began }],
      [() => storage.startReplay({ ...many, id: "replay-2" }, ACTOR)],
      [() => storage.stopReplay(id, many.id, kofi), "replay.stop", { replay: many.id }, kofi],
      [() => adjust(20_000), "balance.top-up", { ...adjusted, amount: "20000" }],
      [() => adjust(-200), "balance.withdraw", { ...adjusted, amount: "-200" }],
      [() => adjust(-20_000)],
      [() => storage.pauseRail("mobile", "Broken", ACTOR), "rail.pause", { rail: "mobile", reason: "Broken" }],
      [() => storage.pauseRail("mobile", "again", ACTOR)],
      [() => storage.resumeRail("mobile", ACTOR), "rail.resume", { rail: "mobile" }],
      [() => storage.insertLink(link, ACTOR), "dashboard.link", { name: "Ada", role: "finance" }],
      [() => storage.signIn(link.hash, session), "dashboard.sign-in", { session: session.id }, "merchant Ada"],
      [() => endSessions({ id: "nothing" })],
      [() => storage.endSessions({ id: session.id }, ACTOR)],
      [() => endSessions({ id: session.id }), "dashboard.sign-out", { name: "Ada", session: session.id }],
      [() => endSessions({ name: "Ada" })],
      [() => storage.signInFrom(issuer, link, other), "dashboard.sign-in", provided, "merchant Ada"],
      [() => endSessions({ name: "Ada" }), "dashboard.sign-out", { name: "Ada", session: "all" }],
      [() => storage.revokeKey(key.id, START, ACTOR), "key.revoke", { key: key.id }],
      [() => storage.revokeKey(key.id, START, ACTOR)],
      [() => storage.revokeKey("unknown", START, ACTOR)],
      [() => storage.moveClock(id, { by: HOUR }, LATEST, ACTOR), "sandbox.advance", { to: "2026-11-20T10:30:00.000Z" }],
      [() => storage.moveClock(id, { by: HOUR }, MINUTE, ACTOR)],
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

  test("lists what was done to one merchant or key, newest first", async () => {
    await addKey(ADA);
    const key = await addKey(KOFI);
    await addKey(KOFI);
    await storage.revokeKey(key.id, START, ACTOR);
    expect(await actions({ merchantId: ADA })).toEqual(["merchant.create", "key.create"]);
    expect(await actions({ merchantId: "nobody" })).toEqual([]);
    const aboutKey = { merchantId: KOFI, keyId: key.id };
    expect(await actions(aboutKey)).toEqual(["key.create", "key.revoke"]);
    const cursor = (await storage.listAudit({ ...aboutKey, limit: 1 })).cursor!;
    expect(await actions({ ...aboutKey, cursor })).toEqual(["key.create"]);
    await expect(actions({ merchantId: KOFI, cursor })).rejects.toThrow(InvalidCursorError);
  });
}

let made = 0;
function aRequest(merchantId: string, changes: Partial<LoggedRequest> = {}): LoggedRequest {
  made += 1;
  return {
    requestId: `req_${made}`,
    merchantId,
    at: START,
    number: made,
    operation: "verifyDisbursement",
    method: "GET",
    path: "/v1/disbursements/DSB1",
    status: 200,
    durationMs: 1.5,
    ...changes,
  };
}
/** A request whose connection was lost before its response. */
function aLostRequest(merchantId: string, changes: Partial<LoggedRequest>): LoggedRequest {
  const { status: _, ...lost } = aRequest(merchantId, changes);
  return lost;
}

const idsOf = (requests: readonly LoggedRequest[]) => requests.map(({ requestId }) => requestId);

export function requestTests({ storage, pass, reported, payout }: Current): void {
  const [ada, kofi] = [ADA, KOFI];
  const list = async (merchantId: string, query: Partial<RequestQuery> = {}) =>
    (await storage.listRequests({ merchantId, limit: 2_000, ...query })).items;

  test("a request is listed as it was inserted, to its merchant only", async () => {
    const full = aRequest(ada, {
      status: 409,
      code: "duplicate_reference",
      reference: "DSB1",
      merchantsReference: "Pâques 🐣",
      sent: '{"amount":1}',
      returned: "{}",
      leftOut: 7,
      program: "shop/1.0",
      keyId: "key-1",
    });
    const lost = aLostRequest(ada, { at: START + 1 });
    await storage.insertRequests([full, lost, aRequest(kofi)]);
    expect(await list(ada)).toEqual([lost, full]);
    expect(await list(kofi)).toHaveLength(1);
  });

  test("filters by result, operation, either reference and request id, also together", async () => {
    const create = { operation: "createDisbursement", merchantsReference: "order-7" };
    const a = aRequest(ada, { ...create, reference: "DSB7" });
    const b = aRequest(ada, { ...create, status: 422 });
    const c = aLostRequest(ada, { reference: "DSB7" });
    await storage.insertRequests([a, b, c]);
    for (const [query, expected] of [
      [{ statusClass: 2 }, [a]],
      [{ statusClass: 4 }, [b]],
      [{ statusClass: 0 }, [c]],
      [{ operation: "createDisbursement" }, [b, a]],
      [{ reference: "DSB7" }, [c, a]],
      [{ reference: "order-7" }, [b, a]],
      [{ reference: "order-7", statusClass: 2 }, [a]],
      [{ requestId: b.requestId }, [b]],
      [{ reference: "order" }, []],
    ] as const)
      expect([query, await list(ada, query)]).toEqual([query, expected]);
  });

  test("pages are newest first, and a cursor works for its merchant only", async () => {
    const requests = [0, 1, 1, 2, 3].map((later) => aRequest(ada, { at: START + later }));
    await storage.insertRequests(requests);
    const pages = await pagesOf((of) => storage.listRequests({ merchantId: ada, limit: 2, ...of }));
    expect(pages.flat()).toEqual(requests.toReversed());
    const { cursor } = await storage.listRequests({ merchantId: ada, limit: 2 });
    await expect(list(kofi, { cursor: cursor! })).rejects.toThrow(InvalidCursorError);
  });

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

  test("forgets requests after a day, and deletes them in steps", async () => {
    await storage.insertRequests([0, 0, 0, 1].map((later) => aRequest(ada, { at: START + later })));
    pass(DAY - 1);
    expect(await list(ada)).toHaveLength(4);
    expect(await storage.prune(2)).toBe(0);
    pass(1);
    expect(await list(ada)).toHaveLength(1);
    expect([await storage.prune(2), await storage.prune(2), await storage.prune(2)]).toEqual([2, 1, 0]);
  });

  test("has a transaction of its own, apart from a payment that arrives together with it", async () => {
    const insert = () => storage.insertRequests([aRequest(ada)]);
    await Promise.all([insert(), payout(ada), insert()]);
    expect(reported("commit")).toMatchObject([{ items: 1 }, { items: 1 }, { items: 1 }]);
  });
}

export function backlogTests({ storage, pass, payout, delivery, claims, report, settleAll }: Current): void {
  const id = ADA;
  const NOTHING = { dueDeliveries: 0, waitingDeliveries: 0, dueSettlements: 0 };

  test("has the records that are due, and when the oldest fell due", async () => {
    for (const afterMs of [2 * SECOND, 5 * SECOND, HOUR]) await payout(id, { due: { afterMs, status: "success" } });
    pass(10 * SECOND);
    const due = { ...NOTHING, dueSettlements: 2, oldestSettlementDueAt: START + 2 * SECOND };
    expect(await storage.readBacklog()).toEqual(due);
    await settleAll();
    expect(await storage.readBacklog()).toEqual(NOTHING);
  });

  test("has the deliveries that are due in real time, and those that wait for a retry or the end of a lease", async () => {
    await storage.moveClock(id, { by: HOUR }, LATEST);
    await delivery(id, { webhookURL: "https://b.example" });
    expect(await storage.readBacklog()).toMatchObject({ dueDeliveries: 1, oldestDeliveryDueAt: START });
    const [claimed] = await claims({ leaseMs: SECOND });
    const waiting = { ...NOTHING, waitingDeliveries: 1 };
    expect(await storage.readBacklog()).toEqual(waiting);
    pass(SECOND);
    expect(await storage.readBacklog()).toMatchObject({ dueDeliveries: 1, waitingDeliveries: 0 });
    await report(claimed!, { status: "pending", step: 1, nextAttemptAt: START + HOUR + 5 * SECOND });
    expect(await storage.readBacklog()).toEqual(waiting);
    pass(4 * SECOND);
    const retry = { dueDeliveries: 1, waitingDeliveries: 0, oldestDeliveryDueAt: START + 5 * SECOND };
    expect(await storage.readBacklog()).toMatchObject(retry);
    await storage.promoteDue(10);
    pass(SECOND);
    await delivery(id, { webhookURL: "https://a.example" });
    expect(await storage.readBacklog()).toMatchObject({ ...retry, dueDeliveries: 2 });
  });
}

export function reportTests({ storage, pass, reported, payout }: Current): void {
  const id = ADA;

  test("creates that arrive together are reported as one commit", async () => {
    await Promise.all([payout(id), payout(id), payout(id)]);
    expect(reported("commit")).toEqual([{ name: "commit", items: 3, durationMs: expect.any(Number) }]);
  });

  test("a settlement is reported with its delay, without the time that a move of the clock skipped", async () => {
    await payout(id);
    pass(2 * SECOND + 300);
    await storage.settleDue(10);
    await payout(id);
    await storage.moveClock(id, { by: HOUR }, LATEST);
    await storage.settleDue(10, id);
    const settled = { name: "settled", merchantId: id };
    expect(reported("settled")).toEqual([
      { ...settled, delayMs: 300 },
      { ...settled, delayMs: 0 },
    ]);
  });
}
