// What is noted of a transaction that is repeated, rolled back, or whose commit is unknown.
import { expect, test } from "vitest";
import { collectChanges, type Change } from "../../domain/changes.ts";
import { UnknownOutcome } from "../storage-error.ts";
import { insertions } from "./inserting.ts";
import { noting } from "./noting.ts";
import { run, type Executor, type Work } from "./query.ts";

const pause = () => run("UPDATE rails SET paused = true");

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
  await collectChanges(changes, () => noting(executor).write(pause, { idempotent: true })).catch(() => undefined);
  return changes;
}

const committed: Run = { count: 1, ends: "commits" };
const unknown: Run = { count: 1, ends: "may have been committed" };
const rolledBack: Run = { count: 1, ends: "is rolled back" };
const findsNothing: Run = { count: 0, ends: "commits" };
test.each<[string, Run[], Change[]]>([
  ["a commit", [committed], ["certain"]],
  ["a commit without a changed row", [findsNothing], []],
  ["a transaction that is rolled back", [rolledBack], []],
  ["an unknown commit", [unknown], ["unknown"]],
  ["a rollback, then a commit", [rolledBack, committed], ["certain"]],
  ["a rollback, then a refusal", [rolledBack, findsNothing], []],
  ["an unknown commit, then a commit", [unknown, committed], ["certain"]],
  ["an unknown commit that its repeat finds", [unknown, findsNothing], ["unknown"]],
  ["an unknown commit, then a rollback", [unknown, rolledBack], ["unknown"]],
])("of %s", async (_, runs, expected) => {
  expect(await notedOf(runs)).toEqual(expected);
});

test("of a payment that is stored in a transaction of several requests", async () => {
  const noted = async (ended: Promise<{ inserted: boolean }>) => {
    const changes: Change[] = [];
    const { insertCheckout } = insertions({ together: () => () => ended } as never);
    await collectChanges(changes, () => insertCheckout({} as never)).catch(() => undefined);
    return changes;
  };
  expect(await noted(Promise.resolve({ inserted: true }))).toEqual(["certain"]);
  expect(await noted(Promise.resolve({ inserted: false }))).toEqual([]);
  expect(await noted(Promise.reject(new UnknownOutcome("The connection was lost")))).toEqual(["unknown"]);
});
