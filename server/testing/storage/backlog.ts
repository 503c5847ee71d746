import { expect, test } from "vitest";
import type { Current } from "./current.ts";
import { addDelivery, addMerchant, aDisbursement, claimAll, HOUR, LATEST, SECOND, START, ATTEMPT } from "./fixtures.ts";

export function backlogTests(storage: Current): void {
  test("has the records that are due, and when the oldest fell due", async () => {
    const { id } = await addMerchant(storage());
    for (const afterMs of [2 * SECOND, 5 * SECOND, HOUR]) {
      await storage().insertDisbursement(aDisbursement(id, { due: { afterMs, status: "success" } }));
    }
    storage.clock().advance(10 * SECOND);
    const due = { dueSettlements: 2, oldestSettlementDueAt: START + 2 * SECOND };
    expect(await storage().readBacklog()).toMatchObject(due);
    await storage().settleDue(10);
    expect(await storage().readBacklog()).toEqual({
      dueDeliveries: 0,
      waitingDeliveries: 0,
      dueSettlements: 0,
    });
  });

  test("has the deliveries that are due, also after a failed attempt, and the oldest of all receivers", async () => {
    const { id } = await addMerchant(storage());
    await addDelivery(storage(), id, { webhookURL: "https://b.example" });
    const [claimed] = await claimAll(storage());
    const next = { status: "pending", step: 1, nextAttemptAt: START + 5 * SECOND } as const;
    await storage().recordAttempt(claimed!, ATTEMPT, next);
    expect(await storage().readBacklog()).toEqual({ dueDeliveries: 0, waitingDeliveries: 1, dueSettlements: 0 });

    storage.clock().advance(5 * SECOND);
    const retry = { dueDeliveries: 1, waitingDeliveries: 0, oldestDeliveryDueAt: START + 5 * SECOND };
    expect(await storage().readBacklog()).toMatchObject(retry);
    await storage().promoteDue(10);
    expect(await storage().readBacklog()).toMatchObject(retry);

    storage.clock().advance(SECOND);
    await addDelivery(storage(), id, { webhookURL: "https://a.example" });
    expect(await storage().readBacklog()).toMatchObject({ ...retry, dueDeliveries: 2 });
  });

  test("tells real time for a merchant whose clock is ahead", async () => {
    const { id } = await addMerchant(storage());
    await storage().moveClock(id, { by: HOUR }, LATEST);
    await addDelivery(storage(), id);
    expect(await storage().readBacklog()).toMatchObject({ dueDeliveries: 1, oldestDeliveryDueAt: START });
  });

  test("counts a claimed delivery as waiting, and as due when its lease has lapsed", async () => {
    const { id } = await addMerchant(storage());
    await addDelivery(storage(), id);
    await claimAll(storage(), { leaseMs: SECOND });
    expect(await storage().readBacklog()).toMatchObject({ dueDeliveries: 0, waitingDeliveries: 1 });
    storage.clock().advance(SECOND);
    expect(await storage().readBacklog()).toMatchObject({ dueDeliveries: 1, waitingDeliveries: 0 });
  });
}
