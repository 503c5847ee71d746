// What people and programs learn of the server's work: audit trail, log of requests, backlog and reports.
import { beforeEach, expect, test } from "vitest";
import type { AuditQuery } from "../../domain/audit.ts";
import { InvalidCursorError } from "../../domain/errors.ts";
import { REQUESTS_KEPT, type RequestQuery, type LoggedRequest } from "../../domain/request-log.ts";
import type { Current } from "./current.ts";
import { ACTOR, aKey, DAY, HOUR, LATEST, MINUTE, pagesOf, SECOND, START } from "./fixtures.ts";

export function auditTests({ storage, pass, merchant, key: addKey, delivery, claims, report }: Current): void {
  const audit = async (query: Partial<AuditQuery> = {}) =>
    (await storage.listAudit({ limit: 100, ...query })).items.toReversed();
  const actions = async (query?: Partial<AuditQuery>) => (await audit(query)).map(({ action }) => action);

  test("records who did what and when, without secrets", async () => {
    const { id: merchantId } = await merchant({ name: "Ada Stores" });
    const key = aKey(merchantId);
    await storage.insertKey(key, "server app@host");
    pass(MINUTE);
    await storage.rotateSecret(merchantId, "whsec_new", { keepMs: HOUR, maxPrevious: 5, actor: `key ${key.id}` });
    await storage.revealSecrets(merchantId, ACTOR);
    await storage.revokeKey(key.id, START + MINUTE, ACTOR);
    const url = "https://merchant.example:8443/hook?token=confidential";
    for (const address of [url, undefined]) await storage.setDefaultWebhook(merchantId, address, ACTOR);
    const entry = { at: START + MINUTE, actor: ACTOR, merchantId, details: {} };
    expect(await audit()).toEqual([
      { ...entry, at: START, action: "merchant.create", details: { name: "Ada Stores" } },
      { ...entry, at: START, actor: "server app@host", action: "key.create", details: { key: key.id } },
      { ...entry, actor: `key ${key.id}`, action: "secret.rotate" },
      { ...entry, action: "secret.reveal" },
      { ...entry, action: "key.revoke", details: { key: key.id } },
      { ...entry, action: "default-webhook.set", details: { receiver: "merchant.example:8443" } },
      { ...entry, action: "default-webhook.remove" },
    ]);
  });

  test("records who moves a clock or resets a merchant, in the transaction of the action", async () => {
    const { id: merchantId } = await merchant();
    await storage.moveClock(merchantId, { by: HOUR }, LATEST, ACTOR);
    await storage.moveClock(merchantId, { by: 2 * HOUR }, MINUTE, ACTOR);
    await storage.reset(merchantId, ACTOR);
    const entry = { at: START, actor: ACTOR, merchantId };
    expect((await audit()).slice(1)).toEqual([
      { ...entry, action: "sandbox.advance", details: { to: new Date(START + HOUR).toISOString() } },
      { ...entry, action: "sandbox.reset", details: {} },
    ]);
  });

  test("records replays, but no scheduled attempt and no action without effect", async () => {
    const { id: merchantId } = await merchant();
    const key = await addKey(merchantId);
    await storage.revokeKey(key.id, START, ACTOR);
    const { id } = await delivery(merchantId);
    const before = await audit();
    for (const revoked of [key.id, "nothing"]) await storage.revokeKey(revoked, START, ACTOR);
    await storage.insertKey(key, ACTOR);
    await storage.requestReplay(merchantId, "msg_nothing", ACTOR);
    const [claimed] = await claims();
    expect(await storage.requestReplay(merchantId, id, ACTOR)).toBe("claimed");
    await report(claimed!, { status: "ended", step: 1 });
    expect(await audit()).toEqual(before);

    for (const actor of [ACTOR, "key 1"] as const) await storage.requestReplay(merchantId, id, actor);
    expect((await audit()).slice(before.length)).toMatchObject([
      { actor: ACTOR, action: "delivery.replay", merchantId, details: { delivery: id, status: "ended" } },
      { actor: "key 1", action: "delivery.replay", merchantId, details: { delivery: id, status: "pending" } },
    ]);
  });

  test("lists what was done to one merchant or key, newest first", async () => {
    const [ada, kofi] = [await merchant(), await merchant()];
    await addKey(ada.id);
    const key = await addKey(kofi.id);
    await addKey(kofi.id);
    await storage.revokeKey(key.id, START, ACTOR);
    expect(await actions({ merchantId: ada.id })).toEqual(["merchant.create", "key.create"]);
    expect(await actions({ merchantId: "nobody" })).toEqual([]);
    const aboutKey = { merchantId: kofi.id, keyId: key.id };
    expect(await actions(aboutKey)).toEqual(["key.create", "key.revoke"]);
    const cursor = (await storage.listAudit({ ...aboutKey, limit: 1 })).cursor!;
    expect(await actions({ ...aboutKey, cursor })).toEqual(["key.create"]);
    await expect(actions({ merchantId: kofi.id, cursor })).rejects.toThrow(InvalidCursorError);
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

export function requestTests({ storage, pass, reported, merchant, payout }: Current): void {
  let [ada, kofi] = ["", ""];
  beforeEach(async () => {
    [ada, kofi] = [(await merchant()).id, (await merchant()).id];
  });
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
    const found: [Partial<RequestQuery>, LoggedRequest[]][] = [
      [{ statusClass: 2 }, [a]],
      [{ statusClass: 4 }, [b]],
      [{ statusClass: 0 }, [c]],
      [{ operation: "createDisbursement" }, [b, a]],
      [{ reference: "DSB7" }, [c, a]],
      [{ reference: "order-7" }, [b, a]],
      [{ reference: "order-7", statusClass: 2 }, [a]],
      [{ requestId: b.requestId }, [b]],
      [{ reference: "order" }, []],
    ];
    for (const [query, expected] of found) expect([query, await list(ada, query)]).toEqual([query, expected]);
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
    reported().length = 0;
    const insert = () => storage.insertRequests([aRequest(ada)]);
    await Promise.all([insert(), payout(ada), insert()]);
    expect(reported("commit")).toMatchObject([{ items: 1 }, { items: 1 }, { items: 1 }]);
  });
}

export function backlogTests({ storage, pass, merchant, payout, delivery, claims, report, settleAll }: Current): void {
  let id: string;
  beforeEach(async () => {
    ({ id } = await merchant());
  });
  const NOTHING = { dueDeliveries: 0, waitingDeliveries: 0, dueSettlements: 0 };

  test("has the records that are due, and when the oldest fell due", async () => {
    for (const afterMs of [2 * SECOND, 5 * SECOND, HOUR]) await payout(id, { due: { afterMs, status: "success" } });
    pass(10 * SECOND);
    const due = { ...NOTHING, dueSettlements: 2, oldestSettlementDueAt: START + 2 * SECOND };
    expect(await storage.readBacklog()).toEqual(due);
    await settleAll();
    expect(await storage.readBacklog()).toEqual(NOTHING);
  });

  test("has the deliveries that are due, also after a failed attempt, and the oldest of all receivers", async () => {
    await delivery(id, { webhookURL: "https://b.example" });
    const [claimed] = await claims();
    await report(claimed!, { status: "pending", step: 1, nextAttemptAt: START + 5 * SECOND });
    expect(await storage.readBacklog()).toEqual({ ...NOTHING, waitingDeliveries: 1 });
    pass(5 * SECOND);
    const retry = { dueDeliveries: 1, waitingDeliveries: 0, oldestDeliveryDueAt: START + 5 * SECOND };
    expect(await storage.readBacklog()).toMatchObject(retry);
    await storage.promoteDue(10);
    expect(await storage.readBacklog()).toMatchObject(retry);
    pass(SECOND);
    await delivery(id, { webhookURL: "https://a.example" });
    expect(await storage.readBacklog()).toMatchObject({ ...retry, dueDeliveries: 2 });
  });

  test("tells real time for a merchant whose clock is ahead", async () => {
    await storage.moveClock(id, { by: HOUR }, LATEST);
    await delivery(id);
    expect(await storage.readBacklog()).toMatchObject({ dueDeliveries: 1, oldestDeliveryDueAt: START });
  });

  test("counts a claimed delivery as waiting, and as due when its lease has lapsed", async () => {
    await delivery(id);
    await claims({ leaseMs: SECOND });
    expect(await storage.readBacklog()).toMatchObject({ dueDeliveries: 0, waitingDeliveries: 1 });
    pass(SECOND);
    expect(await storage.readBacklog()).toMatchObject({ dueDeliveries: 1, waitingDeliveries: 0 });
  });
}

export function reportTests({ storage, pass, reported, merchant, payout }: Current): void {
  let id: string;
  beforeEach(async () => {
    ({ id } = await merchant());
  });

  test("creates that arrive together are reported as one commit", async () => {
    reported().length = 0;
    await Promise.all([payout(id), payout(id), payout(id)]);
    expect(reported("commit")).toEqual([{ name: "commit", items: 3, durationMs: expect.any(Number) }]);
  });

  test("a settlement is reported with its delay and the trace of its record", async () => {
    const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    await payout(id, { traceparent });
    pass(2 * SECOND - 1);
    await storage.settleDue(10);
    expect(reported("settled")).toEqual([]);
    pass(301);
    await storage.settleDue(10);
    expect(reported("settled")).toEqual([{ name: "settled", merchantId: id, delayMs: 300, traceparent }]);
  });

  test("a settlement that a move of the clock made due is not late", async () => {
    await payout(id);
    await storage.moveClock(id, { by: HOUR }, LATEST);
    await storage.settleDue(10, id);
    expect(reported("settled")).toEqual([{ name: "settled", merchantId: id, delayMs: 0 }]);
  });
}
