import { expect, test } from "vitest";
import { LISTENER_HOST } from "../../domain/events.ts";
import { LISTENER_ATTENDS_MS, LISTENER_CONNECTED_MS } from "../../domain/listeners.ts";
import type { ClaimedDelivery } from "../../domain/deliveries.ts";
import type { Current } from "./current.ts";
import {
  ACTOR,
  addDelivery,
  addMerchant,
  aDisbursement,
  aFinalDisbursement,
  aKey,
  claimAll,
  HOUR,
  LATEST,
  MINUTE,
  SECOND,
  START,
} from "./fixtures.ts";

const URL = "http://127.0.0.1:4000/hook";
const attempt = { at: START, sentAt: START, latencyMs: 12, httpStatus: 204 };

const idsOf = (claims: readonly ClaimedDelivery[]) => claims.map(({ event }) => event.id);
const held = ({ event, token }: ClaimedDelivery) => ({ id: event.id, token });

export function listenerTests(storage: Current): void {
  const connect = (merchantId: string, session: string, changes = {}) =>
    storage().connectListener(merchantId, { session, name: `the listener ${session}`, url: URL, ...changes });
  const search = async (merchantId: string, session: string, holding: { id: string; token: number }[] = []) =>
    (await storage().beginSearch(merchantId, session, holding, 30 * SECOND))!;
  const claim = async (merchantId: string, session: string, poll: number, count = 10) =>
    storage().claimForListener(merchantId, { session, poll }, count, 30 * SECOND);
  /** Searches, and returns what it claims. */
  async function claimed(merchantId: string, session: string, holding: { id: string; token: number }[] = []) {
    const poll = await search(merchantId, session, holding);
    return (await claim(merchantId, session, poll)) as ClaimedDelivery[];
  }
  /** Adds a payout whose event goes to the listener. */
  async function pay(merchantId: string) {
    const draft = aFinalDisbursement(merchantId);
    await storage().insertDisbursement(draft);
    return `msg_${draft.id.replaceAll("-", "")}`;
  }

  test("the revocation of its key ends a listener; what it has claimed and what comes next is not lost", async () => {
    const { id: merchantId } = await addMerchant(storage());
    const [old, other] = [aKey(merchantId), aKey(merchantId)];
    for (const key of [old, other]) await storage().insertKey(key, ACTOR);
    await connect(merchantId, "a", { keyId: other.id });
    const poll = (await storage().beginSearch(merchantId, "a", [], 30 * SECOND, old.id))!;
    const first = await pay(merchantId);
    expect(await claim(merchantId, "a", poll)).toHaveLength(1);
    await storage().revokeKey(old.id, START, ACTOR);
    const second = await pay(merchantId);
    expect(await claim(merchantId, "a", poll)).toBe("replaced");
    expect(await storage().beginSearch(merchantId, "a", [], SECOND, other.id)).toBeUndefined();
    await expect(connect(merchantId, "b", { keyId: old.id })).rejects.toThrow("This API key is not valid.");
    await connect(merchantId, "b", { keyId: other.id });
    await expect(storage().beginSearch(merchantId, "b", [], SECOND, old.id)).rejects.toThrow("not valid");
    const mine = await claimed(merchantId, "b");
    expect(idsOf(mine)).toEqual([first]);
    // The second event was written while no listener was connected.
    expect((await storage().findDelivery(merchantId, second))?.toListener).toBeUndefined();
    await storage().revokeKey(old.id, START, ACTOR);
    expect(await claimed(merchantId, "b", mine.map(held))).toEqual([]);
  });

  test("an event goes to the address of its request, else to the listener, else to the default address", async () => {
    const { id: merchantId } = await addMerchant(storage());
    await storage().setDefaultWebhook(merchantId, "https://default.example/hook", ACTOR);
    await connect(merchantId, "a");
    await addDelivery(storage(), merchantId, { webhookURL: "https://own.example/hook" });
    await pay(merchantId);
    // The event of a record that settles later goes the same way.
    await storage().insertDisbursement(aDisbursement(merchantId));
    storage.clock().advance(2 * SECOND);
    await storage().settleDue(10);
    await storage().disconnectListener(merchantId, "a");
    await pay(merchantId);
    const { items } = await storage().listDeliveries({ merchantId, limit: 10, direction: "newer" });
    expect(items.map(({ url, toListener }) => [url, toListener])).toEqual([
      ["https://own.example/hook", undefined],
      [URL, true],
      [URL, true],
      ["https://default.example/hook", undefined],
    ]);
  });

  test("a listener without requests counts as connected for an hour", async () => {
    const { id: merchantId } = await addMerchant(storage());
    await connect(merchantId, "a");
    storage.clock().advance(LISTENER_CONNECTED_MS - 1);
    const id = await pay(merchantId);
    storage.clock().advance(1);
    await pay(merchantId);
    const { items } = await storage().listDeliveries({ merchantId, limit: 10 });
    expect(items.map((delivery) => delivery.id)).toEqual([id]);
    expect(idsOf(await claimed(merchantId, "a"))).toEqual([id]);
    await pay(merchantId);
    expect((await storage().listDeliveries({ merchantId, limit: 10 })).items).toHaveLength(2);
  });

  test("claims deliveries in the order in which they fell due, of its own merchant only", async () => {
    const [ada, kofi] = [await addMerchant(storage()), await addMerchant(storage())];
    for (const { id } of [ada, kofi]) await connect(id, id);
    const ids: string[] = [];
    for (let made = 0; made < 5; made += 1) {
      ids.push(await pay(ada.id));
      await pay(kofi.id);
      storage.clock().advance(1);
    }
    const poll = await search(ada.id, ada.id);
    const first = (await claim(ada.id, ada.id, poll, 2)) as ClaimedDelivery[];
    const others = (await claim(ada.id, ada.id, poll)) as ClaimedDelivery[];
    expect([idsOf(first), idsOf(others)]).toEqual([ids.slice(0, 2), ids.slice(2)]);
    expect(first[0]).toEqual({
      lane: { merchantId: ada.id, host: "#listener" },
      id: ids[0],
      event: expect.objectContaining({ id: ids[0], merchantId: ada.id, body: expect.any(String) }),
      url: URL,
      token: expect.any(Number),
      step: 0,
      dueAt: START,
      merchant: ada,
      secrets: { current: expect.any(String), previous: [] },
    });
    expect(await claim(ada.id, ada.id, poll)).toEqual([]);
    expect(await claim(ada.id, ada.id, poll, 0)).toEqual([]);
  });

  test("a claim ends with its lease, and a search renews those that the listener holds", async () => {
    const { id: merchantId } = await addMerchant(storage());
    await connect(merchantId, "a");
    await pay(merchantId);
    const [first] = await claimed(merchantId, "a");
    storage.clock().advance(29 * SECOND);
    expect(await claimed(merchantId, "a", [held(first!)])).toEqual([]);
    storage.clock().advance(29 * SECOND);
    expect(await storage().promoteDue(10)).toBe(0);
    storage.clock().advance(SECOND);
    expect(await storage().promoteDue(10)).toBe(1);
    const [second] = await claimed(merchantId, "a", [held(first!)]);
    expect(second!.event).toEqual(first!.event);
    expect(second!.token).not.toBe(first!.token);
  });

  test("a search ends the claims that were lost on the way to the listener, and earlier searches", async () => {
    const { id: merchantId } = await addMerchant(storage());
    await connect(merchantId, "a");
    const [kept, lost] = [await pay(merchantId), await pay(merchantId)];
    const before = await claimed(merchantId, "a");
    expect(idsOf(before)).toEqual([kept, lost]);
    const old = await search(merchantId, "a", [held(before[0]!)]);
    const poll = await search(merchantId, "a", [held(before[0]!)]);
    expect(await claim(merchantId, "a", old)).toBe("superseded");
    expect(idsOf((await claim(merchantId, "a", poll)) as ClaimedDelivery[])).toEqual([lost]);
    expect(await storage().recordAttempt(before[0]!, attempt, { status: "delivered", step: 1 })).toBe(true);
    expect(await storage().recordAttempt(before[1]!, attempt, { status: "delivered", step: 1 })).toBe(false);
  });

  test("a second listener takes over what waits and what is claimed, also the address", async () => {
    const { id: merchantId } = await addMerchant(storage());
    expect(await connect(merchantId, "a")).toBeUndefined();
    const [first, second] = [await pay(merchantId), await pay(merchantId)];
    const poll = await search(merchantId, "a");
    expect(await claim(merchantId, "a", poll, 1)).toHaveLength(1);
    expect(await connect(merchantId, "b", { url: "http://127.0.0.1:5000/" })).toBe("the listener a");
    expect(await claim(merchantId, "a", poll)).toBe("replaced");
    expect(await storage().beginSearch(merchantId, "a", [], SECOND)).toBeUndefined();
    expect(await storage().disconnectListener(merchantId, "a")).toBe(false);
    const taken = await claimed(merchantId, "b");
    expect(idsOf(taken)).toEqual([first, second]);
    expect(taken.map(({ url }) => url)).toEqual(["http://127.0.0.1:5000/", "http://127.0.0.1:5000/"]);
    storage.clock().advance(LISTENER_ATTENDS_MS);
    expect(await connect(merchantId, "c")).toBeUndefined();
  });

  test("what was not delivered when a listener disconnects waits for the next one", async () => {
    const { id: merchantId } = await addMerchant(storage());
    await connect(merchantId, "a");
    const id = await pay(merchantId);
    await claimed(merchantId, "a");
    expect(await storage().disconnectListener(merchantId, "a")).toBe(true);
    expect(await storage().disconnectListener(merchantId, "a")).toBe(false);
    storage.clock().advance(30 * 24 * HOUR);
    await connect(merchantId, "b");
    const [again] = await claimed(merchantId, "b");
    expect(again).toMatchObject({ event: { id }, step: 0 });
  });

  test("retries go to the listener, and a move of the clock waits for them while it searches", async () => {
    const { id: merchantId } = await addMerchant(storage());
    await connect(merchantId, "a");
    const id = await pay(merchantId);
    const [first] = await claimed(merchantId, "a");
    const nextAttemptAt = START + MINUTE;
    await storage().recordAttempt(
      first!,
      { ...attempt, httpStatus: 500 },
      { status: "pending", step: 1, nextAttemptAt },
    );
    await storage().moveClock(merchantId, { by: HOUR }, LATEST);
    expect(await storage().hasDue(merchantId, START + HOUR)).toBe(true);
    await storage().promoteDue(10, merchantId);
    const [second] = await claimed(merchantId, "a");
    expect(second).toMatchObject({ event: { id }, step: 1, dueAt: nextAttemptAt });
    expect(await storage().hasDue(merchantId, START + HOUR)).toBe(true);
    storage.clock().advance(LISTENER_ATTENDS_MS);
    expect(await storage().hasDue(merchantId, START + HOUR)).toBe(false);
  });

  test("a replay makes the delivery due for the listener, and is refused during an attempt", async () => {
    const { id: merchantId } = await addMerchant(storage());
    await connect(merchantId, "a");
    const id = await pay(merchantId);
    const [first] = await claimed(merchantId, "a");
    expect(await storage().requestReplay(merchantId, id, ACTOR)).toBe("claimed");
    await storage().recordAttempt(first!, attempt, { status: "delivered", step: 1 });
    expect(await storage().requestReplay(merchantId, id, ACTOR)).toBe("requested");
    expect(idsOf(await claimed(merchantId, "a"))).toEqual([id]);
    expect((await storage().listAudit({ merchantId, limit: 1 })).items).toMatchObject([{ action: "delivery.replay" }]);
  });

  test("an attempt that is reported twice is logged once, also after the claim has ended", async () => {
    const { id: merchantId } = await addMerchant(storage());
    await connect(merchantId, "a");
    const id = await pay(merchantId);
    const [late] = await claimed(merchantId, "a");
    const [second] = await claimed(merchantId, "a");
    const retry = { status: "pending", step: 1, nextAttemptAt: START + MINUTE } as const;
    const counted: boolean[] = [];
    for (const each of [late!, late!, second!, second!, late!]) {
      counted.push(await storage().recordAttempt(each, attempt, retry));
    }
    expect(counted).toEqual([false, false, true, false, false]);
    expect((await storage().findDelivery(merchantId, id))!.attempts).toHaveLength(2);
  });

  test("a reset leaves the listener connected and deletes its deliveries", async () => {
    const { id: merchantId } = await addMerchant(storage());
    await connect(merchantId, "a");
    await pay(merchantId);
    await pay(merchantId);
    const poll = await search(merchantId, "a");
    expect(await claim(merchantId, "a", poll, 1)).toHaveLength(1);
    await storage().reset(merchantId);
    expect(await claimed(merchantId, "a")).toEqual([]);
    const id = await pay(merchantId);
    expect(idsOf(await claimed(merchantId, "a"))).toEqual([id]);
  });

  test("what waits for a listener is not counted as late", async () => {
    const { id: merchantId } = await addMerchant(storage());
    await connect(merchantId, "a");
    await pay(merchantId);
    storage.clock().advance(HOUR / 2);
    expect(await storage().readBacklog()).toMatchObject({ dueDeliveries: 0 });
    expect(await storage().readBacklog()).not.toHaveProperty("oldestDeliveryDueAt");
    await addDelivery(storage(), merchantId);
    expect(await storage().readBacklog()).toMatchObject({ dueDeliveries: 1, oldestDeliveryDueAt: START + HOUR / 2 });
    expect((await claimAll(storage())).map(({ url }) => url).toSorted()).toEqual([
      URL,
      "https://merchant.example/hook",
    ]);
    expect((await storage().readyLanes({ limit: 10 })).map(({ host }) => host)).not.toContain(LISTENER_HOST);
  });
}
