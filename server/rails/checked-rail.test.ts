// Operators write modules themselves. Whatever a module throws, the payment can be recorded, and the rail is asked
// about it again.
import { expect, test, vi } from "vitest";
import { RailError, type Rail, type RailPayment } from "../domain/rails.ts";
import { createTestRail } from "../testing/rail.ts";
import { checkedRail } from "./checked-rail.ts";

const payment = {} as RailPayment;
const call = { signal: new AbortController().signal, notifyUrl: "", returnUrl: "", inDoubt: false };
const thrownBy = (pay: Rail["pay"]) =>
  checkedRail({ ...createTestRail(), pay })
    .pay(payment, call)
    .catch((error: unknown) => error);

test.each([
  ["a text", "out of order", "out of order"],
  ["nothing", undefined, "undefined"],
  ["an error whose message is no text", Object.assign(new Error(), { message: 5 }), "5"],
])("a rail that throws %s leaves the outcome unknown", async (_, thrown, message) => {
  const error = await thrownBy(async () => {
    throw thrown;
  });
  expect(error).toMatchObject({ name: "Error", message });
  expect(error).toBeInstanceOf(Error);
});

test.each([
  ["not a number", Number.NaN, undefined],
  ["a text", "60", undefined],
  ["negative", -1, undefined],
  ["endless", Infinity, 3_600_000],
  ["a thousand years", 3e13, 3_600_000],
  ["a minute", 60_000, 60_000],
])("a rail is asked again within an hour, also if its delay is %s", async (_, retryAfterMs, expected) => {
  const error = await thrownBy(() => {
    throw new RailError("later", { retryAfterMs: retryAfterMs as number, needsRepair: true });
  });
  expect(error).toBeInstanceOf(RailError);
  expect((error as RailError).options).toEqual({
    needsRepair: true,
    ...(expected !== undefined && { retryAfterMs: expected }),
  });
});

test("a foreign RailError without options is one of ours", async () => {
  const error = await thrownBy(() => Promise.reject({ name: "RailError", message: "refused", options: null }));
  expect([error instanceof RailError, (error as RailError).options]).toEqual([true, {}]);
});

test("a check that ignores its signal ends with it", async () => {
  const rail = checkedRail({ ...createTestRail(), check: () => new Promise(() => {}) });
  await expect(rail.check!(AbortSignal.timeout(1))).rejects.toThrow("did not respond in time");
});

test("a notification that the rail never finishes reading ends after thirty seconds", async () => {
  const limit = new AbortController();
  const timeout = vi.spyOn(AbortSignal, "timeout").mockReturnValue(limit.signal);
  const rail = checkedRail({ ...createTestRail(), receive: () => new Promise(() => {}) });
  const received = rail.receive!({ headers: {}, query: new URLSearchParams(), body: new Uint8Array() });
  limit.abort(new DOMException("time is up", "TimeoutError"));
  await expect(received).rejects.toThrow("did not respond in time");
  expect(timeout).toHaveBeenCalledWith(30_000);
  timeout.mockRestore();
});
