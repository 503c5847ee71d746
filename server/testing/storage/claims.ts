import { expect, test } from "vitest";
import type { ClaimedDelivery } from "../../domain/deliveries.ts";
import type { Current } from "./current.ts";
import { ACTOR, addDelivery, addMerchant, claimAll, concurrently, HOUR, LATEST, MINUTE, START } from "./fixtures.ts";

const attempt = { at: START, sentAt: START + 3, latencyMs: 12 };
const delivered = { status: "delivered", step: 1 } as const;

export function claimTests(storage: Current): void {
  async function oneDelivery() {
    const merchant = await addMerchant(storage());
    const { id, reference } = await addDelivery(storage(), merchant.id);
    const find = async () => (await storage().findDelivery(merchant.id, id))!;
    /** Requests a replay, then claims it. */
    async function replay() {
      const requested = await storage().requestReplay(merchant.id, id, ACTOR);
      return requested === "requested" ? (await claimAll(storage()))[0] : requested;
    }
    return { merchant, id, reference, find, replay };
  }
  const claimOne = async () => (await claimAll(storage()))[0]!;

  test("a claim has everything that an attempt needs", async () => {
    const { merchant, id, reference } = await oneDelivery();
    const secrets = await storage().rotateSecret(merchant.id, "whsec_new", {
      keepMs: HOUR,
      maxPrevious: 5,
      actor: ACTOR,
    });
    const [claimed] = await claimAll(storage());
    expect(claimed).toEqual({
      lane: { merchantId: merchant.id, host: "merchant.example" },
      id,
      event: {
        id,
        merchantId: merchant.id,
        type: "disbursement.completed",
        reference,
        createdAt: START,
        body: expect.any(String),
      },
      url: "https://merchant.example/hook",
      token: expect.any(Number),
      step: 0,
      dueAt: START,
      merchant,
      secrets,
    });
  });

  test("every attempt gets the bytes that were stored with the event (D11)", async () => {
    const { id } = await oneDelivery();
    const first = await claimOne();
    expect(JSON.parse(first.event.body)).toMatchObject({
      event: "disbursement.completed",
      data: { status: "success" },
    });
    await storage().recordAttempt(first, attempt, { status: "pending", step: 1, nextAttemptAt: START + 5_000 });
    storage.clock().advance(5_000);
    const second = await claimOne();
    expect(second.event).toEqual(first.event);
    expect(second.event.id).toBe(id);
  });

  test("a claimed delivery belongs to its claimant until the lease ends", async () => {
    const { id } = await oneDelivery();
    const claimed = await claimOne();
    expect(claimed.event.id).toBe(id);
    storage.clock().advance(MINUTE - 1);
    expect(await claimAll(storage())).toEqual([]);
    storage.clock().advance(1);
    const [again] = await claimAll(storage());
    expect(again!.event.id).toBe(id);
    expect(again!.token).not.toBe(claimed.token);
  });

  test("a renewed claim lasts longer; a claim that was replaced cannot be renewed", async () => {
    const { replay } = await oneDelivery();
    const claimed = await claimOne();
    storage.clock().advance(MINUTE - 1);
    await storage().renewClaims([claimed], MINUTE);
    storage.clock().advance(MINUTE - 1);
    expect(await replay()).toBe("claimed");
    storage.clock().advance(1);
    const second = await claimOne();
    await storage().renewClaims([claimed], HOUR);
    storage.clock().advance(MINUTE);
    expect(await replay()).toMatchObject({ event: { id: second.event.id } });
  });

  test("a claim that is given up can be claimed at once; one that was replaced cannot be given up", async () => {
    const { id } = await oneDelivery();
    const claimed = await claimOne();
    await storage().renewClaims([claimed], 0);
    const second = await claimOne();
    expect(second.event.id).toBe(id);
    await storage().renewClaims([claimed], 0);
    expect(await claimAll(storage())).toEqual([]);
    expect(await storage().recordAttempt(claimed, attempt, delivered)).toBe(false);
    expect(await storage().recordAttempt(second, attempt, delivered)).toBe(true);
  });

  test("a late report does not undo what a later claimant recorded", async () => {
    const { find } = await oneDelivery();
    const late = await claimOne();
    storage.clock().advance(MINUTE);
    const second = await claimOne();
    expect(await storage().recordAttempt(second, { ...attempt, httpStatus: 204 }, delivered)).toBe(true);
    const retry = { status: "pending", step: 1, nextAttemptAt: START + MINUTE } as const;
    expect(await storage().recordAttempt(late, { ...attempt, error: "No response." }, retry)).toBe(false);

    const delivery = await find();
    expect(delivery).toMatchObject({ status: "delivered", step: 1 });
    expect(delivery).not.toHaveProperty("nextAttemptAt");
    expect(delivery.attempts.map(({ httpStatus }) => httpStatus)).toEqual([204, undefined]);
    storage.clock().advance(HOUR);
    expect(await claimAll(storage())).toEqual([]);
  });

  test("a late report does not take the delivery from its current claimant", async () => {
    const { id, replay } = await oneDelivery();
    const late = await claimOne();
    storage.clock().advance(MINUTE);
    const second = await claimOne();
    expect(await storage().recordAttempt(late, attempt, delivered)).toBe(false);
    expect(await replay()).toBe("claimed");
    expect(await storage().recordAttempt(second, attempt, { status: "ended", step: 1 })).toBe(true);
    expect((await storage().findDelivery(second.merchant.id, id))!.status).toBe("ended");
  });

  test("a report after the lease still counts until another worker claims the delivery", async () => {
    const { find } = await oneDelivery();
    const claimed = await claimOne();
    storage.clock().advance(2 * MINUTE);
    expect(await storage().recordAttempt(claimed, attempt, delivered)).toBe(true);
    expect(await find()).toMatchObject({ status: "delivered" });
  });

  test("the same report twice counts once", async () => {
    await oneDelivery();
    const claimed = await claimOne();
    expect(await storage().recordAttempt(claimed, attempt, delivered)).toBe(true);
    expect(await storage().recordAttempt(claimed, attempt, { status: "ended", step: 2 })).toBe(false);
  });

  test("attempts are numbered from 1 and stored with their results", async () => {
    const { merchant, id, reference, find, replay } = await oneDelivery();
    const nextAttemptAt = START + 5_000;
    const first = { ...attempt, httpStatus: 500, responseBody: "Döner 🥙", error: "The receiver responded with 500." };
    await storage().recordAttempt(await claimOne(), first, { status: "pending", step: 1, nextAttemptAt });
    expect(await find()).toMatchObject({ status: "pending", step: 1, nextAttemptAt });

    const claimAgain = async () => (await replay()) as ClaimedDelivery;
    const second = { ...attempt, error: "No response." };
    await storage().recordAttempt(await claimAgain(), second, { status: "pending", step: 2, nextAttemptAt });
    const third = { ...attempt, httpStatus: 204 };
    await storage().recordAttempt(await claimAgain(), third, { status: "delivered", step: 3 });
    expect(await find()).toEqual({
      id,
      merchantId: merchant.id,
      type: "disbursement.completed",
      reference,
      createdAt: START,
      body: expect.any(String),
      url: "https://merchant.example/hook",
      status: "delivered",
      step: 3,
      attempts: [
        { number: 1, ...first },
        { number: 2, ...second },
        { number: 3, ...third },
      ],
    });
  });

  test("keeps the last hundred attempts of a delivery", async () => {
    const { find, replay } = await oneDelivery();
    for (let made = 0; made < 103; made += 1) {
      const claimed = await replay();
      if (typeof claimed === "object") await storage().recordAttempt(claimed, attempt, delivered);
    }
    expect((await find()).attempts.map(({ number }) => number)).toEqual(Array.from({ length: 100 }, (_, n) => n + 4));
  });

  test.each(["delivered", "ended", "exhausted"] as const)(
    "a delivery that is %s is never due again, but can be replayed",
    async (status) => {
      const { id, replay } = await oneDelivery();
      await storage().recordAttempt(await claimOne(), attempt, { status, step: 1 });
      storage.clock().advance(1_000 * HOUR);
      expect(await claimAll(storage())).toEqual([]);
      expect(await replay()).toMatchObject({ event: { id }, step: 0, dueAt: START + 1_000 * HOUR });
    },
  );

  test("a replay whose claimant died is claimed again", async () => {
    const { id, find, replay } = await oneDelivery();
    await storage().recordAttempt(await claimOne(), attempt, delivered);
    await replay();
    storage.clock().advance(MINUTE);
    const again = await claimOne();
    expect(again).toMatchObject({ event: { id }, step: 0, dueAt: START });
    expect(await storage().recordAttempt(again, attempt, { status: "ended", step: 2 })).toBe(true);
    expect(await find()).toMatchObject({ status: "ended", attempts: [{ number: 1 }, { number: 2 }] });
  });

  test("a replay does not start during an attempt in progress, but does after its lease", async () => {
    const { id, replay } = await oneDelivery();
    await claimOne();
    expect(await replay()).toBe("claimed");
    storage.clock().advance(MINUTE - 1);
    expect(await replay()).toBe("claimed");
    storage.clock().advance(1);
    const claims = await concurrently(5, replay);
    expect(claims.filter((claimed) => typeof claimed === "object")).toMatchObject([{ event: { id } }]);
    expect(await claimAll(storage())).toEqual([]);
  });

  test("a lease is measured in real time, independently of the merchant's clock", async () => {
    const { merchant, replay } = await oneDelivery();
    await claimOne();
    await storage().moveClock(merchant.id, { by: HOUR }, LATEST);
    expect(await replay()).toBe("claimed");
  });
}
