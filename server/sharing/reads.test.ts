import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { createFakeClock } from "../testing/clock.ts";
import { createReads } from "./reads.ts";

const clock = createFakeClock();

/** Reads that last until they are told to end. */
function held(limits: { perMerchant: number; total: number }) {
  const reads = createReads({ ...limits, clock });
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const read = (merchantId: string, name: string) =>
    reads.run(merchantId, () => {
      begun.push(name);
      return new Promise<void>((resolve) => ends.set(name, resolve));
    });
  async function end(name: string) {
    ends.get(name)!();
    for (let turns = 0; turns < 3; turns += 1) await nextTurn();
  }
  return { read, end, begun };
}

test("a merchant has two reads at a time, and merchants that wait take turns", async () => {
  const { read, end, begun } = held({ perMerchant: 2, total: 3 });
  const all = ["a1", "a2", "a3", "a4", "a5", "b1", "b2", "b3", "c1"].map((name) => read(name[0]!, name));
  await nextTurn();
  expect(begun).toEqual(["a1", "a2", "b1"]);
  await end("a1");
  expect(begun.slice(3)).toEqual(["a3"]);
  await end("b1");
  expect(begun.slice(4)).toEqual(["b2"]);
  await end("a2");
  expect(begun.slice(5)).toEqual(["c1"]);
  for (let index = 0; index < all.length; index += 1) await end(begun[index]!);
  await Promise.all(all);
  expect(begun.toSorted()).toEqual(["a1", "a2", "a3", "a4", "a5", "b1", "b2", "b3", "c1"]);
});

test("a read that waits too long is refused with a time to retry, and takes no turn later", async () => {
  const { read, end, begun } = held({ perMerchant: 1, total: 4 });
  const first = read("ada", "first");
  const late = read("ada", "late").catch((error: unknown) => error);
  clock.advance(4_999);
  const last = read("ada", "last");
  clock.advance(1);
  expect(await late).toMatchObject({ code: "rate_limited", details: { retryAfterSeconds: 1 } });
  await end("first");
  expect(begun).toEqual(["first", "last"]);
  await end("last");
  await Promise.all([first, last]);
});

test("of many reads of a merchant at once, those that nobody could wait for are refused at once", async () => {
  const { read, begun } = held({ perMerchant: 1, total: 4 });
  const results = Array.from({ length: 300 }, (_, index) => read("ada", String(index)));
  const refused = await Promise.allSettled(results.slice(257));
  expect(refused).toHaveLength(43);
  expect(refused.every((each) => each.status === "rejected" && each.reason.code === "rate_limited")).toBe(true);
  expect(begun).toEqual(["0"]);
});

test("a read that fails ends its turn", async () => {
  const reads = createReads({ perMerchant: 1, total: 1, clock });
  await expect(reads.run("ada", () => Promise.reject(new Error("broken")))).rejects.toThrow("broken");
  expect(await reads.run("kofi", async () => "read")).toBe("read");
});
