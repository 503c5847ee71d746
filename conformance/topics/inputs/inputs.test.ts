import { expect, test, vi } from "vitest";
import type { Context } from "../../check.ts";
import { judgeTimes } from "./checks.ts";

test("the times of payouts cannot be judged if the target accepted none", async () => {
  const couldNotRun = vi.fn<Context["couldNotRun"]>();
  await judgeTimes({ couldNotRun } as unknown as Context, []);
  expect(couldNotRun).toHaveBeenCalledExactlyOnceWith("verify.timestamps", expect.any(String));
});
