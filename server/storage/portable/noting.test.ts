// What is noted of a transaction that is repeated, rolled back, or whose commit is unknown.
import { expect, test } from "vitest";
import { noteChanges, type Change } from "../../domain/changes.ts";
import { createFakeClock } from "../../testing/clock.ts";
import { addMerchant, aDisbursement } from "../../testing/storage/fixtures.ts";
import { openSqlite } from "../sqlite/index.ts";
import { UnknownOutcome } from "../storage-error.ts";
import { recordAction } from "./audit.ts";
import { noting, notingInsertions } from "./noting.ts";
import { run, type Executor, type Work } from "./query.ts";

const PAUSE = { actor: "dashboard Ada", action: "rail.pause", merchantId: "", details: { rail: "test" } } as const;
function* pause(): Work<boolean> {
  if ((yield* run("UPDATE rails SET paused = true")).count === 0) return false;
  yield* recordAction(PAUSE);
  return true;
}

/** A run of the transaction: how many rows its first statement changes, and how it ends. */
type Run = { count: number; ends: "commits" | "is rolled back" | "may have been committed" };

/** Executes the runs one after the other, as long as a run may be repeated. */
async function notedOf(runs: readonly Run[]): Promise<Change[]> {
  const executor = {
    database: "postgres",
    async write(work: () => Work<unknown>) {
      let unknown: UnknownOutcome | undefined;
      for (const { count, ends } of runs) {
        const transaction = work();
        let step = transaction.next();
        while (!step.done && ends !== "is rolled back")
          step = transaction.next(step.value.map(() => ({ rows: [], count })));
        if (ends === "commits") return step.value;
        if (ends === "may have been committed") unknown = new UnknownOutcome("The connection was lost");
      }
      throw unknown ?? new Error("The connection was lost");
    },
  } as unknown as Executor;
  const changes: Change[] = [];
  await noteChanges(changes, () => noting(executor).write(pause, { repeatable: true })).catch(() => undefined);
  return changes;
}

const committed: Run = { count: 1, ends: "commits" };
const unknown: Run = { count: 1, ends: "may have been committed" };
const rolledBack: Run = { count: 1, ends: "is rolled back" };
const findsNothing: Run = { count: 0, ends: "commits" };
const [certain, doubt] = [true, false].map((isCertain) => ({
  isCertain,
  action: "rail.pause",
  details: { rail: "test" },
}));

test.each<[string, Run[], unknown[]]>([
  ["a commit", [committed], [certain]],
  ["a commit without a changed row", [findsNothing], []],
  ["a transaction that is rolled back", [rolledBack], []],
  ["an unknown commit", [unknown], [doubt]],
  ["a rollback, then a commit", [rolledBack, committed], [certain]],
  ["a rollback, then a refusal", [rolledBack, findsNothing], []],
  ["an unknown commit, then a commit", [unknown, committed], [certain]],
  ["an unknown commit that its repeat finds", [unknown, findsNothing], [doubt]],
  ["an unknown commit, then a rollback", [unknown, rolledBack], [doubt]],
])("of %s", async (_, runs, expected) => {
  expect(await notedOf(runs)).toEqual(expected);
});

test("of a live payment, the stored reference or the merchant's: the draft's own is not stored", async () => {
  const storage = openSqlite(":memory:", { clock: createFakeClock(), server: true });
  const draft = aDisbursement((await addMerchant(storage)).id, { rail: "test" });
  const losing = notingInsertions({
    ...storage,
    insertDisbursement: () => Promise.reject(new UnknownOutcome("The connection was lost")),
  });
  const changes: Change[] = [];
  const { record } = await noteChanges(changes, () => storage.insertDisbursement(draft));
  await noteChanges(changes, () => losing.insertDisbursement(draft)).catch(() => undefined);
  expect(record.reference).not.toBe(draft.reference);
  expect(changes).toEqual([
    { isCertain: true, details: { disbursement: record.reference } },
    { isCertain: false, details: { disbursement: draft.merchantsReference } },
  ]);
  await storage.close();
});
