import { expect, test } from "vitest";
import type { ChangeMarks } from "../../domain/storage.ts";
import type { Current } from "./current.ts";
import {
  ACTOR,
  aCheckout,
  addDelivery,
  addMerchant,
  aDisbursement,
  claimAll,
  HOUR,
  LATEST,
  nextId,
  SECOND,
  START,
} from "./fixtures.ts";

export function changeTests(storage: Current): void {
  const marks = async (id: string): Promise<ChangeMarks> => (await storage().readMarks([id])).get(id)!;
  const attempt = { at: START, sentAt: START, latencyMs: 1, httpStatus: 500 };

  /** What happens to a merchant in the course of a payment and its webhook. */
  const STEPS: Record<string, (id: string) => Promise<unknown>> = {
    "a new disbursement": (id) => storage().insertDisbursement(aDisbursement(id)),
    "its settlement": () => {
      storage.clock().advance(2 * SECOND);
      return storage().settleDue(10);
    },
    "a disbursement that is final at once": (id) => addDelivery(storage(), id),
    "the claim of its delivery": (id) => claimAll(storage(), { merchantId: id, leaseMs: 1 }),
    "a failed attempt": async (id) => {
      storage.clock().advance(1);
      const [claim] = await claimAll(storage(), { merchantId: id });
      await storage().recordAttempt(claim!, attempt, { status: "exhausted", step: 1 });
    },
    "a replay": async (id) => {
      const { items } = await storage().listDeliveries({ merchantId: id, limit: 1 });
      return storage().requestReplay(id, items[0]!.id, ACTOR);
    },
    "a new checkout": (id) => storage().insertCheckout(aCheckout(id)),
    "a payer": async (id) => {
      const { items } = await storage().listCheckouts({ merchantId: id, limit: 1 });
      const customer = { id: nextId(), phoneNumber: "2257038102473" };
      return storage().payCheckout(items[0]!.reference, customer, { afterMs: SECOND, status: "failed" });
    },
    "a move of the clock": (id) => storage().moveClock(id, { by: HOUR }, LATEST),
    "a reset": (id) => storage().reset(id),
  };

  test("every step changes the mark of payments, of this merchant only, and nothing else does", async () => {
    const [ada, kofi] = [await addMerchant(storage()), await addMerchant(storage())];
    await storage().insertDisbursement(aDisbursement(kofi.id));
    const [others, requests] = [await marks(kofi.id), (await marks(ada.id)).requests];
    for (const [name, step] of Object.entries(STEPS)) {
      const before = await marks(ada.id);
      expect({ name, ...(await marks(ada.id)) }).toEqual({ name, ...before });
      await step(ada.id);
      expect({ name, payments: (await marks(ada.id)).payments }).not.toEqual({ name, payments: before.payments });
    }
    expect((await marks(ada.id)).requests).toBe(requests);
    // Its disbursement was settled meanwhile.
    expect((await marks(kofi.id)).payments).not.toBe(others.payments);
    const settled = await marks(kofi.id);
    await storage().insertDisbursement(aDisbursement(ada.id));
    expect(await marks(kofi.id)).toEqual(settled);
  });

  test("a logged request changes the mark of requests only, also if it ended before others", async () => {
    const [ada, kofi] = [await addMerchant(storage()), await addMerchant(storage())];
    const common = { merchantId: ada.id, operation: "readClock", method: "GET", path: "/sandbox/clock", durationMs: 1 };
    const before = await marks(ada.id);
    await storage().insertRequests([{ ...common, requestId: "req_2", at: START + 5, number: 1 }]);
    const second = await marks(ada.id);
    await storage().insertRequests([{ ...common, requestId: "req_1", at: START, number: 1 }]);
    const third = await marks(ada.id);
    expect(new Set([before, second, third].map(({ requests }) => requests)).size).toBe(3);
    expect([second.payments, third.payments]).toEqual([before.payments, before.payments]);
    const both = await storage().readMarks([ada.id, kofi.id]);
    expect([...both.keys()].toSorted()).toEqual([ada.id, kofi.id].toSorted());
    expect(both.get(ada.id)).toEqual(third);
  });
}
