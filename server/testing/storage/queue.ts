import { expect, test } from "vitest";
import type { Current } from "./current.ts";
import {
  ACTOR,
  addDelivery,
  addMerchant,
  aFinalDisbursement,
  claimAll,
  concurrently,
  MINUTE,
  START,
} from "./fixtures.ts";

const attempt = { at: START, sentAt: START + 3, latencyMs: 12 };

export function queueTests(storage: Current): void {
  const claimedIds = async (merchantId?: string) =>
    (await claimAll(storage(), merchantId === undefined ? {} : { merchantId })).map(({ event }) => event.id);

  /** Records a failed attempt, so that the delivery waits until `nextAttemptAt`. */
  async function retryAt(id: string, nextAttemptAt: number) {
    const claimed = (await claimAll(storage())).find(({ event }) => event.id === id)!;
    await storage().recordAttempt(claimed, attempt, { status: "pending", step: 1, nextAttemptAt });
  }

  test("a new event is ready immediately", async () => {
    const merchant = await addMerchant(storage());
    await addDelivery(storage(), merchant.id, { webhookURL: "https://merchant.example:8443/hook" });
    const lane = { merchantId: merchant.id, host: "merchant.example:8443" };
    expect(await storage().readyLanes({ limit: 10 })).toEqual([lane]);
  });

  test("a retry is ready when it is due, not before", async () => {
    const merchant = await addMerchant(storage());
    const { id } = await addDelivery(storage(), merchant.id);
    await retryAt(id, START + 5_000);
    storage.clock().advance(4_999);
    expect(await storage().promoteDue(10)).toBe(0);
    expect(await claimedIds()).toEqual([]);
    storage.clock().advance(1);
    expect(await storage().promoteDue(10)).toBe(1);
    expect(await claimAll(storage())).toMatchObject([{ event: { id }, step: 1, dueAt: START + 5_000 }]);
  });

  test("makes at most `limit` deliveries ready", async () => {
    const merchant = await addMerchant(storage());
    const made = await concurrently(5, () => addDelivery(storage(), merchant.id));
    for (const claimed of await claimAll(storage())) {
      await storage().recordAttempt(claimed, attempt, { status: "pending", step: 1, nextAttemptAt: START + 1 });
    }
    storage.clock().advance(1);
    expect([await storage().promoteDue(3), await storage().promoteDue(3), await storage().promoteDue(3)]).toEqual([
      3, 2, 0,
    ]);
    expect((await claimedIds()).toSorted()).toEqual(made.map(({ id }) => id).toSorted());
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
    expect(await storage().readyLanes({ limit: 10 })).toEqual(all);
    expect(await storage().readyLanes({ limit: 2 })).toEqual(all.slice(0, 2));
    expect(await storage().readyLanes({ limit: 3, after: all[1]! })).toEqual(all.slice(2, 5));
    expect(await storage().readyLanes({ limit: 3, after: all[5]! })).toEqual([]);
    const { id: merchantId } = merchants[0]!;
    expect(await storage().readyLanes({ limit: 10, merchantId })).toEqual(all.slice(0, 3));
    expect(await storage().readyLanes({ limit: 10, merchantId, after: all[0]! })).toEqual(all.slice(1, 3));
  });

  test("claims the requested number from each lane, earliest due first", async () => {
    const merchant = await addMerchant(storage());
    const made: string[] = [];
    for (let index = 0; index < 4; index += 1) {
      made.push((await addDelivery(storage(), merchant.id)).id);
      await addDelivery(storage(), merchant.id, { webhookURL: "https://other.example/hook" });
      storage.clock().advance(1);
    }
    const lane = { merchantId: merchant.id, host: "merchant.example" };
    const claimed = await storage().claimDeliveries([{ ...lane, count: 3 }], MINUTE);
    expect(claimed.map(({ event }) => event.id)).toEqual(made.slice(0, 3));
    expect(await storage().claimDeliveries([{ ...lane, count: 3 }], MINUTE)).toHaveLength(1);
    expect(await storage().readyLanes({ limit: 10 })).toEqual([{ ...lane, host: "other.example" }]);
  });

  test("concurrent claims never share a delivery", async () => {
    const merchant = await addMerchant(storage());
    const made = await concurrently(30, () => addDelivery(storage(), merchant.id));
    const ids = (await concurrently(10, () => claimAll(storage(), { count: 7 }))).flat().map(({ event }) => event.id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.toSorted()).toEqual(made.map(({ id }) => id).toSorted());
  });

  test("promotes and lists lanes for one merchant", async () => {
    const [ada, kofi] = [await addMerchant(storage()), await addMerchant(storage())];
    const made = [await addDelivery(storage(), ada.id), await addDelivery(storage(), kofi.id)];
    for (const claimed of await claimAll(storage())) {
      await storage().recordAttempt(claimed, attempt, { status: "pending", step: 1, nextAttemptAt: START + 1 });
    }
    storage.clock().advance(1);
    expect(await claimedIds(kofi.id)).toEqual([made[1]!.id]);
    expect(await claimedIds()).toEqual([made[0]!.id]);
  });

  test("an event without an address is never claimed", async () => {
    const merchant = await addMerchant(storage());
    await storage().insertDisbursement(aFinalDisbursement(merchant.id));
    const [event] = (await storage().listEvents({ merchantId: merchant.id, limit: 1 })).items;
    expect(await storage().readyLanes({ limit: 10 })).toEqual([]);
    expect(await storage().requestReplay(merchant.id, event!.id, ACTOR)).toBe("unknown");
    expect(await storage().findDelivery(merchant.id, event!.id)).toBeUndefined();
    expect(await storage().hasDue(merchant.id, START + MINUTE)).toBe(false);
  });

  test.each(["not a URL", "https://", "mailto:ada@merchant.example"])(
    "an address without a host, such as %j, has a lane like any other",
    async (webhookURL) => {
      const merchant = await addMerchant(storage());
      const { id } = await addDelivery(storage(), merchant.id, { webhookURL });
      const [lane] = await storage().readyLanes({ limit: 10 });
      expect(lane!.host).not.toBe("");
      expect(await claimedIds()).toEqual([id]);
    },
  );
}
