import { expect, test } from "vitest";
import { FAULTS, runFaults } from "./faults/run.ts";

test("a server under load loses and doubles nothing when it is killed, locked out of its database and flooded", async () => {
  const names = ["kill -9", "write lock", "receiver: flood"];
  const faults = FAULTS.filter(({ name }) => names.includes(name));
  expect(faults).toHaveLength(names.length);
  const violations = await runFaults({
    seed: 1,
    faults,
    rounds: 1,
    // Other tests keep the processors busy.
    recoveryMs: 30_000,
    deadlineMs: 30_000,
    print: () => undefined,
  });
  expect(violations).toEqual([]);
});
