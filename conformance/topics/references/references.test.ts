import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { unknownBits } from "./checks.ts";

const digestOf = (index: number) => createHash("sha256").update(`reference ${index}`).digest();
const digits = (index: number, length: number) =>
  BigInt(`0x${digestOf(index).toString("hex")}`)
    .toString()
    .slice(-length);

test.each<[what: string, isEnough: boolean, reference: (index: number) => string]>([
  ["a counter", false, (index) => `CHK${String(index + 1).padStart(20, "0")}`],
  ["large equal steps", false, (index) => `CHK${10n ** 27n + BigInt(index) * 98_765_432_109_876_543_210_123n}`],
  ["the time in nanoseconds", false, (index) => `CHK${1_795_866_328_000_000_000n + BigInt(index * 73_123_457)}0000000`],
  ["the same digit everywhere", false, (index) => `CHK${String(index).repeat(30)}`],
  ["20 random digits", false, (index) => `CHK${digits(index, 20)}`],
  ["a UUID of version 1", false, (index) => `CHK6ba7b81${index}-9dad-11d1-80b4-00c04fd430c8`],
  ["26 random digits", true, (index) => `DSB${digits(index, 26)}`],
  [
    "random characters after a time",
    true,
    (index) => `DSB01J5X2${index}${digestOf(index).toString("base64url").slice(0, 16)}`,
  ],
  ["20 random hexadecimal digits", true, (index) => `DSB${digestOf(index).toString("hex").slice(0, 20)}`],
])("80 random bits can be seen in references with %s: %s", (_, isEnough, reference) => {
  expect(unknownBits([0, 1, 2, 3, 4, 5, 6, 7].map(reference)) >= 75).toBe(isEnough);
});
