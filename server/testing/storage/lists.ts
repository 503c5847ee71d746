import { describe, expect, test } from "vitest";
import type { Disbursement } from "../../domain/disbursements.ts";
import { InvalidCursorError } from "../../domain/errors.ts";
import type { Page } from "../../domain/pages.ts";
import type { RecordQuery } from "../../domain/records.ts";
import type { Current } from "./current.ts";
import {
  aCheckout,
  addDelivery,
  addMerchant,
  aDisbursement,
  aFinalDisbursement,
  concurrently,
  DAY,
  HOUR,
  MINUTE,
  SECOND,
  START,
} from "./fixtures.ts";

/** Midnight before the test begins. */
const FIRST_DAY = START - (START % DAY);

interface Query {
  merchantId: string;
  limit: number;
  cursor?: string;
  direction?: "older" | "newer";
}
type List = (query: Query) => Promise<Page<{ id: string; reference: string }>>;

/** Lists in pages: of records, events and deliveries. */
export function listTests(storage: Current): void {
  const kinds: Record<string, { list: List; add(merchantId: string): Promise<unknown> }> = {
    disbursements: {
      list: (query) => storage().listDisbursements(query),
      add: (merchantId) => storage().insertDisbursement(aDisbursement(merchantId)),
    },
    checkouts: {
      list: (query) => storage().listCheckouts(query),
      add: (merchantId) => storage().insertCheckout(aCheckout(merchantId)),
    },
    events: { list: (query) => storage().listEvents(query), add: (merchantId) => addDelivery(storage(), merchantId) },
    deliveries: {
      list: (query) => storage().listDeliveries(query),
      add: (merchantId) => addDelivery(storage(), merchantId),
    },
  };
  const idsOf = async (list: List, query: Query) => (await list(query)).items.map(({ id }) => id);
  /** A merchant with six records or events, of which two have the same time, and their ids, newest first. */
  async function six({ list, add }: (typeof kinds)[string]) {
    const { id: merchantId } = await addMerchant(storage());
    for (let made = 0; made < 6; made += 1) {
      await add(merchantId);
      if (made % 2 === 1) storage.clock().advance(SECOND);
    }
    return { merchantId, ids: await idsOf(list, { merchantId, limit: 100 }) };
  }

  describe.each(Object.entries(kinds))("%s", (name, kind) => {
    const { list, add } = kind;

    test("are listed newest first, in pages without a gap or repeat, whatever is added or settled meanwhile", async () => {
      const { merchantId, ids } = await six(kind);
      const { items } = await list({ merchantId, limit: 100 });
      expect(items.map(({ reference }) => reference)).toHaveLength(6);
      for (const limit of [1, 2, 4, 5, 6]) {
        const found: string[][] = [];
        for (let cursor: string | undefined = ""; cursor !== undefined;) {
          const page = await list({ merchantId, limit, ...(cursor && { cursor }) });
          found.push(page.items.map(({ id }) => id));
          ({ cursor } = page);
          if (cursor && found.length === 1) {
            await add(merchantId);
            storage.clock().advance(MINUTE);
            await storage().settleDue(100);
          }
        }
        const before = found.flat().indexOf(ids[0]!);
        expect(found.flat().slice(before)).toEqual(ids);
        expect(found.slice(0, -1).every((page) => page.length === limit)).toBe(true);
        expect(found).toHaveLength(Math.ceil(found.flat().length / limit));
      }
    });

    test("of merchants are apart; cursors of another merchant or list, and invented ones, are refused", async () => {
      const [first, second] = [await six(kind), await six(kind)];
      expect(await idsOf(list, { merchantId: second.merchantId, limit: 100 })).toEqual(second.ids);
      const { cursor } = await list({ merchantId: first.merchantId, limit: 1 });
      const refused: [List, Query][] = [[list, { merchantId: second.merchantId, limit: 1, cursor: cursor! }]];
      for (const invalid of ["nonsense", "", "-", "0", "e", "e-1", "1.1-0000000000000000", "'; --", "é".repeat(50)])
        refused.push([list, { merchantId: first.merchantId, limit: 1, cursor: invalid }]);
      for (const [other, { list: wrong, add: addOther }] of Object.entries(kinds)) {
        if (other === name) continue;
        await addOther(first.merchantId);
        refused.push([wrong, { merchantId: first.merchantId, limit: 1, cursor: cursor! }]);
      }
      for (const [of, query] of refused) await expect(of(query)).rejects.toThrow(InvalidCursorError);
    });

    test("are gone after a reset, with the cursors of records, and new ones are listed", async () => {
      const { merchantId } = await six(kind);
      const { cursor } = await list({ merchantId, limit: 1 });
      await storage().reset(merchantId);
      expect(await list({ merchantId, limit: 1 })).toEqual({ items: [] });
      if (name === "disbursements" || name === "checkouts")
        await expect(list({ merchantId, limit: 1, cursor: cursor! })).rejects.toThrow(InvalidCursorError);
      await add(merchantId);
      expect(await idsOf(list, { merchantId, limit: 10 })).toHaveLength(1);
    });
  });

  test.each(["disbursements", "checkouts"] as const)(
    "every combination of filters of %s finds what meets all",
    async (name) => {
      const { id: merchantId } = await addMerchant(storage());
      for (let made = 0; made < 6; made += 1) {
        if (name === "disbursements") {
          await storage().insertDisbursement((made % 2 === 0 ? aDisbursement : aFinalDisbursement)(merchantId));
        } else {
          const { record } = await storage().insertCheckout(aCheckout(merchantId));
          if (made % 2 === 1) await storage().finishCheckout(record.reference, "success");
        }
        if (made % 2 === 1) storage.clock().advance(SECOND);
      }
      const list = async (query: Partial<RecordQuery>) =>
        name === "disbursements"
          ? (await storage().listDisbursements({ merchantId, limit: 10, ...query } as never)).items
          : (await storage().listCheckouts({ merchantId, limit: 10, ...query } as never)).items;
      const all = await list({});
      for (const status of [undefined, "success", "pending", "failed"] as const)
        for (const merchantsReference of [
          undefined,
          all[1]!.merchantsReference,
          all[0]!.merchantsReference.toUpperCase(),
        ])
          for (const createdAfter of [undefined, START + SECOND, START + SECOND + 1])
            for (const createdBefore of [undefined, START + SECOND, START]) {
              const given = Object.entries({ status, merchantsReference, createdAfter, createdBefore });
              const query = Object.fromEntries(
                given.filter(([, value]) => value !== undefined),
              ) as Partial<RecordQuery>;
              const expected = all.filter(
                (each) =>
                  (status ?? each.status) === each.status &&
                  (merchantsReference ?? each.merchantsReference) === each.merchantsReference &&
                  each.createdAt >= (createdAfter ?? 0) &&
                  each.createdAt < (createdBefore ?? Infinity),
              );
              expect([query, await list(query)]).toEqual([query, expected]);
            }
    },
  );

  test.each(["events", "deliveries"])("%s can be followed forwards, also those written after a reset", async (name) => {
    const kind = kinds[name]!;
    const { merchantId, ids } = await six(kind);
    const query = { merchantId, limit: 6, direction: "newer" } as const;
    const { items, cursor } = await kind.list(query);
    expect(items.map(({ id }) => id)).toEqual(ids.toReversed());
    await storage().reset(merchantId);
    while ((await storage().prune(1_000)) > 0);
    const { id, reference } = await addDelivery(storage(), merchantId);
    expect(await idsOf(kind.list, { ...query, cursor: cursor! })).toEqual([id]);
    for (const direction of ["older", "newer"] as const) {
      expect(await idsOf(kind.list, { ...query, direction, reference } as Query)).toEqual([id]);
      expect(await idsOf(kind.list, { ...query, direction, reference: "DSBnothing" } as Query)).toEqual([]);
    }
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

  test("a follower has no cursor before the first event, and keeps its cursor until the next", async () => {
    const merchant = await addMerchant(storage());
    const query = { merchantId: merchant.id, limit: 2, direction: "newer" } as const;
    expect(await storage().listEvents(query)).toEqual({ items: [] });
    await addDelivery(storage(), merchant.id);
    const { cursor } = await storage().listEvents(query);
    expect(cursor).toEqual(expect.any(String));
    expect(await storage().listEvents({ ...query, cursor: cursor! })).toEqual({ items: [], cursor });
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

  test("finds disbursements by phone number across days, whatever the page and the period", async () => {
    const { id: merchantId } = await addMerchant(storage());
    const phoneNumber = "2250700000003";
    const times = new Map<string, number>();
    // Several records of the same millisecond, the first and the last millisecond of a day, and days without records.
    for (const day of [1, 2, 4, 5, 8]) {
      for (const at of [0, HOUR, HOUR, HOUR, HOUR + 1, HOUR + 1, HOUR + 1, DAY - 1]) {
        storage.clock().advance(FIRST_DAY + day * DAY + at - storage.clock().now());
        await storage().insertDisbursement(aDisbursement(merchantId));
        const draft = times.size % 3 === 0 ? aFinalDisbursement : aDisbursement;
        const { record } = await storage().insertDisbursement(draft(merchantId, { customer: { phoneNumber } }));
        times.set(record.reference, storage.clock().now());
      }
    }
    // Another merchant's records are on days on which this merchant has none.
    const other = await addMerchant(storage());
    storage.clock().advance(2 * DAY);
    await storage().insertDisbursement(aDisbursement(other.id, { customer: { phoneNumber } }));
    const all = (await storage().listDisbursements({ merchantId, limit: 100 })).items;
    const ofPhone = all.filter(({ reference }) => times.has(reference));
    expect(ofPhone).toHaveLength(40);
    for (const status of [undefined, "success", "failed"] as const) {
      for (const createdAfter of [undefined, FIRST_DAY + 2 * DAY, FIRST_DAY + 2 * DAY + HOUR + 1]) {
        for (const createdBefore of [undefined, FIRST_DAY + 5 * DAY, FIRST_DAY + 5 * DAY + HOUR + 1]) {
          const filter = Object.entries({ status, createdAfter, createdBefore }).filter(
            ([, value]) => value !== undefined,
          );
          const query = { merchantId, phoneNumber, ...(Object.fromEntries(filter) as Partial<RecordQuery<"success">>) };
          const expected = ofPhone.filter(
            (each) =>
              (status ?? each.status) === each.status &&
              each.createdAt >= (createdAfter ?? 0) &&
              each.createdAt < (createdBefore ?? Infinity),
          );
          for (const limit of [3, 8, 100]) {
            const pages: Disbursement[][] = [];
            for (let cursor: string | undefined = ""; cursor !== undefined;) {
              const page = await storage().listDisbursements({ ...query, limit, ...(cursor && { cursor }) });
              pages.push(page.items);
              ({ cursor } = page);
            }
            expect(pages.flat()).toEqual(expected);
            expect(pages).toHaveLength(Math.max(1, Math.ceil(expected.length / limit)));
          }
        }
      }
    }
    const found = await storage().searchPayments({ text: "x", phoneNumber, limit: 100 });
    expect(found.map(({ createdAt }) => createdAt)).toEqual([
      storage.clock().now(),
      ...[...times.values()].toReversed(),
    ]);
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
