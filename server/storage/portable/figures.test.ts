import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { migrate } from "../sqlite/database.ts";
import { statementRunner } from "../sqlite/statements.ts";
import { figures } from "./figures.ts";
import type { Executor, Query } from "./query.ts";

test("failing receivers are found without a look at those that wait for a replay, however many", async () => {
  using db = new DatabaseSync(":memory:");
  migrate(db);
  const insert = db.prepare(`INSERT INTO events
      (id, merchant_id, type, reference, created_at, body, url, host, status, step, next_attempt_at)
    VALUES (?1, 'm1', 'disbursement.completed', ?1, 1, '{}', 'https://' || ?1, ?1, 'pending', ?2, 2)`);
  for (let number = 0; number < 200; number += 1) insert.run(`replayed-${number}.example`, 0);
  insert.run("failing.example", 1);
  insert.run("z.example", 3);
  const execute = statementRunner(db, { now: () => 0, leased: () => 0 }, () => undefined);
  let reads = 0;
  const read = async (query: Query) => ((reads += 1), execute(query).rows);
  const { listFailingReceivers } = figures({ database: "sqlite", read } as Executor);
  const issue = { merchantId: "m1", count: 1, since: 1 };
  const found = ["failing.example", "z.example"].map((host) => ({ ...issue, host }));
  expect(await listFailingReceivers({ limit: 10 })).toEqual(found);
  expect(reads).toBe(5);
});
