import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { eventOf, type Event } from "../../domain/events.ts";
import type { Storage } from "../../domain/storage.ts";
import { createFakeClock, type FakeClock } from "../../testing/clock.ts";
import { claimAll, HOUR, LATEST, MINUTE, SECOND, START } from "../../testing/storage/fixtures.ts";
import { ADA, ATTEMPTS, KEYS, MERCHANTS, RECORDS, writeVersion2 } from "../../testing/storage/version-2.ts";
import { openSqlite } from "./index.ts";

let folder: string;
let clock: FakeClock;
let storage: Storage;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "migrate-"));
  const path = join(folder, "server.db");
  writeVersion2(path);
  clock = createFakeClock();
  storage = openSqlite(path, { clock, server: true });
});
afterEach(async () => {
  await storage.close();
  rmSync(folder, { recursive: true });
});

const nameOf = (merchantId: string) => MERCHANTS.find(({ id }) => id === merchantId)!.name;
const offsetOf = (merchantId: string) => MERCHANTS.find(({ id }) => id === merchantId)!.clockOffset;
const finalRecords = RECORDS.filter(({ record }) => record.status !== "pending");
const expectedEvent = ({ record }: (typeof RECORDS)[number]): Event => eventOf(record, nameOf(record.merchantId));

test("merchants keep their names, clocks and webhook secrets", async () => {
  expect(await storage.listMerchants()).toEqual(
    MERCHANTS.map(({ id, name, createdAt, clockOffset }) => ({ id, name, createdAt, clockOffset, movedTo: 0 })),
  );
  for (const { id, secrets } of MERCHANTS) expect(await storage.readSecrets(id)).toEqual(secrets);
});

test("keys keep their owners and revocations", async () => {
  expect(await storage.listKeys()).toEqual(KEYS);
  const [live, revoked] = KEYS;
  expect((await storage.findMerchantByKey(live!.hash))?.merchant.id).toBe(live!.merchantId);
  expect(await storage.findMerchantByKey(revoked!.hash)).toBeUndefined();
});

test("records read as they were written", async () => {
  for (const { record } of RECORDS) {
    const { merchantId, reference } = record;
    const find = "locale" in record ? storage.findCheckout : storage.findDisbursement;
    expect(await find(merchantId, reference)).toEqual(record);
  }
});

test("references, customers and refusal counts stay in use", async () => {
  const { record } = RECORDS.find(({ record: { status } }) => status === "success")!;
  const { due: _, createdAt: _created, updatedAt: _updated, ...draft } = record;
  const again = { ...draft, id: "another", reference: "DSBanother", customer: { ...draft.customer!, id: "another" } };
  expect(await storage.insertDisbursement(again as Parameters<Storage["insertDisbursement"]>[0])).toEqual({
    inserted: false,
    record,
  });
  const fresh = await storage.insertDisbursement({
    ...(again as Parameters<Storage["insertDisbursement"]>[0]),
    merchantsReference: "fresh",
  });
  expect(fresh.record.customer).toEqual(record.customer);
  expect(await storage.countRefusal(ADA, "Pâques 🐣")).toBe(3);
});

test("each event has the bytes that its record renders to, in the order in which events were written", async () => {
  for (const { id: merchantId } of MERCHANTS) {
    const { items } = await storage.listEvents({ merchantId, limit: 100, direction: "newer" });
    expect(items).toEqual(finalRecords.filter(({ record }) => record.merchantId === merchantId).map(expectedEvent));
  }
});

test("deliveries keep their addresses, progress and attempts", async () => {
  for (const each of finalRecords) {
    const { record, delivery } = each;
    const event = expectedEvent(each);
    const { host: _, claimedUntil: _claimed, ...progress } = delivery ?? {};
    const attempts = ATTEMPTS.filter(({ eventId }) => eventId === event.id).map(({ eventId: _event, ...rest }) => rest);
    expect(await storage.findDelivery(record.merchantId, event.id)).toEqual(
      delivery && { ...event, url: record.webhookURL, ...progress, attempts },
    );
  }
});

test("pending records settle when their time comes on their merchant's clock", async () => {
  const due = RECORDS.filter(({ record }) => record.due !== undefined);
  const read = async (index: number) => {
    const { record } = due[index]!;
    const find = "locale" in record ? storage.findCheckout : storage.findDisbursement;
    return (await find(record.merchantId, record.reference))!;
  };
  const times = [...new Set(due.map(({ record }) => record.due!.at - offsetOf(record.merchantId)))].toSorted();
  expect(times.length).toBeGreaterThan(2);
  for (const time of times) {
    clock.advance(time - 1 - clock.now());
    expect(await storage.settleDue(100)).toBe(0);
    clock.advance(1);
    expect(await storage.settleDue(100)).toBeGreaterThan(0);
  }
  for (const [index, { record }] of due.entries()) {
    expect(await read(index)).toMatchObject({ status: record.due!.status, updatedAt: record.due!.at });
  }
  clock.advance(1_000_000 * HOUR);
  expect(await storage.settleDue(100)).toBe(0);
});

test("pending deliveries are claimed when their time comes; one without a host has a lane like any other", async () => {
  const pending = finalRecords.filter(({ delivery }) => delivery?.status === "pending");
  const claimedAt = new Map<string, number>();
  for (const seconds of [0, 5, 3_600]) {
    clock.advance(START + seconds * SECOND - clock.now());
    for (const { event, dueAt } of await claimAll(storage, { leaseMs: 10 * HOUR })) {
      expect(dueAt).toBe(pending.find((each) => expectedEvent(each).id === event.id)!.delivery!.nextAttemptAt);
      claimedAt.set(event.id, seconds);
    }
  }
  const expected = pending.map((each): [string, number] => {
    const { merchantId } = each.record;
    return [expectedEvent(each).id, (each.delivery!.nextAttemptAt! - START - offsetOf(merchantId)) / SECOND];
  });
  expect([...claimedAt].toSorted()).toEqual(expected.toSorted());
  expect(await storage.hasDue(ADA, LATEST)).toBe(true);
});

test("later events follow those that were there", async () => {
  const query = { merchantId: ADA, limit: 100, direction: "newer" } as const;
  const { cursor } = await storage.listEvents(query);
  clock.advance(2 * MINUTE);
  const settled = await storage.settleDue(100, ADA);
  expect(settled).toBe(3);
  expect((await storage.listEvents({ ...query, cursor: cursor! })).items).toHaveLength(settled);
});
