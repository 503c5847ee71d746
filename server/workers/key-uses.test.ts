import { expect, test } from "vitest";
import type { KeyUse } from "../domain/keys.ts";
import type { MerchantStore, Merchant } from "../domain/merchants.ts";
import { createFakeClock } from "../testing/clock.ts";
import { createKeyUses } from "./key-uses.ts";

const START = Date.UTC(2026, 10, 22, 9);
const owner = (keyId: string) => ({ keyId, merchant: { id: "m" } as Merchant });

function setUp() {
  const clock = createFakeClock(START);
  const written: (readonly KeyUse[])[] = [];
  const storage = {
    recordKeyUses: async (uses: readonly KeyUse[]) => void written.push(uses),
  } as MerchantStore;
  return { clock, storage, written, keyUses: createKeyUses({ storage, clock }) };
}

test("writes each key once, however often it was used, and nothing without a use", async () => {
  const { clock, written, keyUses } = setUp();
  await keyUses.record();
  expect(written).toEqual([]);
  for (const key of ["a", "b", "a"]) {
    keyUses.note(owner(key));
    clock.advance(1);
  }
  await keyUses.record();
  await keyUses.record();
  expect(written).toEqual([
    [
      { merchantId: "m", keyId: "a", usedAt: START },
      { merchantId: "m", keyId: "b", usedAt: START + 1 },
    ],
  ]);
});

test("a failed write loses no later use", async () => {
  const { storage, written, keyUses } = setUp();
  const { recordKeyUses } = storage;
  storage.recordKeyUses = () => Promise.reject(new Error("the disk is full"));
  keyUses.note(owner("a"));
  await expect(keyUses.record()).rejects.toThrow("the disk is full");
  storage.recordKeyUses = recordKeyUses;
  keyUses.note(owner("a"));
  await keyUses.record();
  expect(written).toHaveLength(1);
});
