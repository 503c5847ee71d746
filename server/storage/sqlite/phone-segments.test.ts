import { expect, test } from "vitest";
import { createFakeClock } from "../../testing/clock.ts";
import { addMerchant, aFinalDisbursement, DAY } from "../../testing/storage/fixtures.ts";
import { openSqlite } from "./index.ts";

/** Returns numbers from 0 to 1 that look random, the same in each run. */
function createRandom(seed: number) {
  let state = seed;
  return (below: number) => {
    state = (state * 48_271) % 2_147_483_647;
    return state % below;
  };
}

test.each([1, 2, 3])(
  "finds each payout by its phone number, whatever happens between the segments, %i",
  async (seed) => {
    const random = createRandom(seed * 7_919);
    const clock = createFakeClock();
    const storage = openSqlite(":memory:", { clock, server: true, inASegment: 3 });
    const merchants = [await addMerchant(storage), await addMerchant(storage)].map(({ id }) => id);
    const phones = ["2250700000001", "2250700000002", "2250700000003"];
    /** All payouts in the order of insertion. */
    let longest = 0;
    let made: { merchant: string; phone: string; reference: string; at: number }[] = [];
    const pick = <T>(items: readonly T[]) => items[random(items.length)]!;

    for (let step = 0; step < 200; step += 1) {
      const action = random(20);
      const merchant = pick(merchants);
      if (action < 12) {
        const [phone, earlier] = [pick(phones), random(4) === 0];
        const draft = aFinalDisbursement(merchant, { customer: { phoneNumber: phone } });
        // A reference from before the last segment, as after a correction of the clock or a wait for the write lock.
        const reference = earlier ? `DSB00000${String(random(10 ** 9)).padStart(19, "0")}` : draft.reference;
        await storage.insertDisbursement({ ...draft, reference });
        made.push({ merchant, phone, reference, at: clock.now() });
      } else if (action < 15) clock.advance(random(3) * DAY);
      else if (action < 18) await storage.indexPhones();
      else if (action === 18) {
        const before = clock.now() - 5 * DAY;
        while (!(await storage.erasePhones({ merchantId: merchant, before, limit: 3 })).isDone);
        made = made.filter((each) => each.merchant !== merchant || each.at >= before);
      } else {
        await storage.reset(merchant);
        if (random(2) === 0) while ((await storage.prune(10)) > 0);
        made = made.filter((each) => each.merchant !== merchant);
      }

      const [asked, phone] = [pick(merchants), pick(phones)];
      const found: string[] = [];
      for (let cursor: string | undefined = ""; cursor !== undefined;) {
        const query = { merchantId: asked, phoneNumber: phone, limit: 1 + random(3), ...(cursor && { cursor }) };
        const page = await storage.listDisbursements(query);
        found.push(...page.items.map(({ reference }) => reference));
        ({ cursor } = page);
      }
      const expected = made.filter((each) => each.merchant === asked && each.phone === phone);
      longest = Math.max(longest, found.length);
      expect(found).toEqual(expected.toReversed().map(({ reference }) => reference));
      const everywhere = await storage.searchPayments({ text: "x", phoneNumber: phone, limit: 1_000 });
      const ofPhone = made.filter((each) => each.phone === phone).map(({ reference }) => reference);
      expect(everywhere.map(({ reference }) => reference).toSorted()).toEqual(ofPhone.toSorted());
    }
    expect(longest).toBeGreaterThan(6);
    await storage.close();
  },
);

test("writes nothing while too few payouts are new", async () => {
  let commits = 0;
  const storage = openSqlite(":memory:", {
    clock: createFakeClock(),
    server: true,
    inASegment: 2,
    emit: (name) => (commits += name === "commit" ? 1 : 0),
  });
  const { id } = await addMerchant(storage);
  await storage.insertDisbursement(aFinalDisbursement(id));
  const before = commits;
  expect([await storage.indexPhones(), commits]).toEqual([0, before]);
  await storage.insertDisbursement(aFinalDisbursement(id));
  expect([await storage.indexPhones(), commits]).toEqual([2, before + 2]);
  await storage.close();
});
