// A kill under load on each storage. `npm run lab -- kills` has a hundred.
import { expect, test } from "vitest";
import { runKills } from "../scripts/lab/faults.ts";

test.each(["sqlite", "postgres"] as const)(
  "on %s a kill loses no acknowledged payment, doubles none, and the books agree",
  async (storage) => {
    const options = { seed: 1, deadlineMs: 30_000, print: () => undefined, storage, kills: 1 };
    expect(await runKills(options)).toEqual([]);
  },
);
