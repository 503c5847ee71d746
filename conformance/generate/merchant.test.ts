import { describe, expect, test } from "vitest";
import { createMerchant, referenceOf } from "./merchant.ts";

const merchants = Array.from({ length: 200 }, (_, seed) => createMerchant({ seed, runId: `run ${seed}` }));

describe("references of a run", () => {
  test("are accepted everywhere and leave room for the endings that checks add", () => {
    for (const merchant of merchants) expect(merchant.fresh()).toMatch(/^[a-z][a-z0-9-]{12,16}$/);
  });

  test("have the shape that the seed determines, and are new for each run", () => {
    const [one, other] = ["a", "b"].map((runId) => referenceOf({ seed: 5, runId }, 1)) as [string, string];
    expect(one.slice(0, 2)).toBe(other.slice(0, 2));
    expect(one).not.toBe(other);
    expect(referenceOf({ seed: 5, runId: "a" }, 1)).toBe(one);
  });

  test("are found in a text, with their number", () => {
    const merchant = createMerchant({ seed: 1, runId: "r" });
    const [, second] = [merchant.fresh(), merchant.fresh()];
    expect(merchant.referenceIn(`{"reference":"UPPER ${second}x"}`)).toEqual({ reference: second, number: 2 });
    expect(merchant.referenceIn('{"reference":"another"}')).toBeUndefined();
  });
});
