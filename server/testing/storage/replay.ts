import { expect, test } from "vitest";
import type { DeliveryStatus } from "../../domain/deliveries.ts";
import type { Current } from "./current.ts";
import { ACTOR, addDelivery, addMerchant, aFinalDisbursement, claimAll, HOUR, MINUTE, START } from "./fixtures.ts";

const attempt = { at: START, sentAt: START, latencyMs: 1 };

export function replayTests(storage: Current): void {
  /** A delivery with this status after one attempt. */
  async function attempted(status: DeliveryStatus) {
    const merchant = await addMerchant(storage());
    const { id } = await addDelivery(storage(), merchant.id);
    const [claimed] = await claimAll(storage(), { merchantId: merchant.id });
    const next = { status, step: 3, ...(status === "pending" && { nextAttemptAt: START + HOUR }) };
    await storage().recordAttempt(claimed!, attempt, next);
    const request = () => storage().requestReplay(merchant.id, id, ACTOR);
    const find = async () => (await storage().findDelivery(merchant.id, id))!;
    return { merchant, id, claimed: claimed!, request, find };
  }

  test.each(["pending", "delivered", "ended", "exhausted"] as const)(
    "a requested replay of a delivery that is %s is claimed once, with the whole schedule ahead",
    async (status) => {
      const { id, request, find } = await attempted(status);
      storage.clock().advance(MINUTE);
      expect(await request()).toBe("requested");
      expect(await find()).toMatchObject({ status: "pending", step: 0, nextAttemptAt: START + MINUTE });

      const [claimed, ...others] = await claimAll(storage());
      expect(others).toEqual([]);
      expect(claimed).toMatchObject({ event: { id }, step: 0, dueAt: START + MINUTE });
      expect(await claimAll(storage())).toEqual([]);
      expect(await storage().recordAttempt(claimed!, attempt, { status: "delivered", step: 1 })).toBe(true);
      expect(await find()).toMatchObject({ status: "delivered", attempts: [{ number: 1 }, { number: 2 }] });
    },
  );

  test("a replay requested twice is claimed once", async () => {
    const { request } = await attempted("exhausted");
    expect([await request(), await request()]).toEqual(["requested", "requested"]);
    expect(await claimAll(storage())).toHaveLength(1);
    expect(await claimAll(storage())).toEqual([]);
  });

  test("a replay is not requested during an attempt, but is after its lease; the late report is only logged", async () => {
    const { request, find } = await attempted("exhausted");
    await request();
    const [late] = await claimAll(storage(), { leaseMs: MINUTE });
    storage.clock().advance(MINUTE - 1);
    expect(await request()).toBe("claimed");
    storage.clock().advance(1);
    expect(await request()).toBe("requested");
    expect(await storage().recordAttempt(late!, attempt, { status: "delivered", step: 1 })).toBe(false);
    expect(await find()).toMatchObject({ status: "pending", attempts: [{}, {}] });
    expect(await claimAll(storage())).toHaveLength(1);
  });

  test("an unknown or deleted delivery, or another merchant's, cannot be replayed", async () => {
    const { merchant, id, request } = await attempted("exhausted");
    const kofi = await addMerchant(storage());
    expect(await storage().requestReplay(kofi.id, id, ACTOR)).toBe("unknown");
    expect(await storage().requestReplay(merchant.id, "msg_nothing", ACTOR)).toBe("unknown");
    await storage().reset(merchant.id);
    expect(await request()).toBe("unknown");
    expect(await claimAll(storage())).toEqual([]);
  });

  test("lists the deliveries that were given up as failed", async () => {
    const { merchant, claimed } = await attempted("ended");
    const exhausted = await addDelivery(storage(), merchant.id);
    const [second] = await claimAll(storage());
    await storage().recordAttempt(second!, attempt, { status: "exhausted", step: 10 });
    await addDelivery(storage(), merchant.id);

    const query = { merchantId: merchant.id, status: "failed", limit: 10 } as const;
    const ids = async (more = {}) => (await storage().listDeliveries({ ...query, ...more })).items.map(({ id }) => id);
    expect(await ids()).toEqual([exhausted.id, claimed.event.id]);
    expect(await ids({ reference: exhausted.reference })).toEqual([exhausted.id]);
    expect(await ids({ limit: 1 })).toEqual([exhausted.id]);
    expect(await ids({ createdAfter: START + 1 })).toEqual([]);
  });

  test("lists the events and deliveries since a time, which is included", async () => {
    const { id: merchantId } = await addMerchant(storage());
    await addDelivery(storage(), merchantId);
    storage.clock().advance(MINUTE);
    const { id } = await addDelivery(storage(), merchantId);
    const query = { merchantId, createdAfter: START + MINUTE, limit: 10 };
    expect((await storage().listEvents(query)).items.map((event) => event.id)).toEqual([id]);
    expect((await storage().listDeliveries(query)).items.map((delivery) => delivery.id)).toEqual([id]);
  });

  test("an event goes to the request's address, else to the default at that time, else nowhere (D40)", async () => {
    const { id: merchantId } = await addMerchant(storage());
    const insert = async (webhookURL?: string) => {
      const changes = webhookURL === undefined ? {} : { webhookURL };
      const { record } = await storage().insertDisbursement(aFinalDisbursement(merchantId, changes));
      expect(record.webhookURL).toBe(webhookURL);
    };
    await insert();
    await storage().setDefaultWebhook(merchantId, "https://default.example/hook", ACTOR);
    expect(await storage().findMerchant(merchantId)).toMatchObject({ webhookUrl: "https://default.example/hook" });
    await insert();
    await insert("https://own.example/hook");
    await storage().setDefaultWebhook(merchantId, "https://later.example/hook", ACTOR);
    await insert();
    await storage().setDefaultWebhook(merchantId, undefined, ACTOR);
    await insert();
    const { items } = await storage().listDeliveries({ merchantId, limit: 10 });
    expect(items.map(({ url }) => url)).toEqual([
      "https://later.example/hook",
      "https://own.example/hook",
      "https://default.example/hook",
    ]);
  });
}
