import { expect, test } from "vitest";
import type { Current } from "./current.ts";
import { addMerchant, aDisbursement, HOUR, LATEST, SECOND } from "./fixtures.ts";

export function reportTests(storage: Current): void {
  const reported = (name: string) => storage.reported().filter((each) => each.name === name);

  test("creates that arrive together are reported as one commit", async () => {
    const { id } = await addMerchant(storage());
    storage.reported().length = 0;
    await Promise.all([1, 2, 3].map(() => storage().insertDisbursement(aDisbursement(id))));
    expect(reported("commit")).toEqual([{ name: "commit", items: 3, durationMs: expect.any(Number) }]);
  });

  test("a settlement is reported with its delay and the trace of its record", async () => {
    const { id } = await addMerchant(storage());
    const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    await storage().insertDisbursement(aDisbursement(id, { traceparent }));
    storage.clock().advance(2 * SECOND - 1);
    await storage().settleDue(10);
    expect(reported("settled")).toEqual([]);
    storage.clock().advance(301);
    await storage().settleDue(10);
    expect(reported("settled")).toEqual([{ name: "settled", merchantId: id, delayMs: 300, traceparent }]);
  });

  test("a settlement that a move of the clock made due is not late", async () => {
    const { id } = await addMerchant(storage());
    await storage().insertDisbursement(aDisbursement(id));
    await storage().moveClock(id, { by: HOUR }, LATEST);
    await storage().settleDue(10, id);
    expect(reported("settled")).toEqual([{ name: "settled", merchantId: id, delayMs: 0 }]);
  });
}
