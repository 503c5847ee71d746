import { describe, expect, test } from "vitest";
import { pairOf } from "../generate/countries.ts";
import { createRandom } from "../generate/random.ts";
import { limitsBehind, type Search } from "./search.ts";

type Fields = Record<string, unknown>;
const recipient = "2257038102473";
const { country, currency } = pairOf(recipient);

/** Searches on a target that refuses what matches. Also returns the amounts that were paid. */
async function search(refuses: (fields: Fields) => boolean, refused: Fields, over: Partial<Search> = {}) {
  const paid: Fields[] = [];
  let count = 0;
  const ordinary = (): Fields => ({
    reference: `c0123456789-${(count += 1)}`,
    amount: 100,
    phoneNumber: recipient,
    country,
    currency,
  });
  const attempt = async (fields: Fields) => {
    const ok = !refuses(fields);
    if (ok) paid.push(fields);
    return ok;
  };
  const options: Search = {
    ordinary,
    attempt,
    recipient,
    random: createRandom(7, "limits"),
    safe: true,
    affordable: () => 1e12,
    ...over,
  };
  return { found: await limitsBehind(options, { ...ordinary(), ...refused }), paid };
}

const text = (value: unknown) => String(value);

describe("the search for a limit", () => {
  test.each([1_000_000, 123_456, 10_000, 99_999_999])("finds the largest amount %i", async (limit) => {
    const { found } = await search(({ amount }) => Number(amount) > limit, { amount: 2 ** 53 - 1 });
    expect(found).toEqual({ largestAmount: limit });
  });

  test("pays no more than it can afford, and then names an amount that was accepted", async () => {
    const over = { affordable: () => 1_500_000 };
    const { found, paid } = await search(({ amount }) => Number(amount) > 1_234_567, { amount: 5_000_000 }, over);
    expect(found).toEqual({ largestAmount: 1_000_000 });
    expect(paid.reduce((sum, { amount }) => sum + Number(amount), 0)).toBeLessThan(1_500_000);
  });

  test("makes a single large payout where real money moves", async () => {
    const { found, paid } = await search(({ amount }) => Number(amount) > 1_234_567, { amount: 5e6 }, { safe: false });
    expect(found).toEqual({ largestAmount: 1_000_000 });
    expect(paid.filter(({ amount }) => Number(amount) > 100)).toHaveLength(1);
  });

  test.each([20, 35, 63])("finds the longest reference %i", async (limit) => {
    const reference = "x".repeat(64);
    expect((await search((fields) => text(fields["reference"]).length > limit, { reference })).found).toEqual({
      longestReference: limit,
    });
  });

  test("finds the characters of references", async () => {
    const { found } = await search(({ reference }) => !/^[\w. -]*$/.test(text(reference)), { reference: "a 💸" });
    expect(found).toEqual({ referenceCharacters: "A-Za-z0-9_. -" });
  });

  test("finds the countries that are served", async () => {
    const refused = { country: "KE", currency: "KES", phoneNumber: "254712345473" };
    const { found } = await search((fields) => !["CI", "GH"].includes(text(fields["country"])), refused);
    expect(found).toEqual({ countries: ["CI", "GH"], currencies: ["XOF", "GHS"] });
  });

  test("finds the leading digits of phone numbers", async () => {
    const { found } = await search(({ phoneNumber }) => !text(phoneNumber).startsWith("22570"), {
      phoneNumber: "2250000000089",
    });
    expect(found).toEqual({ numberRanges: ["22570"] });
  });

  test("finds that webhooks need https", async () => {
    const webhookURL = "http://127.0.0.1:9/box-1?a=b";
    expect((await search((fields) => text(fields["webhookURL"]).startsWith("http:"), { webhookURL })).found).toEqual({
      httpsWebhooks: true,
    });
  });
});

describe("the search for a limit finds none", () => {
  test.each<[string, (fields: Fields) => boolean, Fields]>([
    ["if an ordinary amount is refused", ({ amount }) => Number(amount) > 9999, { amount: 20_000 }],
    ["if an ordinary reference is refused", (f) => text(f["reference"]).length > 19, { reference: "x".repeat(40) }],
    ["if capital letters are refused", (f) => /[A-Z]/.test(text(f["reference"])), { reference: "A x" }],
    [
      "if only a length of phone numbers is refused",
      (f) => text(f["phoneNumber"]).length === 15,
      { phoneNumber: "225703810200473" },
    ],
    [
      "if webhooks with a query are refused",
      (f) => text(f["webhookURL"]).includes("?"),
      { webhookURL: "http://a.example/?b" },
    ],
    ["if the target accepts the value after all", () => false, { amount: 20_000, reference: "a 💸", country: "KE" }],
  ])("%s", async (_, refuses, refused) => {
    expect((await search(refuses, refused)).found).toEqual({});
  });
});
