import { expect, test } from "vitest";
import { InvalidCursorError } from "../../domain/errors.ts";
import type { DeliveryStatus, PageQuery } from "../../domain/deliveries.ts";
import type { Current } from "./current.ts";
import { addDelivery, addMerchant, aFinalDisbursement, claimAll, concurrently, START } from "./fixtures.ts";

export function listTests(storage: Current): void {
  /** A merchant with five events, newest first. The third event has no webhookURL. */
  async function fiveEvents() {
    const merchant = await addMerchant(storage());
    const ids: string[] = [];
    for (let index = 0; index < 5; index += 1) {
      if (index === 2) {
        const draft = aFinalDisbursement(merchant.id, { status: "failed" });
        await storage().insertDisbursement(draft);
        ids.unshift(`msg_${draft.id.replaceAll("-", "")}`);
      } else ids.unshift((await addDelivery(storage(), merchant.id)).id);
    }
    return { merchant, ids, withAddress: ids.filter((_, index) => index !== 2) };
  }
  type Query = PageQuery & { status?: DeliveryStatus };
  const events = async (query: PageQuery) => (await storage().listEvents(query)).items.map(({ id }) => id);
  const deliveries = async (query: Query) => (await storage().listDeliveries(query)).items.map(({ id }) => id);

  /** Returns the pages from the query's cursor onwards, at most `most`, and the cursor of the last page. */
  async function pages(query: Query, list: "listEvents" | "listDeliveries", most = 20) {
    const found: string[][] = [];
    let cursor = query.cursor;
    while (found.length < most) {
      const page = await storage()[list]({ ...query, ...(cursor === undefined ? {} : { cursor }) });
      found.push(page.items.map(({ id }) => id));
      cursor = page.cursor;
      if (cursor === undefined || page.items.length === 0) break;
    }
    return { found, cursor };
  }

  test("lists all events, and the deliveries of those with a webhookURL, newest first", async () => {
    const { merchant, ids, withAddress } = await fiveEvents();
    expect(await events({ merchantId: merchant.id, limit: 100 })).toEqual(ids);
    expect(await deliveries({ merchantId: merchant.id, limit: 100 })).toEqual(withAddress);
  });

  test("pages have no gaps or duplicates, and the last has no cursor", async () => {
    const { merchant, ids, withAddress } = await fiveEvents();
    const query = { merchantId: merchant.id, limit: 2 };
    const older = await pages(query, "listEvents");
    expect(older).toEqual({ found: [ids.slice(0, 2), ids.slice(2, 4), ids.slice(4)], cursor: undefined });
    const ofDeliveries = await pages(query, "listDeliveries");
    expect(ofDeliveries).toEqual({ found: [withAddress.slice(0, 2), withAddress.slice(2)], cursor: undefined });
  });

  test("a new event does not change the pages after a cursor", async () => {
    const { merchant, ids } = await fiveEvents();
    const { cursor } = await storage().listEvents({ merchantId: merchant.id, limit: 2 });
    await addDelivery(storage(), merchant.id);
    expect(await events({ merchantId: merchant.id, limit: 2, cursor: cursor! })).toEqual(ids.slice(2, 4));
  });

  test("can be followed forwards, from the oldest event to those written later", async () => {
    const { merchant, ids } = await fiveEvents();
    const query = { merchantId: merchant.id, limit: 2, direction: "newer" } as const;
    const { found, cursor } = await pages(query, "listEvents");
    expect(found.flat()).toEqual(ids.toReversed());
    const { id } = await addDelivery(storage(), merchant.id);
    expect(await events({ ...query, cursor: cursor! })).toEqual([id]);
  });

  test("following forwards misses no event of concurrent transactions", async () => {
    const merchant = await addMerchant(storage());
    const query = { merchantId: merchant.id, limit: 7, direction: "newer" } as const;
    const seen: string[] = [];
    let cursor: string | undefined;
    const writing = concurrently(200, async (index) => {
      for (let turn = 0; turn < index % 5; turn += 1) await new Promise(setImmediate);
      return addDelivery(storage(), merchant.id);
    });
    let isWritten = false;
    void writing.then(() => (isWritten = true));
    for (let last = false; !last;) {
      last = isWritten;
      for (let read = 1; read > 0;) {
        const page = await storage().listEvents({ ...query, ...(cursor === undefined ? {} : { cursor }) });
        seen.push(...page.items.map(({ id }) => id));
        cursor = page.cursor ?? cursor;
        read = page.items.length;
      }
      await new Promise(setImmediate);
    }
    expect(seen.toSorted()).toEqual((await writing).map(({ id }) => id).toSorted());
  });

  test("an event written after a reset follows every earlier cursor", async () => {
    const { merchant } = await fiveEvents();
    const query = { merchantId: merchant.id, limit: 10, direction: "newer" } as const;
    const { cursor } = await storage().listEvents(query);
    await storage().reset(merchant.id);
    while ((await storage().prune(1_000)) > 0);
    const { id } = await addDelivery(storage(), merchant.id);
    expect(await events({ ...query, cursor: cursor! })).toEqual([id]);
  });

  test.each(["nonsense", "", "e", "e0", "e-1", "E1", "e1 ", "'; --", "e".repeat(50)])(
    "refuses the invalid cursor %j",
    async (cursor) => {
      const { merchant } = await fiveEvents();
      const query = { merchantId: merchant.id, limit: 2, cursor };
      await expect(storage().listEvents(query)).rejects.toThrow(InvalidCursorError);
      await expect(storage().listDeliveries(query)).rejects.toThrow(InvalidCursorError);
    },
  );

  test("filters by record", async () => {
    const { merchant } = await fiveEvents();
    const { id, reference } = await addDelivery(storage(), merchant.id);
    const query = { merchantId: merchant.id, limit: 10, reference };
    expect(await events(query)).toEqual([id]);
    expect(await deliveries(query)).toEqual([id]);
    expect(await events({ ...query, reference: "DSBnothing" })).toEqual([]);
  });

  test("filters deliveries by status", async () => {
    const { merchant, withAddress } = await fiveEvents();
    const claimed = (await claimAll(storage())).find(({ event }) => event.id === withAddress[0])!;
    const attempt = { at: START, sentAt: START, latencyMs: 1 };
    await storage().recordAttempt(claimed, attempt, { status: "exhausted", step: 10 });
    const query = { merchantId: merchant.id, limit: 10 };
    expect(await deliveries({ ...query, status: "exhausted" })).toEqual([withAddress[0]]);
    expect(await deliveries({ ...query, status: "pending" })).toEqual(withAddress.slice(1));
    expect(await deliveries({ ...query, status: "ended" })).toEqual([]);
    const { reference } = claimed.event;
    expect(await deliveries({ ...query, status: "exhausted", reference })).toEqual([withAddress[0]]);
    expect(await deliveries({ ...query, status: "pending", reference })).toEqual([]);
  });

  test.each(["older", "newer"] as const)("filters combine with each other and with direction %s", async (direction) => {
    const { merchant, withAddress } = await fiveEvents();
    const { id, reference } = await addDelivery(storage(), merchant.id);
    const newest = [id, ...withAddress];
    const pending = direction === "older" ? newest : newest.toReversed();
    const query = { merchantId: merchant.id, limit: 10, direction };
    expect(await deliveries({ ...query, status: "pending" })).toEqual(pending);
    expect(await deliveries({ ...query, status: "ended" })).toEqual([]);
    expect(await deliveries({ ...query, reference })).toEqual([id]);
    expect(await deliveries({ ...query, reference, status: "pending" })).toEqual([id]);
    expect(await deliveries({ ...query, reference, status: "ended" })).toEqual([]);
    expect(await events({ ...query, reference })).toEqual([id]);
  });

  test("a follower has no cursor before the first event, and keeps its cursor until the next", async () => {
    const merchant = await addMerchant(storage());
    const query = { merchantId: merchant.id, limit: 2, direction: "newer" } as const;
    expect(await storage().listEvents(query)).toEqual({ items: [] });
    await addDelivery(storage(), merchant.id);
    const { cursor } = await storage().listEvents(query);
    expect(cursor).toEqual(expect.any(String));
    expect(await storage().listEvents({ ...query, cursor: cursor! })).toEqual({ items: [], cursor });
  });

  test("keeps merchants apart", async () => {
    const [first, second] = [await fiveEvents(), await fiveEvents()];
    expect(await events({ merchantId: second.merchant.id, limit: 100 })).toEqual(second.ids);
    expect(await storage().findDelivery(second.merchant.id, first.ids[0]!)).toBeUndefined();
    expect(await storage().findDelivery(first.merchant.id, "msg_nothing")).toBeUndefined();
  });
}
