import { describe, expect, test } from "vitest";
import { InvalidCursorError } from "../../domain/errors.ts";
import type { Page } from "../../domain/pages.ts";
import type { RecordQuery } from "../../domain/records.ts";
import type { Current } from "./current.ts";
import { aCheckout, addDelivery, addMerchant, aDisbursement, aFinalDisbursement, MINUTE, SECOND } from "./fixtures.ts";

type Listed = { reference: string; merchantsReference: string; status: string };

export function recordListTests(storage: Current): void {
  const kinds = {
    disbursements: {
      list: (query: RecordQuery): Promise<Page<Listed>> => storage().listDisbursements(query as never),
      async add(merchantId: string) {
        return (await storage().insertDisbursement(aDisbursement(merchantId))).record;
      },
      /** Adds a record with the status `success`. */
      async addFinal(merchantId: string) {
        return (await storage().insertDisbursement(aFinalDisbursement(merchantId))).record;
      },
    },
    checkouts: {
      list: (query: RecordQuery): Promise<Page<Listed>> => storage().listCheckouts(query as never),
      async add(merchantId: string) {
        return (await storage().insertCheckout(aCheckout(merchantId))).record;
      },
      async addFinal(merchantId: string) {
        const { record } = await storage().insertCheckout(aCheckout(merchantId));
        await storage().finishCheckout(record.reference, "success");
        return record;
      },
    },
  };

  describe.each(Object.entries(kinds))("%s", (kind, { list, add, addFinal }) => {
    /**
     * Adds a merchant with six records and lists them newest first. Each second gets two records. The later record has
     * a final status.
     */
    async function sixRecords() {
      const { id } = await addMerchant(storage());
      const all: string[] = [];
      const times: number[] = [];
      for (let pair = 0; pair < 3; pair += 1) {
        times.push(storage.clock().now());
        all.unshift((await add(id)).reference);
        all.unshift((await addFinal(id)).reference);
        storage.clock().advance(SECOND);
      }
      return { id, all, times, final: [0, 2, 4].map((index) => all[index]!) };
    }
    const references = async (query: RecordQuery) => (await list(query)).items.map(({ reference }) => reference);

    async function pages(query: RecordQuery, between?: () => Promise<unknown>) {
      const found: string[][] = [];
      for (let cursor: string | undefined; ;) {
        const page = await list({ ...query, ...(cursor === undefined ? {} : { cursor }) });
        found.push(page.items.map(({ reference }) => reference));
        ({ cursor } = page);
        if (cursor === undefined || found.length > 20) return found;
        await between?.();
      }
    }

    test("lists newest first, with records of the same millisecond in the order of insertion", async () => {
      const { id, all } = await sixRecords();
      expect(await references({ merchantId: id, limit: 100 })).toEqual(all);
    });

    test("shows each record as the look-up by reference does", async () => {
      const { id } = await addMerchant(storage());
      const record = await add(id);
      expect(await list({ merchantId: id, limit: 1 })).toEqual({ items: [record] });
    });

    test.each([1, 2, 4, 5])("pages of %i have no gap and no repeat, and the last has no cursor", async (limit) => {
      const { id, all } = await sixRecords();
      const found = await pages({ merchantId: id, limit });
      expect(found.flat()).toEqual(all);
      expect(found.slice(0, -1).every((page) => page.length === limit)).toBe(true);
      expect(found).toHaveLength(Math.ceil(all.length / limit));
    });

    test("a page that holds the last record has no cursor", async () => {
      const { id } = await sixRecords();
      expect((await list({ merchantId: id, limit: 6 })).cursor).toBeUndefined();
      expect((await list({ merchantId: id, limit: 5 })).cursor).toEqual(expect.any(String));
    });

    test("records that are added or settled meanwhile do not change the following pages", async () => {
      const { id, all } = await sixRecords();
      const found = await pages({ merchantId: id, limit: 2 }, async () => {
        await add(id);
        storage.clock().advance(MINUTE);
        await storage().settleDue(100);
      });
      expect(found.flat()).toEqual(all);
    });

    test("filters by status, by merchant's reference, and by both", async () => {
      const { id, all, final } = await sixRecords();
      const query = { merchantId: id, limit: 2 };
      expect(await pages({ ...query, status: "success" })).toEqual([final.slice(0, 2), final.slice(2)]);
      expect(await references({ ...query, status: "failed" })).toEqual([]);
      const [newest] = (await list(query)).items;
      const { merchantsReference } = newest!;
      expect(await references({ ...query, merchantsReference })).toEqual([all[0]]);
      expect(await references({ ...query, merchantsReference, status: "success" })).toEqual([all[0]]);
      expect(await references({ ...query, merchantsReference, status: "pending" })).toEqual([]);
      expect(await references({ ...query, merchantsReference: merchantsReference.toUpperCase() })).toEqual([]);
    });

    test("createdAfter includes its time and createdBefore excludes it", async () => {
      const { id, all, times } = await sixRecords();
      const query = { merchantId: id, limit: 100 };
      const [first, second, third] = times as [number, number, number];
      expect(await references({ ...query, createdAfter: second })).toEqual(all.slice(0, 4));
      expect(await references({ ...query, createdBefore: second })).toEqual(all.slice(4));
      expect(await references({ ...query, createdAfter: second, createdBefore: third })).toEqual(all.slice(2, 4));
      expect(await references({ ...query, createdAfter: third + 1 })).toEqual([]);
      expect(await references({ ...query, createdBefore: first })).toEqual([]);
      expect(await pages({ ...query, limit: 1, createdAfter: second, createdBefore: third })).toEqual([
        [all[2]],
        [all[3]],
      ]);
    });

    test("merchants are apart, and a cursor of another merchant is refused", async () => {
      const [first, second] = [await sixRecords(), await sixRecords()];
      expect(await references({ merchantId: second.id, limit: 100 })).toEqual(second.all);
      const { cursor } = await list({ merchantId: first.id, limit: 1 });
      const foreign = list({ merchantId: second.id, limit: 1, cursor: cursor! });
      await expect(foreign).rejects.toThrow(InvalidCursorError);
    });

    test("a cursor of another list is refused", async () => {
      const { id } = await sixRecords();
      for (let count = 0; count < 2; count += 1) await addDelivery(storage(), id);
      const other = kinds[kind === "checkouts" ? "disbursements" : "checkouts"];
      for (let count = 0; count < 2; count += 1) await other.add(id);
      const query = { merchantId: id, limit: 1 };
      const cursors = await Promise.all([
        other.list(query),
        storage().listEvents(query),
        storage().listDeliveries(query),
      ]);
      for (const { cursor } of cursors) {
        await expect(list({ ...query, cursor: cursor! })).rejects.toThrow(InvalidCursorError);
      }
      const { cursor } = await list(query);
      await expect(storage().listEvents({ ...query, cursor: cursor! })).rejects.toThrow(InvalidCursorError);
    });

    test.each(["nonsense", "", "-", "0", "1.1-0000000000000000", "e1", "'; --", "é".repeat(50)])(
      "refuses the invalid cursor %j",
      async (cursor) => {
        const { id } = await sixRecords();
        await expect(list({ merchantId: id, limit: 2, cursor })).rejects.toThrow(InvalidCursorError);
      },
    );

    test("a reset empties the list and ends its cursors", async () => {
      const { id } = await sixRecords();
      const { cursor } = await list({ merchantId: id, limit: 1 });
      await storage().reset(id);
      expect(await list({ merchantId: id, limit: 1 })).toEqual({ items: [] });
      await expect(list({ merchantId: id, limit: 1, cursor: cursor! })).rejects.toThrow(InvalidCursorError);
      const { reference } = await add(id);
      expect(await references({ merchantId: id, limit: 10 })).toEqual([reference]);
    });
  });

  test("a cursor of events is refused for deliveries and for another merchant", async () => {
    const merchant = await addMerchant(storage());
    for (let count = 0; count < 2; count += 1) await addDelivery(storage(), merchant.id);
    const query = { merchantId: merchant.id, limit: 1 };
    const { cursor } = await storage().listEvents(query);
    await expect(storage().listDeliveries({ ...query, cursor: cursor! })).rejects.toThrow(InvalidCursorError);
    const other = await addMerchant(storage());
    const foreign = storage().listEvents({ merchantId: other.id, limit: 1, cursor: cursor! });
    await expect(foreign).rejects.toThrow(InvalidCursorError);
  });

  test("finds disbursements by phone number, of one status or all, in pages", async () => {
    const { id } = await addMerchant(storage());
    const { id: other } = await addMerchant(storage());
    const add = async (merchantId: string, phoneNumber: string, make = aDisbursement) => {
      storage.clock().advance(SECOND);
      const customer = { phoneNumber };
      const { record } = await storage().insertDisbursement(make(merchantId, { customer }));
      return record.reference;
    };
    await add(other, "2250700000001");
    const first = await add(id, "2250700000001");
    const final = await add(id, "2250700000001", aFinalDisbursement);
    await add(id, "2250700000002");
    const last = await add(id, "2250700000001");
    const query = { merchantId: id, phoneNumber: "2250700000001", limit: 2 };
    const page = await storage().listDisbursements(query);
    expect(page.items.map(({ reference }) => reference)).toEqual([last, final]);
    const next = await storage().listDisbursements({ ...query, cursor: page.cursor! });
    expect(next.items.map(({ reference }) => reference)).toEqual([first]);
    expect(next).not.toHaveProperty("cursor");
    const pending = await storage().listDisbursements({ ...query, status: "pending" });
    expect(pending.items.map(({ reference }) => reference)).toEqual([last, first]);
    expect((await storage().listDisbursements({ ...query, phoneNumber: "225070000000" })).items).toEqual([]);
  });

  test("finds checkouts by the payer's phone number", async () => {
    const { id } = await addMerchant(storage());
    const paid = aCheckout(id);
    for (const draft of [paid, aCheckout(id)]) await storage().insertCheckout(draft);
    await storage().payCheckout(paid.reference, "2250700000001", undefined);
    const query = { merchantId: id, phoneNumber: "2250700000001", limit: 2 };
    expect((await storage().listCheckouts(query)).items).toMatchObject([{ reference: paid.reference }]);
    expect((await storage().listCheckouts({ ...query, status: "success" })).items).toEqual([]);
  });

  test("finds the payments of all merchants by either reference and by phone number, newest first", async () => {
    const [one, two] = [await addMerchant(storage()), await addMerchant(storage())];
    const shared = { merchantsReference: "either 7" };
    const { record: paid } = await storage().insertDisbursement(aDisbursement(one.id, shared));
    storage.clock().advance(MINUTE);
    const { record: order } = await storage().insertCheckout(aCheckout(two.id, shared));
    const found = async (text: string, more: { phoneNumber?: string; limit?: number } = {}) =>
      (await storage().searchPayments({ text, limit: 10, ...more })).map(({ reference }) => reference);
    expect(await found("either 7")).toEqual([order.reference, paid.reference]);
    expect(await found(paid.reference)).toEqual([paid.reference]);
    await storage().payCheckout(order.reference, "2250711223344", { afterMs: 0, status: "success" });
    const third = aDisbursement(one.id, { customer: { phoneNumber: "2250711223344" } });
    await storage().insertDisbursement(third);
    expect((await found("x", { phoneNumber: "2250711223344" })).toSorted()).toEqual(
      [third.reference, order.reference].toSorted(),
    );
    for (const text of ["", "\0", "either"]) expect(await found(text)).toEqual([]);
    await storage().reset(one.id);
    expect(await found("either 7")).toEqual([order.reference]);
  });
}
