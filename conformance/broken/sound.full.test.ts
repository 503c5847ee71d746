// Tries sound servers: the reference server, and the model, which shares no code with it. In the self-test also each
// variant, the reference server with 20 seeds, and each deployment with limits in front of a server with several faults,
// none of which it may hide.
import { describe, expect, test } from "vitest";
import { createSystemClock } from "../../server/domain/clock.ts";
import { openPostgres } from "../../server/storage/postgres/index.ts";
import { testDatabase } from "../../server/testing/resources.ts";
import { hiddenBy, runAgainst, trySound } from "./catch.ts";
import { faults } from "./faults.ts";
import { startReference } from "./server.ts";
import { seeds, triesAll } from "./self-test.ts";
import { limitedServers, soundServers } from "./sound.ts";
import { changesRecord } from "./webhooks.ts";

const server = (differs: RegExp) => soundServers.find((each) => differs.test(each.differs))!;
const sample = [server(/body of another shape/), server(/pending for a day/)];

describe.concurrent("gives the right verdict for core to a sound server", () => {
  test.each(triesAll ? soundServers : sample)("$differs", async (each) => {
    for (const args of seeds) {
      const judged = await trySound({ ...each, args: [...(each.args ?? []), ...args] }, "core", ["warn"]);
      expect(judged).toEqual({ verdict: each.verdict ?? "certified", alarms: [] });
    }
  });
});

/** One fault of each kind. No fault hides another fault. */
const several = [
  ...[
    "create.duplicate-race: Uniqueness is checked",
    "create.phone-pattern: A phoneNumber of 9 digits",
    "auth.create-needs-key: A create without a key is accepted",
    "records.as-requested: A payout in another currency",
  ].map((start) => faults.find(({ id }) => id.startsWith(start))!),
  {
    violates: ["webhook.amount"] as const,
    how: changesRecord((record) => ({ ...record, amount: Number(record["amount"]) / 100 })),
  },
];

describe.runIf(triesAll).concurrent("a deployment with limits hides no fault", () => {
  test.each(limitedServers)("$differs", async (each) => {
    expect(await hiddenBy(each, several)).toEqual([]);
  });
});

describe.runIf(triesAll).concurrent("certifies for extended, with each seed", () => {
  test.each(Array.from({ length: 20 }, (_, index) => index + 1))("the reference server, with seed %i", async (seed) => {
    const judged = await trySound({ start: startReference, args: ["--seed", String(seed)] }, "extended");
    expect(judged).toEqual({ verdict: "certified", alarms: [] });
  });
});

test.each(seeds)("the model is certified for extended", async (...args) => {
  expect(await trySound({ args }, "extended")).toEqual({ verdict: "certified", alarms: [] });
});

test("the reference server on PostgreSQL is certified for extended", async () => {
  const database = await testDatabase();
  const storage = await openPostgres(database.url, { clock: createSystemClock(), server: true });
  const judged = await trySound({ start: () => startReference(storage) }, "extended");
  expect(judged).toEqual({ verdict: "certified", alarms: [] });
});

test("a live service is not blamed, in extended, for the sandbox that it does not have", async () => {
  const ids = ["answers.exact", "life.checkout-events-sent"];
  const trial = { only: ids, through: "verify.unknown-404" };
  const report = await runAgainst(server(/no forced outcomes/), "extended", trial);
  const judged = report.requirements.filter(({ id }) => ids.includes(id)).map(({ id, verdict }) => [id, verdict]);
  expect(judged).toEqual([
    ["life.checkout-events-sent", "not-applicable"],
    ["answers.exact", "pass"],
  ]);
});
