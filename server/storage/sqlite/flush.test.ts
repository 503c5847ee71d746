// The disk flushes the log late, or not at all.
import fs, { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Storage } from "../../domain/storage.ts";
import { createTelemetry } from "../../domain/telemetry.ts";
import { createFakeClock } from "../../testing/clock.ts";
import { addMerchant, aDisbursement } from "../../testing/storage/fixtures.ts";
import { openSqlite } from "./index.ts";

type Flushed = (error: Error | null) => void;
/** What the next flushes do. */
const disk = vi.hoisted(() => ({
  flush: (flushed: Flushed) => flushed(null),
  fdatasync: (_file: number, flushed: Flushed) => disk.flush(flushed),
}));
vi.mock("node:fs", async (original) => ({ ...(await original<typeof fs>()), fdatasync: disk.fdatasync }));

let folder: string;
let storage: Storage;
let merchantId: string;
let reported: [boolean, string][];
let waiting: Flushed[];
const open = () => {
  const { on, emit } = createTelemetry((error) => expect.unreachable(String(error)));
  on("storage", ({ working, message }) => reported.push([working, message]));
  return openSqlite(join(folder, "server.db"), { clock: createFakeClock(), server: true, emit });
};
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "flush-"));
  [reported, waiting] = [[], []];
  disk.flush = (flushed) => flushed(null);
  storage = open();
  merchantId = (await addMerchant(storage)).id;
});
afterEach(async () => {
  await storage.close();
  rmSync(folder, { recursive: true });
});

test("neither a payout nor a look at it is told before the payout has been flushed", async () => {
  disk.flush = (flushed) => waiting.push(flushed);
  const payout = aDisbursement(merchantId);
  const told: string[] = [];
  const created = storage.insertDisbursement(payout).then(() => told.push("create"));
  await vi.waitUntil(() => waiting.length === 1);
  const found = storage
    .findDisbursement(merchantId, payout.reference)
    .then((record) => told.push(`${record?.reference}`));
  for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
  expect(told).toEqual([]);
  disk.flush = (flushed) => flushed(null);
  waiting[0]!(null);
  await Promise.all([created, found]);
  expect(told).toEqual(["create", payout.reference]);
});

test("if the disk fails to flush, the outcome is unknown, and nothing is told until a restart", async () => {
  disk.flush = (flushed) => flushed(new Error("EIO: i/o error"));
  const payout = aDisbursement(merchantId);
  // Not "unavailable", which promises that nothing was recorded.
  await expect(storage.insertDisbursement(payout)).rejects.toThrow("EIO: i/o error");
  expect(reported).toEqual([[false, expect.stringContaining("failed to keep what was written")]]);
  disk.flush = (flushed) => flushed(null);
  const { reference } = payout;
  const later = [
    storage.findDisbursement(merchantId, reference),
    storage.insertDisbursement(aDisbursement(merchantId)),
  ];
  for (const { status, reason } of (await Promise.allSettled(later)) as PromiseRejectedResult[])
    expect([status, reason.code]).toEqual(["rejected", "unavailable"]);

  await storage.close();
  storage = open();
  await storage.insertDisbursement(aDisbursement(merchantId));
});
