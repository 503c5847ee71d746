import { expect, test } from "vitest";
import type { DeliveryStatus, Page } from "../../domain/storage.ts";
import type { Current } from "./suite.ts";
import { addDelivery, addMerchant, aDisbursement, START } from "./fixtures.ts";

export function listTests(storage: Current): void {
  /** A merchant with five events, the third without an address; newest first. */
  async function fiveEvents() {
    const merchant = await addMerchant(storage());
    const ids: string[] = [];
    for (let index = 0; index < 5; index += 1) {
      if (index === 2) {
        const { due: _, ...record } = aDisbursement(merchant.id, { status: "failed" });
        await storage().insertDisbursement(record);
        ids.unshift(`msg_${record.id.replaceAll("-", "")}`);
      } else ids.unshift((await addDelivery(storage(), merchant.id)).id);
    }
    return { merchant, ids, withAddress: ids.filter((_, index) => index !== 2) };
  }
  const events = async (page: Page) => (await storage().listEvents(page)).map(({ id }) => id);
  const deliveries = async (page: Page & { status?: DeliveryStatus }) =>
    (await storage().listDeliveries(page)).map(({ id }) => id);

  test("the newest comes first; events are all there, deliveries where there was an address", async () => {
    const { merchant, ids, withAddress } = await fiveEvents();
    expect(await events({ merchantId: merchant.id, limit: 100 })).toEqual(ids);
    expect(await deliveries({ merchantId: merchant.id, limit: 100 })).toEqual(withAddress);
  });

  test("pages follow one another without a gap or a repeat", async () => {
    const { merchant, ids, withAddress } = await fiveEvents();
    const merchantId = merchant.id;
    expect(await events({ merchantId, limit: 2 })).toEqual(ids.slice(0, 2));
    expect(await events({ merchantId, limit: 2, before: ids[1]! })).toEqual(ids.slice(2, 4));
    expect(await events({ merchantId, limit: 2, before: ids[3]! })).toEqual(ids.slice(4));
    expect(await events({ merchantId, limit: 2, before: ids[4]! })).toEqual([]);
    expect(await deliveries({ merchantId, limit: 2, before: ids[1]! })).toEqual(withAddress.slice(2, 4));
  });

  test("a new event does not move the pages that were begun", async () => {
    const { merchant, ids } = await fiveEvents();
    await addDelivery(storage(), merchant.id);
    expect(await events({ merchantId: merchant.id, limit: 2, before: ids[1]! })).toEqual(ids.slice(2, 4));
  });

  test("lists can be of one record", async () => {
    const { merchant } = await fiveEvents();
    const { id, record } = await addDelivery(storage(), merchant.id);
    const page = { merchantId: merchant.id, limit: 10, reference: record.reference };
    expect(await events(page)).toEqual([id]);
    expect(await deliveries(page)).toEqual([id]);
    expect(await events({ ...page, reference: "DSBnothing" })).toEqual([]);
  });

  test("deliveries can be of one status", async () => {
    const { merchant, withAddress } = await fiveEvents();
    const attempt = { at: START, sentAt: START, latencyMs: 1 };
    await storage().recordAttempt(withAddress[0]!, attempt, { status: "exhausted", step: 10 });
    const page = { merchantId: merchant.id, limit: 10 };
    expect(await deliveries({ ...page, status: "exhausted" })).toEqual([withAddress[0]]);
    expect(await deliveries({ ...page, status: "pending" })).toEqual(withAddress.slice(1));
    expect(await deliveries({ ...page, status: "ended" })).toEqual([]);
  });

  test("merchants see only their own", async () => {
    const [first, second] = [await fiveEvents(), await fiveEvents()];
    expect(await events({ merchantId: second.merchant.id, limit: 100 })).toEqual(second.ids);
    expect(await storage().findDelivery(second.merchant.id, first.ids[0]!)).toBeUndefined();
    expect(await storage().findDelivery(first.merchant.id, "msg_nothing")).toBeUndefined();
  });
}
