// Scenarios about unusual entries: every legal character in a reference, and amounts at the limits.
import { entries, entry, type PlannedEntry } from "./entries.ts";
import type { Scenario } from "./scenario.ts";

const lost = [{ process: "now", answer: "drop" }] as const;
const largest = 9_007_199_254_740_991;

const printable = Array.from({ length: 95 }, (_, index) => String.fromCharCode(32 + index)).join("");
const references = [
  printable.slice(0, 48),
  printable.slice(48),
  "Salary 7",
  "salary 7",
  " salary 7",
  "salary 7 ",
  "salary  7",
  "caf\u00e9",
  "cafe\u0301",
  "re\u0301sume\u0301",
  "\u5de5\u8d44-2026-11",
  "\u0631\u0627\u062a\u0628-7",
  "\u{1f4b8}".repeat(64),
  "..",
  "a/../b",
  "%2e%2e%2f",
  "50%",
  "a+b=c&d",
  "?reference=x#y",
  "'; DROP TABLE payouts; --",
  '{"reference":"x"}',
  "null",
  "0007",
  "7",
  "\u2028",
  "\ufeffbom",
  `${"invoice-2026-".padEnd(63, "0")}1`,
  `${"invoice-2026-".padEnd(63, "0")}2`,
];

const named = (): PlannedEntry[] =>
  references.map((reference, index) => entry(index, index % 2 === 0 ? "success" : "failed", { reference }));

const amounts = (): PlannedEntry[] =>
  [1, 2, 99, 100, 2 ** 31, 2 ** 32 + 1, 1e15, largest - 1, largest].map((amount, index) =>
    entry(index, index % 2 === 0 ? "success" : "failed", { amount }),
  );

/** Entries that differ only in the reference: each is a separate payment. */
const twins = (): PlannedEntry[] => {
  const { amount, phoneNumber, country, currency } = entry(0, "success");
  const same = { amount, phoneNumber, country, currency };
  // A program that makes its own references does not say which twin it pays, so all of them end alike. There are more
  // twins than most programs pay at the same time, so some are paid when others are done.
  return Array.from({ length: 12 }, (_, index) => entry(index, "success", same));
};

const places = (): PlannedEntry[] => [
  entry(0, "success", { country: "ZZ", currency: "USD" }),
  entry(1, "failed", { phoneNumber: "0123456789" }),
  entry(2, "success", { phoneNumber: "999999999999999" }),
  entry(3, "pending", { country: "KE", currency: "XXX" }),
];

export const inputs: readonly Scenario[] = [
  { id: "references", name: "References with every legal character, and pairs that look alike", entries: named() },
  {
    id: "references-lost",
    name: "References with every legal character, and the first response to each is lost",
    entries: named(),
    creates: lost,
  },
  {
    id: "references-from-list",
    name: "References with every legal character, whose payouts only the list shows",
    entries: named(),
    creates: lost,
    location: null,
    mayBeUnknown: 100,
  },
  { id: "amounts", name: "Amounts from the smallest to the largest", entries: amounts() },
  {
    id: "amounts-lost",
    name: "Amounts from the smallest to the largest, and the first response to each is lost",
    entries: amounts(),
    creates: lost,
  },
  { id: "twins", name: "Entries that differ in nothing but the reference", entries: twins() },
  {
    id: "twins-lost",
    name: "Entries that differ in nothing but the reference, and the first response to each is lost",
    entries: twins(),
    creates: lost,
  },
  {
    id: "repeated",
    name: "The input has every entry twice",
    entries: entries("success", "failed", "pending"),
    repeated: true,
  },
  {
    id: "repeated-lost",
    name: "The input has every entry twice, and the first response to each is lost",
    entries: entries("success", "failed", "pending"),
    repeated: true,
    creates: lost,
  },
  { id: "places", name: "Uncommon countries, currencies and phone numbers", entries: places() },
  { id: "nothing", name: "A single entry", entries: [entry(0, "success")] },
  {
    id: "hundred",
    name: "A hundred entries, and the response to every tenth is lost at random",
    entries: Array.from({ length: 100 }, (_, index) => entry(index, index % 2 === 0 ? "success" : "failed")),
    weather: 10,
  },
  {
    id: "clock-ahead",
    name: "The service's clock is ten years ahead",
    clockAhead: 315_360_000,
    creates: lost,
  },
  {
    id: "clock-behind",
    name: "The service's clock is ten years behind",
    clockAhead: -315_360_000,
    creates: lost,
  },
];
