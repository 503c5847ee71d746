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

describe("headers", () => {
  test("are a program's, with those that were given in the program's order", () => {
    const all = merchants.map(({ headers }) =>
      headers({ "content-type": "text/plain", "x-team": "a", "x-api-key": "k" }),
    );
    for (const headers of all) {
      const names = Object.keys(headers).map((name) => name.toLowerCase());
      expect(new Set(names).size).toBe(names.length);
      expect(names.at(-1)).toBe("x-team");
      expect(Object.values(headers)).toEqual(expect.arrayContaining(["text/plain", "k"]));
      expect(Object.values(headers)).not.toContain("");
    }
    expect(new Set(all.map((headers) => Object.keys(headers).join())).size).toBeGreaterThan(5);
  });

  test("of the program itself are left out of commands", () => {
    const given = { "x-api-key": "k", "content-type": "text/plain" };
    for (const { headers, withoutUsual } of merchants) {
      const left = Object.values(withoutUsual(headers(given)));
      expect(left.toSorted()).toEqual(["k", "text/plain"]);
    }
  });
});
