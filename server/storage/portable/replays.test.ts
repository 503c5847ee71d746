import { expect, test } from "vitest";
import { ACTOR } from "../../testing/storage/fixtures.ts";
import type { Executor, Query } from "./query.ts";
import { replays } from "./replays.ts";

test("a replay of more than 10,000 webhooks is refused, and nothing is recorded", async () => {
  let seq = Number.MAX_SAFE_INTEGER;
  /** A table that always has more rows. */
  const read = async ({ values }: Query) => Array.from({ length: Number(values!.limit) }, () => ({ seq: (seq -= 1) }));
  const { countDeliveries, replayAll } = replays({ database: "sqlite", read } as Partial<Executor> as Executor);
  const [merchantId, filter] = ["ada", { status: "failed" } as const];
  for (const refused of [countDeliveries(merchantId, filter), replayAll({ merchantId, filter, pace: 1 }, ACTOR)])
    await expect(refused).rejects.toMatchObject({ code: "invalid_value", message: /at most 10000 webhooks/ });
});
