import { expect, test } from "vitest";
import type { DeliverySearch, DeliveryStatus, PageQuery } from "../../domain/deliveries.ts";
import type { Current } from "./current.ts";
import {
  addDelivery,
  addMerchant,
  aDisbursement,
  attempted,
  concurrently,
  HOUR,
  LATEST,
  MINUTE,
  START,
} from "./fixtures.ts";

const HOSTS = ["a.example", "b.example:8443"] as const;

export function searchTests(storage: Current): void {
  const found = async (query: DeliverySearch & Partial<PageQuery> & { merchantId: string }) =>
    (await storage().listDeliveries({ limit: 100, ...query })).items.map(({ id }) => id);

  test.each(["older", "newer"] as const)("every combination of filters finds what meets all, %s", async (direction) => {
    const { id: merchantId } = await addMerchant(storage());
    const made: { id: string; host: string; type: string; status: DeliveryStatus; at: number }[] = [];
    for (const [index, status] of (["delivered", "ended", "exhausted", "pending"] as const).entries()) {
      for (const host of HOSTS) {
        for (const final of ["success", "failed"] as const) {
          const { id } = await attempted(storage(), merchantId, status, {
            status: final,
            webhookURL: `https://${host}/`,
          });
          const type = final === "success" ? "disbursement.completed" : "disbursement.failed";
          made.push({ id, host, type, status, at: START + index * MINUTE });
        }
      }
      storage.clock().advance(MINUTE);
    }
    const order = direction === "older" ? made.toReversed() : made;
    for (const status of [undefined, "failed", "ended", "delivered", "pending"] as const) {
      for (const host of [undefined, HOSTS[1], "c.example"]) {
        for (const type of [undefined, "disbursement.failed"] as const) {
          for (const [from, to] of [
            [],
            [START + MINUTE],
            [undefined, START + 2 * MINUTE],
            [START + 1, START + MINUTE],
          ]) {
            const expected = order.filter(
              (each) =>
                (status === undefined ||
                  (status === "failed" ? ["ended", "exhausted"].includes(each.status) : each.status === status)) &&
                (host ?? each.host) === each.host &&
                (type ?? each.type) === each.type &&
                each.at >= (from ?? 0) &&
                each.at < (to ?? Infinity),
            );
            const search = Object.fromEntries(
              Object.entries({ status, host, type, createdAfter: from, createdBefore: to }).filter(
                ([, value]) => value,
              ),
            ) as DeliverySearch;
            expect([search, await found({ merchantId, direction, ...search })]).toEqual([
              search,
              expected.map(({ id }) => id),
            ]);
          }
        }
      }
    }
  });

  test("finds the events of a period whichever it is, and pages through them", async () => {
    const { id: merchantId } = await addMerchant(storage());
    const other = await addMerchant(storage());
    const made: { id: string; at: number }[] = [];
    for (let index = 0; index < 40; index += 1) {
      // Some events have the same time, and other merchants' events are in between.
      if (index % 3 > 0) storage.clock().advance(1 + (index % 5));
      made.unshift({ id: (await addDelivery(storage(), merchantId)).id, at: storage.clock().now() });
      if (index % 4 === 0) await addDelivery(storage(), other.id);
    }
    const end = storage.clock().now() + 2;
    for (let from = START - 1; from <= end; from += 7) {
      for (let to = from; to <= end; to += 11) {
        const expected = made.filter(({ at }) => at >= from && at < to).map(({ id }) => id);
        expect(await found({ merchantId, createdAfter: from, createdBefore: to })).toEqual(expected);
      }
    }
    const period = { merchantId, createdAfter: made[30]!.at, createdBefore: made[5]!.at, limit: 7 };
    const pages: string[] = [];
    for (let cursor: string | undefined = ""; cursor !== undefined;) {
      const page = await storage().listDeliveries({ ...period, ...(cursor && { cursor }) });
      pages.push(...page.items.map(({ id }) => id));
      cursor = page.cursor;
    }
    expect(pages).toEqual(await found({ ...period, limit: 100 }));
  });

  test("finds the events of a period whose time a move of the clock has skipped, although later ones precede them", async () => {
    const { id: merchantId } = await addMerchant(storage());
    const { record } = await storage().insertDisbursement(
      aDisbursement(merchantId, { webhookURL: "https://a.example/", due: { afterMs: MINUTE, status: "success" } }),
    );
    await storage().moveClock(merchantId, { by: HOUR }, LATEST);
    const later = await addDelivery(storage(), merchantId);
    expect(await storage().settleDue(10)).toBe(1);
    const references = async (search: DeliverySearch) =>
      (await storage().listDeliveries({ merchantId, limit: 10, ...search })).items.map(({ reference }) => reference);
    expect(await references({ createdBefore: START + HOUR })).toEqual([record.reference]);
    expect(await references({ createdAfter: START + HOUR })).toEqual([later.reference]);
  });

  test("a page looks at a bounded number of deliveries, and says how far it got", async () => {
    const { id: merchantId } = await addMerchant(storage());
    const rare = await addDelivery(storage(), merchantId, { webhookURL: "https://rare.example/" });
    storage.clock().advance(MINUTE);
    for (let made = 0; made < 2_000; made += 500) await concurrently(500, () => addDelivery(storage(), merchantId));
    const query = { merchantId, host: "rare.example", limit: 10 };
    const first = await storage().listDeliveries(query);
    expect(first).toEqual({ items: [], cursor: expect.any(String), searchedTo: START + MINUTE });
    const second = await storage().listDeliveries({ ...query, cursor: first.cursor! });
    expect(second).toEqual({ items: [expect.objectContaining({ id: rare.id })] });
    const forwards = await storage().listDeliveries({ ...query, host: "merchant.example", direction: "newer" });
    expect(forwards).toMatchObject({ items: { length: 10 }, cursor: expect.any(String) });
    // An index has exactly these rows, so that the search reads no other rows.
    expect(await storage().listDeliveries({ ...query, status: "failed" })).toEqual({ items: [] });
    // Counting takes several reads.
    expect(await storage().countDeliveries(merchantId, { host: "rare.example" })).toEqual({
      count: 0,
      isExact: true,
      hosts: [],
    });
  });
}
