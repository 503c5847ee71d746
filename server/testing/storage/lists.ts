import { expect, test } from "vitest";
import type { Checkout, Disbursement, RecordQuery } from "../../domain/records.ts";
import type { DeliverySearch, DeliveryStatus } from "../../domain/deliveries.ts";
import { InvalidCursorError } from "../../domain/errors.ts";
import type { Page } from "../../domain/pages.ts";
import {
  ADA,
  combinations,
  concurrently,
  DAY,
  HOUR,
  KOFI,
  LATEST,
  MINUTE,
  pagesOf,
  SECOND,
  START,
  type Current,
} from "./fixtures.ts";

/** Midnight before the test begins. */
const FIRST_DAY = START - (START % DAY);
const PHONE = "2250700000001";
const to = (phoneNumber: string) => ({ customer: { phoneNumber } });

interface Period {
  createdAfter?: number;
  createdBefore?: number;
}
const isWithin = (at: number, { createdAfter = 0, createdBefore = Infinity }: Period) =>
  at >= createdAfter && at < createdBefore;

/** Expects that each query finds, of all, what meets it. */
async function filtersShow<Query, T>(
  queries: readonly Partial<Query>[],
  list: (query: Partial<Query>) => Promise<T[]>,
  meets: (each: T, query: Partial<Query>) => boolean,
): Promise<void> {
  const all = await list({});
  for (const query of queries)
    expect([query, await list(query)]).toEqual([query, all.filter((each) => meets(each, query))]);
}

type List = (query: {
  merchantId: string;
  limit: number;
  cursor?: string;
}) => Promise<Page<{ id: string; reference: string }>>;

/** Lists in pages: of records, events and deliveries. */
export function listTests(current: Current): void {
  const { storage, now, pass, payout, finalPayout, checkout, delivery, settleAll } = current;
  const [id, other] = [ADA, KOFI];

  test.each<[string, List, (merchantId: string) => Promise<unknown>]>([
    ["disbursements", (query) => storage.listDisbursements(query), payout],
    ["checkouts", (query) => storage.listCheckouts(query), checkout],
    ["events", (query) => storage.listEvents(query), delivery],
    ["deliveries", (query) => storage.listDeliveries(query), delivery],
  ])(
    "%s are listed newest first, without a gap or repeat, whatever is added or settled, until a reset",
    async (name, list, add) => {
      // Each two have the same time.
      for (let made = 0; made < 6; made += 1) {
        await add(id);
        if (made % 2 === 1) pass(SECOND);
      }
      await add(other);
      const ids = (await list({ merchantId: id, limit: 100 })).items.map((item) => item.id);
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
        const found = pages.flat().map((item) => item.id);
        expect(found.slice(found.indexOf(ids[0]!))).toEqual(ids);
        expect(pages).toHaveLength(Math.ceil(found.length / limit));
      }
      const { cursor } = await list({ merchantId: id, limit: 1 });
      await expect(list({ merchantId: other, limit: 1, cursor: cursor! })).rejects.toThrow(InvalidCursorError);
      await storage.reset(id);
      expect(await list({ merchantId: id, limit: 1 })).toEqual({ items: [] });
      if (name === "disbursements" || name === "checkouts")
        await expect(list({ merchantId: id, limit: 1, cursor: cursor! })).rejects.toThrow(InvalidCursorError);
    },
  );

  test.each(["disbursements", "checkouts"] as const)(
    "every combination of filters of %s finds what meets all",
    async (name) => {
      for (let made = 0; made < 6; made += 1) {
        const isFinal = made % 2 === 1;
        if (name === "disbursements") await (isFinal ? finalPayout : payout)(id);
        else {
          const { reference } = await checkout(id);
          if (isFinal) await storage.finishCheckout(reference, "success");
        }
        if (isFinal) pass(SECOND);
      }
      const list = async (query: Partial<RecordQuery>): Promise<(Checkout | Disbursement)[]> => {
        const whole = { merchantId: id, limit: 10, ...query } as never;
        const page = name === "disbursements" ? storage.listDisbursements(whole) : storage.listCheckouts(whole);
        return (await page).items;
      };
      const all = await list({});
      expect(all).toHaveLength(6);
      const [last, previous] = all;
      await filtersShow(
        combinations<RecordQuery>({
          status: [undefined, "success", "pending", "failed"],
          merchantsReference: [undefined, previous!.merchantsReference, last!.merchantsReference.toUpperCase()],
          createdAfter: [undefined, START + SECOND, START + SECOND + 1],
          createdBefore: [undefined, START + SECOND, START],
        }),
        list,
        (each, { status = each.status, merchantsReference = each.merchantsReference, ...period }) =>
          [status, merchantsReference].join() === [each.status, each.merchantsReference].join() &&
          isWithin(each.createdAt, period),
      );
    },
  );

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

  test("finds disbursements by phone number across days, whatever the page and the period", async () => {
    const times = new Map<string, number>();
    // Several records of the same millisecond, the first and the last millisecond of a day, and days without records.
    for (const day of [1, 2, 4, 5, 8]) {
      for (const at of [0, HOUR, HOUR, HOUR, HOUR + 1, HOUR + 1, HOUR + 1, DAY - 1]) {
        pass(FIRST_DAY + day * DAY + at - now());
        await payout(id);
        const { reference } = await (times.size % 3 === 0 ? finalPayout : payout)(id, to(PHONE));
        times.set(reference, now());
      }
    }
    // Another merchant's records are on days on which this merchant has none.
    pass(2 * DAY);
    const shared = await payout(other, { ...to(PHONE), merchantsReference: "either 7" });
    const all = (await storage.listDisbursements({ merchantId: id, limit: 100 })).items;
    const ofPhone = all.filter(({ reference }) => times.has(reference));
    expect(ofPhone).toHaveLength(40);
    for (const query of combinations<Period & { status: "success" | "failed" }>({
      status: [undefined, "success", "failed"],
      createdAfter: [undefined, FIRST_DAY + 2 * DAY, FIRST_DAY + 2 * DAY + HOUR + 1],
      createdBefore: [undefined, FIRST_DAY + 5 * DAY, FIRST_DAY + 5 * DAY + HOUR + 1],
    })) {
      const expected = ofPhone.filter(
        (each) => (query.status ?? each.status) === each.status && isWithin(each.createdAt, query),
      );
      for (const limit of [3, 8, 100]) {
        const whole = { merchantId: id, phoneNumber: PHONE, limit, ...query };
        const pages = await pagesOf((of) => storage.listDisbursements({ ...whole, ...of }));
        expect(pages.flat()).toEqual(expected);
        expect(pages).toHaveLength(Math.max(1, Math.ceil(expected.length / limit)));
      }
    }
    const part = { merchantId: id, phoneNumber: PHONE.slice(0, -1), limit: 100 };
    expect((await storage.listDisbursements(part)).items).toEqual([]);
    const found = await storage.searchPayments({ text: "x", phoneNumber: PHONE, limit: 100 });
    expect(found.map(({ createdAt }) => createdAt)).toEqual([now(), ...[...times.values()].toReversed()]);
    const { reference } = await checkout(id, { merchantsReference: "either 7" });
    const foundBy = async (text: string) =>
      new Set((await storage.searchPayments({ text, limit: 9 })).map((each) => each.reference));
    expect(await foundBy("either 7")).toEqual(new Set([shared.reference, reference]));
    expect(await foundBy(reference)).toEqual(new Set([reference]));
    for (const text of ["", "\0", "either"]) expect(await foundBy(text)).toEqual(new Set());
  });

  test("finds checkouts by the payer's phone number", async () => {
    const [paid] = [await checkout(id), await checkout(id)];
    await storage.payCheckout(paid.reference, PHONE, undefined);
    const query = { merchantId: id, phoneNumber: PHONE, limit: 2 };
    expect((await storage.listCheckouts(query)).items).toMatchObject([{ reference: paid.reference }]);
    expect((await storage.listCheckouts({ ...query, status: "success" })).items).toEqual([]);
  });
}

const isOf = (each: DeliveryStatus, asked = each as DeliverySearch["status"]) =>
  asked === "failed" ? ["ended", "exhausted"].includes(each) : asked === each;
const HOSTS = ["a.example", "b.example:8443"] as const;

export function searchTests(current: Current): void {
  const { storage, now, pass, payout, delivery, attempted } = current;
  const merchantId = ADA;
  const search = async (query: DeliverySearch) =>
    (await storage.listDeliveries({ merchantId, limit: 100, ...query })).items;

  test("every combination of filters finds what meets all", async () => {
    for (const status of ["delivered", "ended", "exhausted", "pending"] as const) {
      for (const host of HOSTS)
        for (const final of ["success", "failed"] as const)
          await attempted(merchantId, status, { status: final, webhookURL: `https://${host}/` });
      pass(MINUTE);
    }
    expect(await search({})).toHaveLength(16);
    await filtersShow(
      combinations<DeliverySearch>({
        status: [undefined, "failed", "ended", "delivered", "pending"],
        host: [undefined, HOSTS[1], "c.example"],
        type: [undefined, "disbursement.failed"],
        createdAfter: [undefined, START + 1, START + MINUTE],
        createdBefore: [undefined, START + MINUTE, START + 2 * MINUTE],
      }),
      search,
      ({ url, ...each }, { status, host = new URL(url).host, type = each.type, ...period }) =>
        isOf(each.status, status) &&
        [host, type].join() === [new URL(url).host, each.type].join() &&
        isWithin(each.createdAt, period),
    );
  });

  test("finds the events of a period whichever it is, and pages through them", async () => {
    for (let index = 0; index < 40; index += 1) {
      // Some events have the same time, and other merchants' events are in between.
      if (index % 3 > 0) pass(1 + (index % 5));
      await delivery(merchantId);
      if (index % 4 === 0) await delivery(KOFI);
    }
    const periods: Period[] = [];
    for (let from = START - 1; from <= now() + 2; from += 7)
      for (let until = from; until <= now() + 2; until += 11)
        periods.push({ createdAfter: from, createdBefore: until });
    await filtersShow(periods, search, ({ createdAt }, period) => isWithin(createdAt, period));
    const all = await search({});
    expect(all).toHaveLength(40);
    const period = { createdAfter: all[30]!.createdAt, createdBefore: all[5]!.createdAt };
    const pages = await pagesOf((of) => storage.listDeliveries({ merchantId, limit: 7, ...period, ...of }));
    expect(pages.flat()).toEqual(await search(period));
  });

  test("finds the events of a period whose time a move of the clock has skipped, although later ones precede them", async () => {
    const due = { afterMs: MINUTE, status: "success" } as const;
    const record = await payout(merchantId, { webhookURL: "https://a.example/", due });
    await storage.moveClock(merchantId, { by: HOUR }, LATEST);
    const later = await delivery(merchantId);
    expect(await storage.settleDue(10)).toBe(1);
    expect(await search({ createdBefore: START + HOUR })).toMatchObject([{ reference: record.reference }]);
    expect(await search({ createdAfter: START + HOUR })).toMatchObject([{ reference: later.reference }]);
  });

  test("a page looks at a bounded number of deliveries, and says how far it got", async () => {
    const rare = await delivery(merchantId, { webhookURL: "https://rare.example/" });
    pass(MINUTE);
    for (let made = 0; made < 2_000; made += 500) await concurrently(500, () => delivery(merchantId));
    const query = { merchantId, host: "rare.example", limit: 10 };
    const first = await storage.listDeliveries(query);
    expect(first).toEqual({ items: [], cursor: expect.any(String), searchedTo: START + MINUTE });
    const second = await storage.listDeliveries({ ...query, cursor: first.cursor! });
    expect(second).toEqual({ items: [expect.objectContaining({ id: rare.id })] });
    // An index has exactly these rows, so that the search reads no other rows.
    expect(await storage.listDeliveries({ ...query, status: "failed" })).toEqual({ items: [] });
    // Counting takes several reads.
    const counted = await storage.countDeliveries(merchantId, { host: "rare.example" });
    expect(counted).toEqual({ count: 0, isExact: true, hosts: [] });
  });
}
