import { describe, expect, test } from "vitest";
import { fieldsFor, homeOf } from "../generate/countries.ts";
import { createRandom } from "../generate/random.ts";
import { allPairs, type Fields, type Search } from "./search.ts";
import { shownLimits } from "./table.ts";

const recipient = "2257038102473";
const random = createRandom(7, "limits");
const payees = allPairs.map((pair) => fieldsFor(pair, { recipient, assumed: [] }, random));

/** Searches for all limits of a target that refuses what matches. Also returns what was paid. */
async function search(refuses: (fields: Fields) => boolean, over: Partial<Search> = {}) {
  const paid: Fields[] = [];
  let count = 0;
  const ordinary = (): Fields => ({ reference: `c0123456789-${(count += 1)}`, amount: 100, ...homeOf(recipient) });
  const attempt = async (fields: Fields) => {
    const all = { ...ordinary(), ...fields };
    const ok = !refuses(all);
    if (ok) paid.push(all);
    return ok;
  };
  const checkout = async (fields: Fields) => !refuses({ ...fields, country: "CI" });
  const limits = { safe: true, largest: 2 ** 53 - 1, reachesCurrencies: true };
  const options: Search = { ordinary, attempt, checkout, recipient, payees, ...limits, ...over };
  const found: Record<string, unknown> = {};
  for (const { field, find } of shownLimits) {
    const value = await find(options, found);
    if (value !== undefined) found[field] = value;
  }
  return { found, paid };
}

const text = (value: unknown) => String(value);

describe("the search for a limit", () => {
  test.each([1_000_000, 123_456, 10_000, 99_999_999])("finds the largest amount %i", async (limit) => {
    const { found } = await search(({ amount }) => Number(amount) > limit);
    expect(found).toEqual({ largestAmount: limit });
  });

  test("pays no more than it may, and then names an amount that was accepted", async () => {
    const { found, paid } = await search(({ amount }) => Number(amount) > 1_234_567, {
      largest: 1_500_000,
      reachesCurrencies: false,
    });
    expect(found).toEqual({ largestAmount: 1_000_000 });
    const large = paid.map(({ amount }) => Number(amount)).filter((amount) => amount > 100);
    expect(large.reduce((sum, amount) => sum + amount, 0)).toBeLessThan(1_500_000);
  });

  test("makes a single large payout where real money moves", async () => {
    const { found, paid } = await search(({ amount }) => Number(amount) > 1_234_567, {
      safe: false,
      reachesCurrencies: false,
    });
    expect(found).toEqual({ largestAmount: 1_000_000 });
    expect(paid.filter(({ amount }) => Number(amount) > 100)).toHaveLength(1);
  });

  test.each([20, 35, 63])("finds the longest reference %i", async (limit) => {
    const { found } = await search(({ reference }) => [...text(reference)].length > limit);
    expect(found).toEqual({ longestReference: limit });
  });

  test("finds the characters of references", async () => {
    const { found } = await search(({ reference }) => !/^[\w. -]*$/.test(text(reference)));
    expect(found).toEqual({ referenceCharacters: "A-Za-z0-9_. -" });
  });

  test.each([40, 41, 100])("finds that a reference has at most %i bytes", async (limit) => {
    const { found } = await search(({ reference }) => Buffer.byteLength(text(reference)) > limit);
    expect(found).toEqual({ longestReference: limit, longestReferenceBytes: limit });
  });

  test.each<[string, RegExp, string]>([
    ["a space", /^\S(.*\S)?$/su, String.raw`A-Za-z0-9\u{10000}-\u{10ffff}\u{80}-\u{ffff}!-,/:-@[-\^${"`"}{-~._-`],
    ["a sign", /^[a-z0-9](.*[a-z0-9])?$/isu, "A-Za-z0-9"],
  ])("finds that references may not begin or end with %s", async (_, allowed, ends) => {
    const { found } = await search(({ reference }) => reference !== undefined && !allowed.test(text(reference)));
    expect(found).toEqual({ referenceEnds: ends });
  });

  test("finds the largest amount of checkouts", async () => {
    const { found } = await search(({ amount, phoneNumber }) => phoneNumber === undefined && Number(amount) > 500_000);
    expect(found).toEqual({ largestCheckout: 500_000 });
  });

  test("finds the largest amounts of other currencies", async () => {
    const { found } = await search(({ amount, currency }) => currency === "KES" && Number(amount) > 1_000_000);
    expect(found).toEqual({ largestByCurrency: { KES: 1_000_000 } });
  });

  test("finds the countries that are served", async () => {
    const { found } = await search(({ country }) => !["CI", "GH"].includes(text(country)));
    expect(found).toEqual({ countries: ["CI", "GH"] });
  });

  test("finds the currencies that are served", async () => {
    const { found } = await search(({ currency }) => !["XOF", "EUR"].includes(text(currency)));
    expect(found).toEqual({ currencies: ["XOF", "EUR"] });
  });

  test("finds the leading digits of phone numbers", async () => {
    const { found } = await search(({ phoneNumber }) => !text(phoneNumber).startsWith("22570"));
    expect(found).toEqual({ countries: ["CI"], numberRanges: ["22570"] });
  });

  test("finds that webhooks need https", async () => {
    const { found } = await search(({ webhookURL }) => text(webhookURL).startsWith("http:"));
    expect(found).toEqual({ httpsWebhooks: true });
  });
});

describe("the search for a limit finds none", () => {
  test.each<[string, (fields: Fields) => boolean]>([
    ["if an ordinary amount is refused", ({ amount }) => Number(amount) > 9999],
    ["if an ordinary reference is refused", ({ reference }) => text(reference).length > 19],
    ["if capital letters are refused", ({ reference }) => /[A-Z]/.test(text(reference))],
    ["if webhooks are refused", ({ webhookURL }) => webhookURL !== undefined],
    ["if the target accepts everything", () => false],
  ])("%s", async (_, refuses) => {
    expect((await search(refuses)).found).toEqual({});
  });
});
