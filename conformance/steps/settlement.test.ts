import { expect, test } from "vitest";
import { type Context, OutOfTime } from "../check.ts";
import { settled } from "./settlement.ts";

/** A target whose payouts settle at a time, in milliseconds from the start. The target's clock is the test's clock. */
function target({ settlesAt, controls = [] as string[] }: { settlesAt: number; controls?: string[] }) {
  let time = 0;
  let moved = 0;
  let verifies = 0;
  const sleep = async (ms: number) => void (time += ms);
  const send = async ({ method }: { method: string }) => {
    if (method === "GET") verifies += 1;
    else moved += 60_000;
    const status = time + moved >= settlesAt ? "success" : "pending";
    return { status: 200, json: { data: { reference: "R", status } }, exchange: {} };
  };
  const ledger = { created: [{ reference: "R", at: new Date(0).toISOString() }] };
  const context = {
    target: { send, ledger },
    options: { settleTimeoutMs: 90_000, controls },
    now: () => new Date(time),
    sleep,
  } as unknown as Context;
  return { context, seconds: () => time / 1000, verifies: () => verifies };
}

test("waits until a slow payout has settled, without many requests", async () => {
  const { context, seconds, verifies } = target({ settlesAt: 80_000 });
  expect(await settled(context, "R")).toMatchObject({ data: { status: "success" }, seen: ["pending", "success"] });
  expect(seconds()).toBeLessThan(83);
  expect(verifies()).toBeLessThan(70);
});

test("moves the clock instead of waiting where it can", async () => {
  const { context, seconds } = target({ settlesAt: 30_000, controls: ["clock"] });
  await settled(context, "R");
  expect(seconds()).toBe(0);
});

test("names the flag if a payout is still pending in the end, and waits the whole time only once", async () => {
  const { context, seconds } = target({ settlesAt: Number.POSITIVE_INFINITY });
  const error = await settled(context, "R").catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(OutOfTime);
  expect(String(error)).toContain("still pending after 90 s: if the target needs longer, raise --settle-timeout");
  expect(seconds()).toBeCloseTo(90, 0);
  await expect(settled(context, "R")).rejects.toThrow(OutOfTime);
  expect(seconds()).toBeLessThan(92);
});
