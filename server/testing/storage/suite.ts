import { afterEach, beforeEach, describe } from "vitest";
import type { Opened } from "./fixtures.ts";
import { checkoutTests } from "./checkouts.ts";
import { deliveryTests } from "./deliveries.ts";
import { disbursementTests } from "./disbursements.ts";
import { durabilityTests } from "./durability.ts";
import { listTests } from "./lists.ts";
import { merchantTests } from "./merchants.ts";
import { timelineTests } from "./timeline.ts";
import type { Storage } from "../../domain/storage.ts";

/** Gives the storage of the test that is running. */
export type Current = () => Storage;

/**
 * What every storage adapter has to do, whatever lies behind it.
 * @param open gives a storage that holds nothing yet; called anew for each test
 */
export function storageSuite(name: string, open: () => Promise<Opened>): void {
  describe(`storage: ${name}`, () => {
    let opened: Opened;
    beforeEach(async () => {
      opened = await open();
    });
    afterEach(() => opened.close());

    const current: Current = () => opened.storage;
    describe("merchants and keys", () => {
      merchantTests(current);
    });
    describe("disbursements", () => {
      disbursementTests(current);
    });
    describe("checkouts", () => {
      checkoutTests(current);
    });
    describe("claims and attempts", () => {
      deliveryTests(current);
    });
    describe("lists", () => {
      listTests(current);
    });
    describe("time", () => {
      timelineTests(current);
    });
  });
}

/**
 * What an adapter that outlives its process has to do as well.
 * @param open opens what `place` names; the second time with what the first left there
 */
export function durableStorageSuite<Place>(
  name: string,
  {
    make,
    open,
    remove,
  }: { make(): Promise<Place>; open(place: Place): Promise<Storage>; remove(place: Place): Promise<void> },
): void {
  describe(`storage: ${name}, opened again`, () => {
    let place: Place;
    beforeEach(async () => {
      place = await make();
    });
    afterEach(() => remove(place));

    durabilityTests(() => open(place));
  });
}
