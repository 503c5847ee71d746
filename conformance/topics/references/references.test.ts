import { describe, expect, test } from "vitest";
import { createHash } from "node:crypto";
import { unknownBits } from "./checks.ts";

const digestOf = (index: number) => createHash("sha256").update(`reference ${index}`).digest();
const eight = (reference: (index: number) => string) => Array.from({ length: 8 }, (_, index) => reference(index));
const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const random = (index: number, length: number, alphabet = crockford) =>
  Array.from(
    Buffer.concat([digestOf(index), digestOf(index + 100)]).subarray(0, length),
    (byte) => alphabet[byte % alphabet.length],
  ).join("");
const least = 75;

describe("the bits that earlier references do not tell", () => {
  test.each<[string, (index: number) => string]>([
    ["a counter", (index) => `CHK${String(index + 1).padStart(20, "0")}`],
    ["a counter in hexadecimal", (index) => `CHK${(2n ** 90n + BigInt(index)).toString(16)}`],
    ["large equal steps", (index) => `CHK${(10n ** 27n + BigInt(index) * 98_765_432_109_876_543_210_123n).toString()}`],
    ["the time in nanoseconds", (index) => `CHK${1_795_866_328_000_000_000n + BigInt(index * 73_123_457)}0000000`],
    ["the same digit everywhere", (index) => `CHK${String(index).repeat(30)}`],
    ["20 random digits", (index) => `CHK${random(index, 20, "0123456789")}`],
    ["a common random part", (index) => `CHK${random(1, 24)}${index}`],
    ["a UUID of version 1", (index) => `CHK6ba7b81${index}-9dad-11d1-80b4-00c04fd430c8`],
    ["no reference", () => "undefined"],
  ])("are too few with %s", (_, reference) => {
    expect(unknownBits(eight(reference))).toBeLessThan(least);
  });

  test.each<[string, (index: number) => string]>([
    ["16 random characters after a time", (index) => `DSB01J5X2${index}${random(index, 16)}`],
    ["26 random digits", (index) => `DSB${random(index, 26, "0123456789")}`],
    ["20 random characters in hexadecimal", (index) => `DSB${digestOf(index).toString("hex").slice(0, 20)}`],
    ["Base64", (index) => `CHK${digestOf(index).toString("base64url").slice(0, 16)}`],
  ])("are enough with %s", (_, reference) => {
    expect(unknownBits(eight(reference))).toBeGreaterThanOrEqual(least);
  });
});
