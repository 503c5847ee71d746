// Every transaction that may be repeated × every change between its commit and the repeat. A lost response to a commit
// must change nothing: the tables end up as if the response had arrived and the change had followed. A sandbox's reset
// deletes the rows by which a repeat would know its payment, so the reset may also count as the first of the two. Then
// the events have later positions. Sandboxes have no rails.
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Clock } from "../../domain/clock.ts";
import type { Limits } from "../../domain/limits.ts";
import type { Storage } from "../../domain/storage.ts";
import { createFakeClock, type FakeClock } from "../../testing/clock.ts";
import { startPostgresProxy, type PostgresProxy } from "../../testing/postgres-proxy.ts";
import { useDatabase } from "../../testing/resources.ts";
import {
  ACTOR,
  aCheckout,
  addMerchant,
  aDisbursement,
  aFinalDisbursement,
  aKey,
  claimAll,
} from "../../testing/storage/fixtures.ts";
import { DAY, HOUR, LATEST, MINUTE, START } from "../../testing/times.ts";
import { openPostgres } from "./index.ts";

const [M, K, RAIL] = ["merchant", "key", "mobile"];
const OTHER = "dashboard Grace";
const HASH = "ab".repeat(32);
const adjustment = { id: "adjustment", currency: "XOF", amount: 500, reason: "Paid in" };
const PAYOUT = {
  id: "019aa0c5-0000-7000-9000-000000000001",
  reference: "DSB1",
  merchantsReference: "p1",
  keyId: K,
  webhookURL: "https://m.example/",
};
const CHECKOUT = { id: "019aa0c5-0000-7000-9000-000000000002", reference: "CHK1", merchantsReference: "c1", keyId: K };
const lane = { merchantId: M!, host: RAIL!, count: 9 };

interface Operation {
  /** What was there before. */
  given?: (storage: Storage, clock: FakeClock) => Promise<unknown>;
  /** The transaction. */
  run: (storage: Storage) => Promise<unknown>;
  /** What a caller learns of it must not depend on the loss either. Absent if a repeat finds less work than the first run. */
  learns?: (result: any) => unknown;
}

const whole = (result: unknown) => result;
const inserted = ({ inserted: is, record: { id, reference }, refusal }: any) => ({ is, id, reference, refusal });
const payout = async (storage: Storage) => storage.insertDisbursement(aDisbursement(M!, { ...PAYOUT, rail: RAIL! }));
const OPERATIONS: Record<string, Operation> = {
  "a payout": { run: (storage) => storage.insertDisbursement(aDisbursement(M!, PAYOUT)), learns: inserted },
  "a payout that is final at once": {
    run: (storage) => storage.insertDisbursement(aFinalDisbursement(M!, PAYOUT)),
    learns: inserted,
  },
  "a payout on a rail": { run: payout, learns: inserted },
  "a payout on a rail that waits for approval": {
    given: (storage) => storage.setMerchantLimits(M!, { approvalFrom: { XOF: 1 } }, ACTOR),
    run: payout,
    learns: inserted,
  },
  "a payout on a rail within a limit of a day": {
    given: (storage) => storage.setKeyLimits(K!, { perDay: { XOF: 10_000 } }, ACTOR),
    run: payout,
    learns: inserted,
  },
  "a payout that the balance covers exactly": {
    given: (storage) => storage.adjustBalance(M!, { ...adjustment, id: "paid-in", amount: 10_100 }, ACTOR),
    run: (storage) => storage.insertDisbursement(aDisbursement(M!, { ...PAYOUT, mustBeCovered: true })),
    learns: inserted,
  },
  "a checkout": { run: (storage) => storage.insertCheckout(aCheckout(M!, CHECKOUT)), learns: inserted },
  "a checkout on a rail": {
    run: (storage) => storage.insertCheckout(aCheckout(M!, { ...CHECKOUT, rail: RAIL! })),
    learns: inserted,
  },
  "a proposal": { run: (storage) => storage.adjustBalance(M!, adjustment, ACTOR, true), learns: whole },
  "a suspension": { run: (storage) => storage.setMerchantState(M!, "suspended", ACTOR), learns: whole },
  "a reopening": {
    given: (storage) => storage.setMerchantState(M!, "suspended", ACTOR),
    run: (storage) => storage.setMerchantState(M!, undefined, ACTOR),
    learns: whole,
  },
  "a closing": { run: (storage) => storage.setMerchantState(M!, "closed", ACTOR), learns: whole },
  "a revocation": { run: (storage) => storage.revokeKey(K!, START, ACTOR), learns: whole },
  "a settlement": {
    async given(storage, clock) {
      await storage.insertDisbursement(aDisbursement(M!, PAYOUT));
      clock.advance(MINUTE);
    },
    run: (storage) => storage.settleDue(10),
  },
  "a claim of a hand-over": { given: payout, run: (storage) => storage.claimHandovers([lane], HOUR) },
  "a claim of a webhook": {
    given: (storage) => storage.insertDisbursement(aFinalDisbursement(M!, PAYOUT)),
    run: (storage) => storage.claimDeliveries([{ ...lane, host: "m.example" }], HOUR),
  },
  "an erasure": {
    given: (storage) => storage.insertDisbursement(aFinalDisbursement(M!, PAYOUT)),
    run: (storage) => storage.erasePhones({ merchantId: M!, before: LATEST, limit: 10 }),
  },
  "a deletion of events": {
    async given(storage) {
      await storage.insertDisbursement(aFinalDisbursement(M!, PAYOUT));
      const [claim] = await claimAll(storage);
      await storage.recordAttempt(claim!, { at: START, sentAt: START, latencyMs: 1 }, { status: "delivered", step: 1 });
    },
    run: (storage) => storage.pruneEvents({ merchantId: M!, before: LATEST, after: 0, limit: 10 }),
  },
};

type Change = (storage: Storage, clock: FakeClock) => Promise<unknown>;
const ofMerchant =
  (limits?: Limits): Change =>
  (storage) =>
    storage.setMerchantLimits(M!, limits, OTHER);
async function decide(storage: Storage, rejection?: string) {
  const [waiting] = await storage.listWaiting({ limit: 1 });
  if (waiting) expect(await storage.decideApproval(M!, waiting.reference, OTHER, rejection)).toBe("decided");
}
const ofKey =
  (limits?: Limits): Change =>
  (storage) =>
    storage.setKeyLimits(K!, limits, OTHER);
const CHANGES: Record<string, Change> = {
  "is suspended": (storage) => storage.setMerchantState(M!, "suspended", OTHER),
  "is reopened": (storage) => storage.setMerchantState(M!, undefined, OTHER),
  "is closed": (storage) => storage.setMerchantState(M!, "closed", OTHER),
  "gets a limit": ofMerchant({ perPayment: { XOF: 1 } }),
  "needs approval": ofMerchant({ approvalFrom: { XOF: 1 } }),
  "loses its limits": ofMerchant(),
  "gets a limit of its key": ofKey({ perPayment: { XOF: 1 } }),
  "needs approval for its key": ofKey({ approvalFrom: { XOF: 1 } }),
  "loses the limits of its key": ofKey(),
  "loses its key": (storage) => storage.revokeKey(K!, START + 1, OTHER),
  "is renamed": (storage) => storage.renameMerchant(M!, "Grace Stores", OTHER),
  "is paid": (storage) => storage.adjustBalance(M!, { ...adjustment, id: "later" }, OTHER),
  "has its balance set to 0": (storage) =>
    storage.setBalance(M!, "set", { currency: "XOF", available: 0, enforced: true }, OTHER),
  "has its payout approved": (storage) => decide(storage),
  "has its payout rejected": (storage) => decide(storage, "no"),
  "has its proposal booked": (storage) => storage.decideAdjustment(M!, adjustment.id, OTHER, true),
  "has its proposal rejected": (storage) => storage.decideAdjustment(M!, adjustment.id, OTHER, false),
  async "has its payments settled"(storage, clock) {
    clock.advance(2 * DAY);
    await storage.settleDue(100);
  },
  async "has its payments handed over"(storage) {
    for (const { lane: of, id, token } of await storage.claimHandovers([lane], HOUR)) {
      const report = { exchanges: [], askAgainAfterMs: MINUTE, answer: { status: "success" as const } };
      await storage.recordHandover({ lane: of, id, token }, report);
    }
  },
  "has its clock moved": (storage) => storage.moveClock(M!, { by: HOUR }, ACTOR),
  "is reset": (storage) => storage.reset(M!, ACTOR),
};

const database = useDatabase();
let proxy: PostgresProxy;
let clock: FakeClock;
/** The storage whose commits get lost, and the storage of another process. */
let [storage, other]: Storage[] = [];

beforeAll(async () => {
  proxy = await startPostgresProxy(database.url);
  clock = createFakeClock();
  // Each world has a clock of its own, because dates do not go back.
  const current = new Proxy({} as Clock, { get: (_, name) => Reflect.get(clock, name) as unknown });
  const options = { clock: current, server: false, time: "process" } as const;
  [storage, other] = [await openPostgres(proxy.url, options), await openPostgres(database.url, options)];
});
afterAll(async () => {
  await storage!.close();
  await other!.close();
  await proxy.close();
});

/** Every row, without what is random or measured. */
async function rows() {
  const tables = await database.run("SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public' ORDER BY 1");
  const names = tables
    .map(({ name }) => String(name))
    .filter((name) => !["schema_migrations", "service"].includes(name));
  const found: Record<string, unknown[]> = {};
  for (const name of names) {
    // A repeat on a later day locks the day's sum, and adds nothing.
    const which = name === "daily_sums" ? "WHERE amount > 0" : "";
    const all = await database.run(`SELECT to_jsonb(t) - 'rowid' AS row FROM ${name} AS t ${which}`);
    const texts = all.map(({ row }) => JSON.stringify({ ...(row as object), ...(name === "audit" && { id: 0 }) }));
    if (texts.length > 0) found[name] = texts.toSorted();
  }
  return found;
}

/** Runs the operation and the change in a new world, and returns all that can be seen of them. */
async function worldAfter({ given, run, learns }: Operation, change: Change, when: "after" | "lost" | "before") {
  await database.empty();
  clock = createFakeClock();
  await addMerchant(other!, { id: M! });
  await other!.insertKey(aKey(M!, { id: K!, hash: HASH }), ACTOR);
  await given?.(other!, clock);
  let hasChanged = false;
  const changed = async () => {
    hasChanged = true;
    await change(other!, clock);
  };
  if (when === "before") await changed();
  if (when === "lost") Object.assign(proxy, { onCommit: "cut-after", beforeCut: changed });
  const result = await run(storage!);
  if (when === "after") await changed();
  expect(hasChanged).toBe(true);
  return { learned: learns?.(result), rows: await rows() };
}

const withoutPositions = (world: object) => JSON.stringify(world).replace(/"(seq|last_event)\\":\d+/g, "$1");

test.each(Object.entries(OPERATIONS))(
  "%s is the same after its commit's response was lost",
  async (operationName, operation) => {
    for (const [name, change] of Object.entries(CHANGES)) {
      const after = await worldAfter(operation, change, "after");
      if (name !== "is reset")
        expect({ name, ...(await worldAfter(operation, change, "lost")) }).toEqual({ name, ...after });
      else if (!/rail|hand-over/.test(operationName)) {
        const before = await worldAfter(operation, change, "before");
        const lost = await worldAfter(operation, change, "lost");
        expect([after, before].map(withoutPositions)).toContainEqual(withoutPositions(lost));
      }
    }
  },
);
