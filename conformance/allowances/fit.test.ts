import { describe, expect, test } from "vitest";
import { fitted, fittedReference } from "./fit.ts";
import { exceeded } from "./table.ts";

const home = { phoneNumber: "2257038102473", country: "CI", currency: "XOF" };
const body = { reference: "c0123456789-12", amount: 100, ...home };

describe("a request that exceeds a limit", () => {
  test.each([
    [{ largestAmount: 99 }, "amounts above 99"],
    [{ largestAmount: 100 }, undefined],
    [{ smallestAmount: 101 }, "amounts below 101"],
    [{ countries: ["GH"] }, "countries other than GH"],
    [{ currencies: ["GHS"] }, "currencies other than GHS"],
    [{ numberRanges: ["22501"] }, "phone numbers other than 22501"],
    [{ numberRanges: ["2257xxxxxxxx"] }, "phone numbers other than 2257xxxxxxxx"],
    [{ numberRanges: ["22501", "2257xxxxxxxxx"] }, undefined],
    [{ httpsWebhooks: true }, undefined],
  ])("%j: %s", (limits, expected) => {
    expect(exceeded(limits, body)).toBe(expected);
  });

  test("does not have the amount 1, which the interface demands", () => {
    expect(exceeded({ smallestAmount: 50 }, { amount: 1 })).toBeUndefined();
  });

  test("has valid values: invalid ones are refused for another reason", () => {
    const invalid = { amount: "7", reference: 5, phoneNumber: "12", country: "ci", currency: "X" };
    expect(exceeded({ largestAmount: 1, countries: ["CI"], numberRanges: ["2"] }, invalid)).toBeUndefined();
  });
});

describe("a fitted request", () => {
  test("has the nearest values inside the limits", () => {
    expect(fitted({ largestAmount: 50 }, body, home)).toMatchObject({ amount: 50 });
    expect(fitted({ smallestAmount: 500 }, body, home)).toMatchObject({ amount: 500 });
    const abroad = { ...body, phoneNumber: "254712345473", country: "KE", currency: "KES" };
    expect(fitted({ countries: ["CI"] }, abroad, home)).toEqual(body);
    expect(fitted({ countries: ["KE"] }, abroad, home)).toEqual(abroad);
  });

  test("keeps invalid values, which a check sends on purpose, and the caller's own numbers", () => {
    const limits = { largestAmount: 50, countries: ["CI"], numberRanges: ["2257"] };
    expect(fitted(limits, { ...body, amount: -1, country: "c1" }, home)).toMatchObject({ amount: -1, country: "c1" });
    expect(fitted(limits, { amount: undefined }, home)).toEqual({ amount: undefined });
    const foreign = { ...body, phoneNumber: "254712345473" };
    for (const country of [undefined, "c1", 7])
      expect(fitted(limits, { ...foreign, country }, home)).toEqual({ ...body, amount: 50, country });
    const failing = { ...body, phoneNumber: "2250000000089" };
    expect(fitted(limits, failing, home, [failing.phoneNumber])).toMatchObject({ phoneNumber: "2250000000089" });
    expect(fitted(limits, failing, home)).toMatchObject(home);
  });

  test.each([
    [{ longestReference: 12 }, "UPPER and lower c0123456789-12", "123456789-12"],
    [{ longestReferenceBytes: 16 }, "💸💸💸c012345678912", "c012345678912"],
    [{ referenceEnds: "A-Za-z0-9" }, " -c0123456789-12_", "c0123456789-12"],
    [{ referenceCharacters: "A-Z0-9" }, "Zoë 💸 c0123456789-12", "ZOC012345678912"],
    [{ referenceCharacters: "a-z0-9_-" }, "A b_c0123456789-12", "ab_c0123456789-12"],
  ])("has a reference inside %j that is still unique", (limits, reference, expected) => {
    expect(fittedReference(limits, reference)).toBe(expected);
  });
});
