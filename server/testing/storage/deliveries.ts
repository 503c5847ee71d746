import { expect, test } from "vitest";
import type { ClaimedDelivery } from "../../domain/deliveries.ts";
import type { Current } from "./current.ts";
import {
  ACTOR,
  addDelivery,
  addMerchant,
  aFinalDisbursement,
  ATTEMPT,
  claimAll,
  concurrently,
  HOUR,
  LATEST,
  MINUTE,
  START,
} from "./fixtures.ts";

const DELIVERED = { status: "delivered", step: 1 } as const;
const ENDED = { status: "ended", step: 1 } as const;
const retryAt = (nextAttemptAt: number) => ({ status: "pending", step: 1, nextAttemptAt }) as const;

/** The queue of webhooks: lanes, claims with leases, reports of attempts, and replays of single deliveries. */
export function deliveryTests(storage: Current): void {
  const claims = (options?: Parameters<typeof claimAll>[1]) => claimAll(storage(), options);
  const claimOne = async () => (await claims())[0]!;
  const report = (claim: ClaimedDelivery, next: Parameters<ReturnType<Current>["recordAttempt"]>[2], changes = {}) =>
    storage().recordAttempt(claim, { ...ATTEMPT, ...changes }, next);
  async function oneDelivery() {
    const merchant = await addMerchant(storage());
    const { id, reference } = await addDelivery(storage(), merchant.id);
    const find = async () => (await storage().findDelivery(merchant.id, id))!;
    const replay = () => storage().requestReplay(merchant.id, id, ACTOR);
    return { merchant, id, reference, find, replay };
  }

  test("a claim has everything that an attempt needs", async () => {
    const { merchant, id, reference } = await oneDelivery();
    const rotation = { keepMs: HOUR, maxPrevious: 5, actor: ACTOR } as const;
    const secrets = await storage().rotateSecret(merchant.id, "whsec_new", rotation);
    const [claimed] = await claims();
    const event = { id, merchantId: merchant.id, reference, createdAt: START, body: expect.any(String) };
    expect(claimed).toEqual({
      lane: { merchantId: merchant.id, host: "merchant.example" },
      id,
      event: { ...event, type: "disbursement.completed" },
      url: "https://merchant.example/hook",
      token: expect.any(Number),
      step: 0,
      dueAt: START,
      merchant,
      secrets,
    });
  });

  test("a retry is ready when it is due, not before, with the bytes that were stored with the event (D11)", async () => {
    await oneDelivery();
    const first = await claimOne();
    expect(JSON.parse(first.event.body)).toMatchObject({
      event: "disbursement.completed",
      data: { status: "success" },
    });
    await report(first, retryAt(START + 5_000));
    storage.clock().advance(4_999);
    expect([await storage().promoteDue(10), await claims()]).toEqual([0, []]);
    storage.clock().advance(1);
    expect(await storage().promoteDue(10)).toBe(1);
    expect(await claims()).toMatchObject([{ event: first.event, step: 1, dueAt: START + 5_000 }]);
  });

  test("a claimed delivery belongs to its claimant until the lease ends, which only its own claim can renew", async () => {
    const { replay } = await oneDelivery();
    const claimed = await claimOne();
    storage.clock().advance(MINUTE - 1);
    expect(await claims()).toEqual([]);
    await storage().renewClaims([claimed], MINUTE);
    storage.clock().advance(MINUTE - 1);
    expect([await claims(), await replay()]).toEqual([[], "claimed"]);
    storage.clock().advance(1);
    const second = await claimOne();
    expect([second.id, second.token === claimed.token]).toEqual([claimed.id, false]);
    await storage().renewClaims([claimed], HOUR);
    storage.clock().advance(MINUTE);
    // A claim that is given up can be claimed at once; one that was replaced cannot be given up.
    const third = await claimOne();
    await storage().renewClaims([third], 0);
    const last = await claimOne();
    await storage().renewClaims([third], 0);
    expect(await claims()).toEqual([]);
    expect([await report(third, DELIVERED), await report(last, DELIVERED)]).toEqual([false, true]);
  });

  test("a late report neither undoes what a later claimant recorded, nor takes the delivery from it", async () => {
    const { find, replay } = await oneDelivery();
    const late = await claimOne();
    storage.clock().advance(MINUTE);
    const second = await claimOne();
    expect(await report(late, DELIVERED, { error: "No response." })).toBe(false);
    expect(await replay()).toBe("claimed");
    expect(await report(second, DELIVERED, { httpStatus: 204 })).toBe(true);
    expect(await report(late, retryAt(START + MINUTE))).toBe(false);
    expect(await report(second, ENDED)).toBe(false);
    const delivery = await find();
    expect(delivery).toMatchObject({ status: "delivered", step: 1 });
    expect(delivery).not.toHaveProperty("nextAttemptAt");
    // A report that is repeated counts once.
    expect(delivery.attempts.map(({ httpStatus }) => httpStatus)).toEqual([undefined, 204]);
    storage.clock().advance(HOUR);
    expect(await claims()).toEqual([]);
  });

  test("a report after the lease still counts until another worker claims the delivery", async () => {
    const { find } = await oneDelivery();
    const claimed = await claimOne();
    storage.clock().advance(2 * MINUTE);
    expect(await report(claimed, DELIVERED)).toBe(true);
    expect(await find()).toMatchObject({ status: "delivered" });
  });

  test("attempts are numbered from 1 and stored with their results, of which the last hundred are kept", async () => {
    const { id, merchant, reference, find, replay } = await oneDelivery();
    const results = [
      { httpStatus: 500, responseBody: "Döner 🥙", error: "The receiver responded with 500." },
      { error: "No response." },
      { httpStatus: 204 },
    ];
    for (const [index, result] of results.entries()) {
      await report(await claimOne(), index < 2 ? retryAt(START + HOUR) : DELIVERED, result);
      if (index === 0) expect(await find()).toMatchObject({ status: "pending", step: 1, nextAttemptAt: START + HOUR });
      if (index < 2) await replay();
    }
    expect(await find()).toEqual({
      id,
      merchantId: merchant.id,
      type: "disbursement.completed",
      reference,
      createdAt: START,
      body: expect.any(String),
      url: "https://merchant.example/hook",
      status: "delivered",
      step: 1,
      attempts: results.map((result, index) => ({ number: index + 1, ...ATTEMPT, ...result })),
    });
    for (let made = 3; made < 103; made += 1) {
      await replay();
      await report(await claimOne(), DELIVERED);
    }
    expect((await find()).attempts.map(({ number }) => number)).toEqual(Array.from({ length: 100 }, (_, n) => n + 4));
  });

  test.each(["pending", "delivered", "ended", "exhausted"] as const)(
    "a delivery that is %s is replayed once on request, with the whole schedule ahead, also after a dead claimant",
    async (status) => {
      const { id, find, replay } = await oneDelivery();
      await report(await claimOne(), { status, step: 3, ...(status === "pending" && { nextAttemptAt: LATEST }) });
      storage.clock().advance(HOUR);
      expect(await claims()).toEqual([]);
      expect([await replay(), await replay()]).toEqual(["requested", "requested"]);
      expect(await find()).toMatchObject({ status: "pending", step: 0, nextAttemptAt: START + HOUR });
      const [claimed, ...others] = await claims();
      expect([claimed, others]).toMatchObject([{ event: { id }, step: 0, dueAt: START + HOUR }, []]);
      storage.clock().advance(MINUTE - 1);
      expect([await replay(), await claims()]).toEqual(["claimed", []]);
      storage.clock().advance(1);
      const again = await claimOne();
      expect(again).toMatchObject({ event: { id }, step: 0, dueAt: START + HOUR });
      expect([await report(claimed!, ENDED), await report(again, DELIVERED)]).toEqual([false, true]);
      expect(await find()).toMatchObject({
        status: "delivered",
        attempts: [{ number: 1 }, { number: 2 }, { number: 3 }],
      });
    },
  );

  test("an unknown or deleted delivery, another merchant's, or one without an address cannot be replayed", async () => {
    const { merchant, id, replay } = await oneDelivery();
    const kofi = await addMerchant(storage());
    await storage().insertDisbursement(aFinalDisbursement(kofi.id));
    const [event] = (await storage().listEvents({ merchantId: kofi.id, limit: 1 })).items;
    expect(await storage().findDelivery(kofi.id, event!.id)).toBeUndefined();
    expect(await storage().hasDue(kofi.id, START + MINUTE)).toBe(false);
    for (const [merchantId, delivery] of [
      [kofi.id, id],
      [kofi.id, event!.id],
      [merchant.id, "msg_nothing"],
    ] as const)
      expect(await storage().requestReplay(merchantId, delivery, ACTOR)).toBe("unknown");
    await storage().reset(merchant.id);
    expect([await replay(), await claims()]).toEqual(["unknown", []]);
  });

  test("a lease is measured in real time, independently of the merchant's clock", async () => {
    const { merchant, replay } = await oneDelivery();
    await claimOne();
    await storage().moveClock(merchant.id, { by: HOUR }, LATEST);
    expect(await replay()).toBe("claimed");
  });

  test("makes at most `limit` deliveries ready", async () => {
    const merchant = await addMerchant(storage());
    await concurrently(5, () => addDelivery(storage(), merchant.id));
    for (const claimed of await claims()) await report(claimed, retryAt(START + 1));
    storage.clock().advance(1);
    const made = [await storage().promoteDue(3), await storage().promoteDue(3), await storage().promoteDue(3)];
    expect([made, (await claims()).length]).toEqual([[3, 2, 0], 5]);
  });

  test("lists lanes with ready deliveries in order, page by page, each once", async () => {
    const merchants = [await addMerchant(storage()), await addMerchant(storage())];
    const hosts = ["a.example", "b.example", "b.example:8443"];
    for (const { id } of merchants) {
      for (const host of [...hosts, ...hosts].toReversed()) {
        await addDelivery(storage(), id, { webhookURL: `https://${host}/hook` });
      }
    }
    const all = merchants.flatMap(({ id: merchantId }) => hosts.map((host) => ({ merchantId, host })));
    const lanes = (query: object) => storage().readyLanes({ limit: 10, ...query });
    const merchantId = merchants[0]!.id;
    expect(await lanes({})).toEqual(all);
    expect(await lanes({ limit: 2 })).toEqual(all.slice(0, 2));
    expect(await lanes({ limit: 3, after: all[1]! })).toEqual(all.slice(2, 5));
    expect(await lanes({ limit: 3, after: all[5]! })).toEqual([]);
    expect(await lanes({ merchantId })).toEqual(all.slice(0, 3));
    expect(await lanes({ merchantId, after: all[0]! })).toEqual(all.slice(1, 3));
  });

  test("claims the requested number from each lane, earliest due first, also for an address without a host", async () => {
    const merchant = await addMerchant(storage());
    const made: string[] = [];
    for (let index = 0; index < 4; index += 1) {
      made.push((await addDelivery(storage(), merchant.id)).id);
      await addDelivery(storage(), merchant.id, { webhookURL: "mailto:ada@merchant.example" });
      storage.clock().advance(1);
    }
    const lane = { merchantId: merchant.id, host: "merchant.example", count: 3 };
    const claimed = await storage().claimDeliveries([lane], MINUTE);
    expect(claimed.map(({ event }) => event.id)).toEqual(made.slice(0, 3));
    expect(await storage().claimDeliveries([lane], MINUTE)).toHaveLength(1);
    const [other, ...more] = await storage().readyLanes({ limit: 10 });
    expect([other!.host === "", more, (await claims()).length]).toEqual([false, [], 4]);
  });

  test("concurrent claims never share a delivery, and leave none", async () => {
    const { id } = await addMerchant(storage());
    await concurrently(20, () => addDelivery(storage(), id));
    const claimed = (await concurrently(4, () => claims({ count: 10 }))).flat();
    expect([claimed.length, new Set(claimed.map((each) => each.id)).size]).toEqual([20, 20]);
  });

  test("an event goes to the request's address, else to the default at that time, else nowhere (D40)", async () => {
    const { id: merchantId } = await addMerchant(storage());
    const insert = async (webhookURL?: string) => {
      const changes = webhookURL === undefined ? {} : { webhookURL };
      const { record } = await storage().insertDisbursement(aFinalDisbursement(merchantId, changes));
      expect(record.webhookURL).toBe(webhookURL);
    };
    const [first, own, later] = ["https://default.example/", "https://own.example/", "https://later.example/"] as const;
    await insert();
    await storage().setDefaultWebhook(merchantId, first, ACTOR);
    expect(await storage().findMerchant(merchantId)).toMatchObject({ webhookUrl: first });
    await insert();
    await insert(own);
    await storage().setDefaultWebhook(merchantId, later, ACTOR);
    await insert();
    await storage().setDefaultWebhook(merchantId, undefined, ACTOR);
    await insert();
    const { items } = await storage().listDeliveries({ merchantId, limit: 10 });
    expect(items.map(({ url }) => url)).toEqual([later, own, first]);
  });
}
