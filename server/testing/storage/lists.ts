import { describe, expect, test } from "vitest";
import { InvalidCursorError } from "../../domain/errors.ts";
import type { Page } from "../../domain/pages.ts";
import { ACTOR, ADA, aRequest, concurrently, KOFI, pagesOf, type Current } from "./fixtures.ts";
import { DAY, HOUR, MINUTE, SECOND, START } from "../times.ts";

/** Midnight before the test begins. */
const FIRST_DAY = START - (START % DAY);
const PHONE = "2250700000001";
const to = (phoneNumber: string) => ({ customer: { phoneNumber } });
const [id, other] = [ADA, KOFI];

type Item = Record<string, any>;
type Query = Record<string, any>;
type List = (query: any) => Promise<Page<Item>>;
interface Listed {
  list: List;
  /** Adds an item to a merchant's list. */
  add(merchantId: string): Promise<unknown>;
  /** Adds items in which the values of filters differ. */
  fill?(): Promise<unknown>;
  filters?: Query;
}

/** Whether an item meets a condition of these names; of any other name, it has the same value. */
const CONDITIONS: Record<string, (item: Item, asked: any) => boolean> = {
  createdAfter: ({ createdAt }, time) => createdAt >= time,
  createdBefore: ({ createdAt }, time) => createdAt < time,
  phoneNumber: ({ customer }, number) => customer?.phoneNumber === number,
  status: ({ status }, asked) => status === asked || (asked === "failed" && /ended|exhausted/.test(status)),
  host: ({ url }, host) => new URL(url).host === host,
  statusClass: ({ status = 0 }, hundreds) => Math.floor(status / 100) === hundreds,
  reference: ({ reference, merchantsReference }, asked) => [reference, merchantsReference].includes(asked),
};
const idOf = (item: Item): string => item.id ?? item.requestId;
const meets = (item: Item, query: Query) =>
  Object.entries(query).every(([name, asked]) => CONDITIONS[name]?.(item, asked) ?? item[name] === asked);

/** Every combination of these values, of which each may also be absent. */
const combinations = (values: Query): Query[] =>
  Object.entries(values).reduce<Query[]>(
    (found, [name, of]) => found.flatMap((some) => [some, ...of.map((value: unknown) => ({ ...some, [name]: value }))]),
    [{}],
  );

/** Expects that each query finds, in pages of each size, which of all items meet it. Returns all items. */
async function expectFiltered(list: List, queries: readonly Query[], limits = [100]): Promise<Item[]> {
  const all = (await list({ merchantId: id, limit: 100 })).items;
  for (const query of queries)
    for (const limit of limits) {
      const pages = await pagesOf((of) => list({ merchantId: id, limit, ...query, ...of }));
      const expected = all.filter((item) => meets(item, query));
      expect([query, pages.flat()]).toEqual([query, expected]);
      expect(pages).toHaveLength(Math.max(1, Math.ceil(expected.length / limit)));
    }
  return all;
}

/** Lists in pages: of records, events, deliveries and requests. */
export function listTests(current: Current): void {
  const { storage, now, pass, payout, finalPayout, checkout, delivery, attempted, settleAll } = current;

  const records = (list: List, add: typeof payout | typeof checkout, addFinal: typeof add): Listed => ({
    list,
    add,
    async fill() {
      for (const merchantsReference of ["first", "second", "third"]) {
        await add(id, { merchantsReference });
        await addFinal(id);
        pass(SECOND);
      }
    },
    filters: {
      status: ["success", "pending", "failed"],
      merchantsReference: ["second", "SECOND"],
      createdAfter: [START + SECOND, START + SECOND + 1],
      createdBefore: [START + SECOND, START],
    },
  });
  async function finalCheckout(merchantId: string) {
    const record = await checkout(merchantId);
    await storage.finishCheckout(record.reference, "success");
    return record;
  }
  const request = (changes = {}, of = id) => storage.insertRequests([aRequest(of, changes)]);
  const LISTS: Record<string, Listed> = {
    disbursements: records((query) => storage.listDisbursements(query), payout, finalPayout),
    checkouts: records((query) => storage.listCheckouts(query), checkout, finalCheckout),
    events: { list: (query) => storage.listEvents(query), add: delivery },
    deliveries: {
      list: (query) => storage.listDeliveries(query),
      add: delivery,
      async fill() {
        for (const made of ["delivered", "ended", "exhausted", "pending"] as const) {
          for (const host of ["a.example", "b.example:8443"])
            for (const status of ["success", "failed"] as const)
              await attempted(id, made, { status, webhookURL: `https://${host}/` });
          await delivery(other);
          pass(MINUTE);
        }
      },
      filters: {
        status: ["failed", "ended", "delivered", "pending"],
        host: ["b.example:8443", "c.example"],
        type: ["disbursement.failed"],
        createdAfter: [START + 1, START + MINUTE],
        createdBefore: [START + MINUTE, START + 2 * MINUTE],
      },
    },
    requests: {
      list: (query) => storage.listRequests(query),
      add: (merchantId) => request({}, merchantId),
      async fill() {
        const create = { operation: "createDisbursement", merchantsReference: "order-7" };
        await request({ ...create, reference: "DSB7" });
        await request({ ...create, requestId: "req_7", status: 422 });
        // The connection was lost before the response.
        await request({ status: undefined, reference: "DSB7" });
      },
      filters: {
        statusClass: [0, 2, 4],
        operation: ["createDisbursement"],
        reference: ["DSB7", "order-7", "order"],
        requestId: ["req_7"],
      },
    },
  };

  describe.each(Object.entries(LISTS))("of %s", (name, { list, add, fill, filters = {} }) => {
    test("is newest first, without a gap or repeat, whatever is added or settled, until a reset", async () => {
      // Each two have the same time.
      for (let made = 0; made < 6; made += 1) {
        await add(id);
        if (made % 2 === 1) pass(SECOND);
      }
      await add(other);
      const ids = (await list({ merchantId: id, limit: 100 })).items.map(idOf);
      expect(ids).toHaveLength(6);
      for (const limit of [1, 2, 4, 5, 6]) {
        const pages = await pagesOf(
          (of) => list({ merchantId: id, limit, ...of }),
          async () => {
            await add(id);
            pass(MINUTE);
            await settleAll();
          },
        );
        const found = pages.flat().map(idOf);
        expect(found.slice(found.indexOf(ids[0]!))).toEqual(ids);
        expect(pages).toHaveLength(Math.ceil(found.length / limit));
      }
      const { cursor } = await list({ merchantId: id, limit: 1 });
      await expect(list({ merchantId: other, limit: 1, cursor })).rejects.toThrow(InvalidCursorError);
      if (name === "requests") return;
      await storage.reset(id, ACTOR);
      expect(await list({ merchantId: id, limit: 1 })).toEqual({ items: [] });
    });

    if (!fill) return;
    test("is filtered by every combination of its filters", async () => {
      await fill();
      const all = await expectFiltered(list, combinations(filters), [3, 100]);
      expect(all.length).toBeGreaterThan(2);
    });
  });

  test("no event appears behind one that a reader has seen, whatever is written meanwhile (D42)", async () => {
    const seen: string[] = [];
    let isWritten = false;
    const writing = concurrently(200, async (index) => {
      for (let turn = 0; turn < index % 5; turn += 1) await new Promise(setImmediate);
      return delivery(id);
    }).finally(() => (isWritten = true));
    for (let last = false; !last;) {
      last = isWritten;
      // Reads back from the newest event to the last one that it has seen.
      const found: string[] = [];
      for (let cursor: string | undefined = ""; cursor !== undefined;) {
        const page = await storage.listEvents({ merchantId: id, limit: 7, ...(cursor && { cursor }) });
        const known = page.items.findIndex((event) => event.id === seen.at(-1));
        found.push(...page.items.slice(0, known === -1 ? undefined : known).map((event) => event.id));
        cursor = known === -1 ? page.cursor : undefined;
      }
      seen.push(...found.toReversed());
      await new Promise(setImmediate);
    }
    const written = (await writing).map((each) => each.id);
    expect(seen.toSorted()).toEqual(written.toSorted());
    const listed = await pagesOf((of) => storage.listEvents({ merchantId: id, limit: 100, ...of }));
    expect(listed.flat().map((event) => event.id)).toEqual(seen.toReversed());
  });

  test("of payments by phone number goes across days, whatever the page and the period", async () => {
    const times: number[] = [];
    // Several records of the same millisecond, the first and the last millisecond of a day, and days without records.
    for (const day of [1, 2, 4, 5, 8]) {
      for (const at of [0, HOUR, HOUR, HOUR, HOUR + 1, HOUR + 1, HOUR + 1, DAY - 1]) {
        pass(FIRST_DAY + day * DAY + at - now());
        await payout(id);
        await (times.length % 3 === 0 ? finalPayout : payout)(id, to(PHONE));
        times.push(now());
      }
    }
    // Another merchant's records are on days on which this merchant has none.
    pass(2 * DAY);
    const shared = await payout(other, { ...to(PHONE), merchantsReference: "either 7" });
    const queries = combinations({
      status: ["success", "failed"],
      createdAfter: [FIRST_DAY + 2 * DAY, FIRST_DAY + 2 * DAY + HOUR + 1],
      createdBefore: [FIRST_DAY + 5 * DAY, FIRST_DAY + 5 * DAY + HOUR + 1],
    });
    const ofPhone = [PHONE, PHONE.slice(0, -1)].flatMap((phoneNumber) => queries.map((of) => ({ phoneNumber, ...of })));
    const all = await expectFiltered(LISTS.disbursements!.list, ofPhone, [3, 8, 100]);
    expect(all).toHaveLength(80);

    const { reference } = await checkout(id, { merchantsReference: "either 7" });
    await storage.payCheckout(reference, PHONE, undefined);
    await checkout(id);
    await expectFiltered(LISTS.checkouts!.list, combinations({ phoneNumber: [PHONE], status: ["success"] }));
    const found = await storage.searchPayments({ text: "x", phoneNumber: PHONE, limit: 100 });
    expect(found.map(({ createdAt }) => createdAt)).toEqual([now(), now(), ...times.toReversed()]);
    const foundBy = async (text: string) =>
      new Set((await storage.searchPayments({ text, limit: 9 })).map((each) => each.reference));
    expect(await foundBy("either 7")).toEqual(new Set([shared.reference, reference]));
    expect(await foundBy(reference)).toEqual(new Set([reference]));
    for (const text of ["", "\0", "either"]) expect(await foundBy(text)).toEqual(new Set());
  });

  test("of the deliveries of a period whose time a move of the clock has skipped finds them behind later ones", async () => {
    const webhookURL = "https://a.example/";
    const { reference } = await payout(id, { webhookURL, due: { afterMs: MINUTE, status: "success" } });
    await storage.moveClock(id, { by: HOUR }, ACTOR);
    await delivery(id);
    expect(await storage.settleDue(10)).toBe(1);
    const hour = START + HOUR;
    const all = await expectFiltered(LISTS.deliveries!.list, [{ createdBefore: hour }, { createdAfter: hour }]);
    const found = all.map((item) => `${item.reference === reference} ${item.createdAt < hour}`);
    expect(found).toEqual(["true true", "false false"]);
  });

  test("of deliveries looks at a bounded number for a page, and says how far it got", async () => {
    const rare = await delivery(id, { webhookURL: "https://rare.example/" });
    pass(MINUTE);
    for (let made = 0; made < 2_000; made += 500) await concurrently(500, () => delivery(id));
    const query = { merchantId: id, host: "rare.example", limit: 10 };
    const first = await storage.listDeliveries(query);
    expect(first).toEqual({ items: [], cursor: expect.any(String), searchedTo: START + MINUTE });
    const second = await storage.listDeliveries({ ...query, cursor: first.cursor! });
    expect(second).toEqual({ items: [expect.objectContaining({ id: rare.id })] });
    // An index has exactly these rows, so that the search reads no other rows.
    expect(await storage.listDeliveries({ ...query, status: "failed" })).toEqual({ items: [] });
    // Counting takes several reads.
    expect(await storage.countDeliveries(id, { host: "rare.example" })).toEqual({ count: 0, hosts: [] });
  });
}
